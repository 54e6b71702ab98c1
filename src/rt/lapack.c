/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/lapack.h"

#include <dlfcn.h>
#include <stdio.h>

static char letter(kiln_dtype d) { return d == KILN_F32 ? 's' : d == KILN_F64 ? 'd' : d == KILN_C64 ? 'c' : 'z'; }

kiln_status kn_lapack_find(kiln_ctx *ctx, const char *routine, kiln_dtype d, kn_lapack_fn *fn)
{
    static const char *const names[] = {"liblapacke.so.3", "liblapacke.so"};
    char symbol[64];
    void *library = NULL;
    *fn = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) return kn_fail(ctx, KILN_UNSUPPORTED, "%s needs LAPACKE, which is not installed (Debian: liblapacke)", routine);
    snprintf(symbol, sizeof symbol, "LAPACKE_%c%s_work", letter(d), routine); /* the form that does not look for NaN */
    void *found = dlsym(library, symbol);
    memcpy(fn, &found, sizeof *fn);
    dlclose(library); /* stays in memory */
    return *fn ? KILN_OK : kn_fail(ctx, KILN_UNSUPPORTED, "the LAPACKE that is installed has no %s", symbol);
}
