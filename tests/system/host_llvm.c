/* SPDX-License-Identifier: Apache-2.0 */
/* A host program that has an LLVM of its own open for everybody to see, as drivers and other compilers have, of this version or another,
 * before or after Kiln's is: each works, options and passes of one are none of the other's. And a process that was forked off after the
 * code generator was used goes on using it. */
#include "kiln/kiln.h"
#include "testing.h"

#include <dlfcn.h>
#include <sys/wait.h>

enum { GOOD = 0, ABSENT = 77 };
static const char *const libraries[] = {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-18.so.1", "libLLVM-17.so.1", "libLLVM-16.so.1", "libLLVM-15.so.1", "libLLVM-14.so.1"};

static const char text[] = "{ lambda ; a:f64[50]. let b:f64[50] = exp a c:f64[] = reduce_sum[axes=(0,) out_sharding=None] b in (b, c) }\n";

/* Compiles at both levels and calls; the results are the interpreter's. */
static bool kiln_works(void)
{
    kiln_ctx *ctx;
    kiln_prog *p = NULL;
    kiln_array *in = NULL, *want[2] = {NULL}, *got[2] = {NULL};
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return false;
    bool good = kiln_prog_parse(ctx, text, sizeof text - 1, "t", &p) == KILN_OK && kiln_array_create(ctx, KILN_VECTOR(KILN_F64, 50), &in) == KILN_OK;
    for (int i = 0; good && i < 50; i++) ((double *)kiln_array_data(in))[i] = i * 0.125 - 3;
    good = good && kiln_prog_eval(ctx, p, &in, want) == KILN_OK;
    for (int tier = 0; good && tier <= 2; tier += 2) {
        kiln_exec *f;
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.tier = tier;
        good = kiln_compile(ctx, p, &o, &f) == KILN_OK && kiln_exec_call(ctx, f, &in, got) == KILN_OK;
        for (int k = 0; good && k < 2; k++) good = memcmp(kiln_array_data(got[k]), kiln_array_data(want[k]), kiln_array_bytes(want[k])) == 0;
        for (int k = 0; k < 2; k++) kiln_array_release(got[k]);
        kiln_exec_release(f);
    }
    if (!good) fprintf(stderr, "%s\n", kiln_ctx_error(ctx)->message);
    for (int k = 0; k < 2; k++) kiln_array_release(want[k]);
    kiln_array_release(in);
    kiln_prog_release(p);
    kiln_ctx_release(ctx);
    return good;
}

/* ---- the other LLVM ---- */

static void *library;

static void *symbol(const char *name) { return dlsym(library, name); }
#define FUNCTION(result, name, parameters)                                                                            \
    result(*name) parameters;                                                                                         \
    void *at_##name = symbol(#name);                                                                                  \
    memcpy(&name, &at_##name, sizeof name);                                                                           \
    if (!name) return false

/* Sets an option that ours must not see, and makes a module with a function in it, which it prints. */
static bool host_works(void)
{
    FUNCTION(void *, LLVMContextCreate, (void));
    FUNCTION(void, LLVMContextDispose, (void *));
    FUNCTION(void *, LLVMModuleCreateWithNameInContext, (const char *, void *));
    FUNCTION(void *, LLVMInt32TypeInContext, (void *));
    FUNCTION(void *, LLVMFunctionType, (void *, void **, unsigned, int));
    FUNCTION(void *, LLVMAddFunction, (void *, const char *, void *));
    FUNCTION(char *, LLVMPrintModuleToString, (void *));
    FUNCTION(void, LLVMDisposeMessage, (char *));
    FUNCTION(void, LLVMDisposeModule, (void *));
    void *c = LLVMContextCreate(), *m = LLVMModuleCreateWithNameInContext("host", c), *i32 = LLVMInt32TypeInContext(c);
    LLVMAddFunction(m, "of_the_host", LLVMFunctionType(i32, &i32, 1, 0));
    char *printed = LLVMPrintModuleToString(m);
    bool good = strstr(printed, "declare i32 @of_the_host(i32)") != NULL;
    LLVMDisposeMessage(printed);
    LLVMDisposeModule(m);
    LLVMContextDispose(c);
    return good;
}

static bool host_sets_options(void)
{
    static const char *const options[] = {"host", "-disable-lsr"}; /* ours sets it, too: twice in one registry is an error that ends the program */
    FUNCTION(void, LLVMParseCommandLineOptions, (int, const char *const *, const char *));
    LLVMParseCommandLineOptions(2, options, NULL);
    return true;
}

static int together(const char *name, bool host_first)
{
    if (!host_first && !kiln_works()) return 1;
    library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (!library) return ABSENT;
    if (!host_works() || !host_sets_options()) return 2;
    if (!kiln_works()) return 3;
    if (!host_works()) return 4;
    return GOOD;
}

static int in_child(const char *name, bool host_first)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(together(name, host_first));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status)) fail_msg("with %s %s the process dies of signal %d", name, host_first ? "before" : "behind", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void beside_another(void **state)
{
    (void)state;
    unsigned tried = 0;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        for (int host_first = 0; host_first < 2; host_first++) {
            int code = in_child(libraries[i], host_first);
            if (code == ABSENT) continue;
            if (code != GOOD) fail_msg("with %s %s: %d", libraries[i], host_first ? "before" : "behind", code);
            tried++;
        }
    if (tried == 0) {
        print_message("skipped: no other LLVM is installed\n");
        skip();
    }
}

static void forked_off(void **state)
{
    (void)state;
    assert_true(kiln_works());
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) _exit(kiln_works() ? GOOD : 1);
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == GOOD);
        assert_true(kiln_works());
    }
}

int main(void)
{
    setenv("KILN_CACHE", "none", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(beside_another), cmocka_unit_test(forked_off)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
