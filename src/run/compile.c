/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a compile: defaults and checks. */
#include "run/exec.h"
#include "run/stages.h"

static bool one_of(unsigned v, const unsigned *list)
{
    for (; *list; list++)
        if (*list == v) return true;
    return v == 0;
}

kiln_status kn_compile_resolve(kiln_ctx *ctx, const kiln_compile_opts *opts, kn_resolved *out)
{
    static const unsigned bits[] = {64, 128, 256, 512, 0};
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    if (opts) memcpy(&o, opts, opts->size && opts->size < sizeof o ? opts->size : sizeof o);
    if (!o.target) o.target = ctx->target;
    if (o.tier < 0) o.tier = ctx->tier;
    bool v4 = strcmp(o.target, "x86-64-v4") == 0;
    if (!v4 && strcmp(o.target, "x86-64-v3") != 0)
        return kn_fail(ctx, KILN_INVALID, "compile: target '%s'; accepted: x86-64-v3, x86-64-v4", o.target);
    if (o.tier != -1 && o.tier != 0 && o.tier != 2) return kn_fail(ctx, KILN_INVALID, "compile: tier %d; accepted: 0, 2, -1", o.tier);
    if (!one_of(o.vector_bits, bits))
        return kn_fail(ctx, KILN_INVALID, "compile: vectors of %u bits; accepted: 64, 128, 256, 512, 0", o.vector_bits);
    if (o.register_elements < 0) o.register_elements = 16;
    unsigned native = v4 ? 512 : 256;
    *out = (kn_resolved){.o = o};
    out->loops = (kn_loop_options){.vector_bits = o.vector_bits && o.vector_bits < native ? o.vector_bits : native,
                                   .register_elements = (unsigned)o.register_elements,
                                   .no_fusion = o.no_fusion,
                                   .ticks = o.ticks,
                                   .donated = o.donated};
    return KILN_OK;
}
