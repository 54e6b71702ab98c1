/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens the code generator. It stays open for the life of the process: its code may be running in any thread. */
#define _GNU_SOURCE /* dladdr */
#include "run/codegen.h"

#include "base/cpu.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* Of processors of this kind, and of another one. */
enum { NATIVE, FOREIGN, MODULES };
static const char *const names[MODULES] = {"libkiln-llvm.so", "libkiln-llvm-aarch64.so"};

static struct {
    pthread_mutex_t lock;
    const kn_codegen *table[MODULES]; /* once found */
} module = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The folder of a file's path, without its last slash; empty when it has none. */
static void folder_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
    else path[0] = 0;
}

/* The table of an opened module, or NULL when it is of another version, which goes to *other. */
static const kn_codegen *table_of(void *h, unsigned *other)
{
    kn_codegen_getter get;
    void *symbol = dlsym(h, "kn_codegen_table");
    memcpy(&get, &symbol, sizeof get); /* ISO C has no cast from an object's pointer to a function's */
    const kn_codegen *t = get ? get() : NULL;
    if (t && t->abi == KN_CODEGEN_ABI) return t;
    if (t) *other = (unsigned)t->abi;
    return NULL;
}

/* A module of another version is passed over: it may be a stray copy. */
static const kn_codegen *open_file(const char *path, unsigned *other)
{
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const kn_codegen *t = h ? table_of(h, other) : NULL;
    if (h && !t) dlclose(h);
    return t;
}

static const kn_codegen *open_in(const char *folder, const char *below, const char *name, unsigned *other)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s/%s", folder, below, name);
    return *folder && n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0 ? open_file(path, other) : NULL;
}

/* Beside the file, where a build puts programs of tests, and where an installation has modules. */
static const kn_codegen *open_near(char *file, const char *name, unsigned *other)
{
    static const char *const below[] = {"", "/..", "/kiln", "/../lib/kiln", "/../lib"};
    const kn_codegen *t = NULL;
    folder_of(file);
    for (size_t i = 0; i < sizeof below / sizeof *below && !t; i++) t = open_in(file, below[i], name, other);
    return t;
}

static const kn_codegen *open_module(const char *lib_dir, const char *name, unsigned *other)
{
    char path[PATH_MAX];
    if (*lib_dir) return open_in(lib_dir, "", name, other);
    const kn_codegen *t = NULL;
    Dl_info info;
    if (dladdr((void *)&module, &info) && info.dli_fname) {
        snprintf(path, sizeof path, "%s", info.dli_fname);
        t = open_near(path, name, other);
    }
    ssize_t n = t ? 0 : readlink("/proc/self/exe", path, sizeof path - 1);
    if (n > 0) {
        path[n] = 0;
        t = open_near(path, name, other);
    }
    return t ? t : open_file(name, other);
}

static kiln_status open_locked(kiln_ctx *ctx, int kind)
{
    unsigned other = 0;
    const char *name = names[kind];
    module.table[kind] = open_module(ctx->lib_dir, name, &other);
    if (module.table[kind]) return KILN_OK;
    if (other)
        return kn_fail(ctx, KILN_COMPILE, "the code generator found is of another version of Kiln (%u, not %u)", other, (unsigned)KN_CODEGEN_ABI);
    const char *why = dlerror();
    return kn_fail(ctx, KILN_COMPILE, "the code generator %s is not found%s%s%s%s; accepted: beside the program or library, "
                   "or in the folder that KILN_LIBDIR names", name, *ctx->lib_dir ? " in " : "", ctx->lib_dir, why ? ": " : "", why ? why : "");
}

kiln_status kn_codegen_open(kiln_ctx *ctx, const char *target, const kn_codegen **out)
{
    const kn_target *t = kn_target_find(target);
    int kind = !t || kn_target_is_native(t) ? NATIVE : FOREIGN;
    pthread_mutex_lock(&module.lock);
    kiln_status status = module.table[kind] ? KILN_OK : open_locked(ctx, kind);
    *out = module.table[kind];
    pthread_mutex_unlock(&module.lock);
    return status;
}
