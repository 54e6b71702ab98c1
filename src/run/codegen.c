/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens the code generator. It stays open for the life of the process: its code may be running in any thread. */
#define _GNU_SOURCE /* dladdr */
#include "run/codegen.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define MODULE "libkiln-llvm.so"

static struct {
    pthread_mutex_t lock;
    const kn_codegen *table; /* once found */
} module = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The folder of a file's path, without its last slash; empty when it has none. */
static void folder_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
    else path[0] = 0;
}

static void *open_in(const char *folder, const char *below)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s/" MODULE, folder, below);
    return *folder && n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* Beside the file, where a build puts programs of tests, and where an installation has modules. */
static void *open_near(char *file)
{
    static const char *const below[] = {"", "/..", "/kiln", "/../lib/kiln", "/../lib"};
    void *h = NULL;
    folder_of(file);
    for (size_t i = 0; i < sizeof below / sizeof *below && !h; i++) h = open_in(file, below[i]);
    return h;
}

static void *open_module(const char *lib_dir)
{
    char path[PATH_MAX];
    if (*lib_dir) return open_in(lib_dir, "");
    Dl_info info;
    if (dladdr((void *)&module, &info) && info.dli_fname) {
        snprintf(path, sizeof path, "%s", info.dli_fname);
        void *h = open_near(path);
        if (h) return h;
    }
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n > 0) {
        path[n] = 0;
        void *h = open_near(path);
        if (h) return h;
    }
    return dlopen(MODULE, RTLD_NOW | RTLD_LOCAL);
}

static kiln_status open_locked(kiln_ctx *ctx)
{
    void *h = open_module(ctx->lib_dir);
    if (!h) {
        const char *why = dlerror();
        return kn_fail(ctx, KILN_COMPILE, "the code generator " MODULE " is not found%s%s%s%s; accepted: beside the program or library, "
                       "or in the folder that KILN_LIBDIR names", *ctx->lib_dir ? " in " : "", ctx->lib_dir, why ? ": " : "", why ? why : "");
    }
    kn_codegen_getter get;
    void *symbol = dlsym(h, "kn_codegen_table");
    memcpy(&get, &symbol, sizeof get); /* ISO C has no cast from an object's pointer to a function's */
    const kn_codegen *t = get ? get() : NULL;
    if (!t || t->abi != KN_CODEGEN_ABI) {
        unsigned abi = t ? (unsigned)t->abi : 0; /* read before it is gone */
        dlclose(h);
        return kn_fail(ctx, KILN_COMPILE, "the code generator found is of another version of Kiln (%u, not %u)", abi, (unsigned)KN_CODEGEN_ABI);
    }
    module.table = t;
    return KILN_OK;
}

kiln_status kn_codegen_open(kiln_ctx *ctx, const kn_codegen **out)
{
    pthread_mutex_lock(&module.lock);
    kiln_status status = module.table ? KILN_OK : open_locked(ctx);
    *out = module.table;
    pthread_mutex_unlock(&module.lock);
    return status;
}
