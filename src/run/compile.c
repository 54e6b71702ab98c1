/* SPDX-License-Identifier: Apache-2.0 */
/* Program to executable: options, then lowering, optimisation, loops, code. */
#include "base/cpu.h"
#include "base/file.h"
#include "base/fpmode.h"
#include "ir/size.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "run/cached.h"
#include "run/sized.h"
#include "run/stages.h"
#include "transform/lanes.h"

#include <stdio.h>

enum { MOST_REGISTERS = 64 }; /* elements: code for them is written out one by one */
#define HAVE_CODE "bool, integers, floats, complex numbers"

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
    const kn_target *target = kn_target_find(o.target);
    if (!target) return kn_fail(ctx, KILN_INVALID, "compile: target '%s'; accepted: " KN_TARGET_NAMES, o.target);
    if (o.tier != -1 && o.tier != 0 && o.tier != 2) return kn_fail(ctx, KILN_INVALID, "compile: tier %d; accepted: 0, 2, -1", o.tier);
    if (!one_of(o.vector_bits, bits))
        return kn_fail(ctx, KILN_INVALID, "compile: vectors of %u bits; accepted: 64, 128, 256, 512, 0", o.vector_bits);
    if (o.register_elements > MOST_REGISTERS)
        return kn_fail(ctx, KILN_INVALID, "compile: %d elements in registers; accepted: 0 to %d, -1", o.register_elements, MOST_REGISTERS);
    if (o.register_elements < 0) o.register_elements = 16;
    if (!(o.split_cost >= 0)) return kn_fail(ctx, KILN_INVALID, "compile: loops that cost %g are split; accepted: 0 and more", o.split_cost);
    o.fast |= ctx->fast;
    if (o.fast & ~KILN_FAST_FLUSH) return kn_fail(ctx, KILN_INVALID, "compile: modes %#x; accepted: KILN_FAST_FLUSH", o.fast);
    unsigned native = target->vector_bits;
    *out = (kn_resolved){.o = o};
    out->loops = (kn_loop_options){.vector_bits = o.vector_bits && o.vector_bits < native ? o.vector_bits : native,
                                   .register_elements = (unsigned)o.register_elements,
                                   .no_fusion = o.no_fusion,
                                   .ticks = o.ticks,
                                   .split_cost = o.split_cost,
                                   .flush = (o.fast & KILN_FAST_FLUSH) != 0,
                                   .donated = o.donated};
    return KILN_OK;
}

kiln_status kn_runs_here(kiln_ctx *ctx, const char *target)
{
    if (kn_cpu_runs(kn_target_find(target))) return KILN_OK;
    return kn_fail(ctx, KILN_INVALID, "compile: this processor, %s, does not run code for %s; accepted: what `kiln doctor` names and below it, "
                   "or kiln_cache_warm", kn_cpu_target(), target);
}

/* ---- program to loops ---- */

typedef struct compile {
    kiln_ctx *ctx;
    const kn_prog *p;
    kn_resolved r;
    kn_prog *slots, *lowered, *optimised;
    kn_arena arena; /* of the loops */
    kn_loops *loops;
    int64_t least; /* the smallest size that may be given at a call */
    kiln_exec_info info;
    char dump[400]; /* prefix of the stages' files; empty: none */
    unsigned dumped;
} compile;

static void compile_init(compile *c, kiln_ctx *ctx, const kn_prog *p)
{
    *c = (compile){.ctx = ctx, .p = p};
    kn_arena_init(&c->arena, &ctx->alloc);
}

static void compile_fini(compile *c)
{
    kn_arena_fini(&c->arena);
    kiln_prog_release(c->optimised);
    kiln_prog_release(c->lowered);
    kiln_prog_release(c->slots);
}

static kiln_status dump_prog(compile *c, const kn_prog *p, const char *stage)
{
    char path[500], *text;
    size_t n;
    if (!c->dump[0]) return KILN_OK;
    snprintf(path, sizeof path, "%s%u.%s.jaxpr", c->dump, ++c->dumped, stage);
    KILN_TRY(kiln_prog_print(c->ctx, p, 100, &text, &n));
    kiln_status status = kn_file_save(c->ctx, path, text, n);
    kiln_text_free(c->ctx, text, n);
    return status;
}

/* DIR/003-name-: letters and digits of the label. */
static kiln_status dump_begin(compile *c)
{
    char name[64] = "program";
    const char *label = c->r.o.label;
    if (!c->ctx->dump_dir[0]) return KILN_OK;
    size_t n = 0;
    for (const char *s = label ? label : ""; *s && n + 1 < sizeof name; s++, n++) {
        bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || *s == '_';
        name[n] = plain ? *s : '-';
    }
    if (n) name[n] = 0;
    KILN_TRY(kn_folder_make(c->ctx, c->ctx->dump_dir));
    snprintf(c->dump, sizeof c->dump, "%s/%03u-%s-", c->ctx->dump_dir, ++c->ctx->n_dumps, name);
    return KILN_OK;
}

/* ---- element types that have code ---- */

static bool has_code(kiln_dtype d) { return strchr("biufc8", kiln_dtype_kind(d)) != NULL; }

typedef struct type_check {
    kiln_ctx *ctx;
    const kn_prog *p;
    kiln_status status;
} type_check;

static void check_types(void *ud, const kn_jaxpr *j)
{
    type_check *t = ud;
    for (uint32_t i = 0; i < j->nin && t->status == KILN_OK; i++)
        if (!has_code(j->vars[j->in[i]].type.dtype))
            t->status = kn_fail(t->ctx, KILN_UNSUPPORTED, "compile: an input or constant of type %s; accepted: " HAVE_CODE,
                                kn_type_show(j->vars[j->in[i]].type).s);
    for (uint32_t i = 0; i < j->neqns && t->status == KILN_OK; i++) {
        const kn_eqn *e = &j->eqns[i];
        for (uint32_t k = 0; k < e->nout && t->status == KILN_OK; k++) {
            kn_place at = {.file = t->p->files.v[e->loc.file], .line = (int)e->loc.line, .column = (int)e->loc.column};
            if (!has_code(j->vars[e->out[k]].type.dtype))
                t->status = kn_fail_at(t->ctx, KILN_UNSUPPORTED, "unsupported", at, HAVE_CODE, "compile: %s gives %s", e->prim->name,
                                       kn_type_show(j->vars[e->out[k]].type).s);
        }
        kn_eqn_bodies(e, check_types, t);
    }
}

/* ---- phases ---- */

static kiln_status make_loops(compile *c)
{
    type_check types = {c->ctx, c->optimised, KILN_OK};
    check_types(&types, c->optimised->main);
    KILN_TRY(types.status);
    double start = kn_now_ms();
    bool sized = kn_prog_open(c->p);
    if (sized) {
        KILN_TRY(kn_sized_lowered(c->ctx, c->p, c->lowered, c->least));
        KILN_TRY(kn_sized_kinds(c->ctx, c->optimised));
    }
    c->r.loops.keep_sizes = sized;
    kn_fpmode mode = kn_fpmode_enter_as(c->r.loops.flush); /* constants are folded as the program runs */
    kiln_status status = kn_loops_make(c->ctx, &c->arena, c->optimised, &c->r.loops, &c->loops);
    kn_fpmode_leave(mode);
    KILN_TRY(status);
    if (sized) {
        KILN_TRY(kn_sized_loops(c->ctx, c->p, &c->r.loops, c->loops));
        KILN_TRY(kn_loops_open(c->ctx, c->loops));
    }
    c->info.loops_ms = kn_now_ms() - start;
    return KILN_OK;
}

/* Of a way back through a while loop: the carries in which it writes rows, of values and of their tangents. */
static uint64_t record_of(const kn_eqn *e)
{
    const kn_jaxpr *body = kn_param_of(e, "body_jaxpr")->jaxpr;
    uint32_t first = body->nin - body->nout;
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < body->neqns; k++)
        for (uint32_t i = 0; body->eqns[k].prim->loop == KN_LOOP_UPDATE && i < body->nout; i++) {
            kiln_type t = kn_type_of(body, body->in[first + i]);
            bool own = body->eqns[k].in[0] == body->in[first + i] && body->eqns[k].out[0] == body->out[i];
            if (own) bytes += (uint64_t)kiln_type_size(t) * kiln_dtype_bytes(t.dtype);
        }
    return bytes;
}

/* What the ways back through while loops keep; loops inside one another keep theirs at the same time. */
static void add_records(void *ud, const kn_jaxpr *j)
{
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_param *record = j->eqns[k].prim->loop == KN_LOOP_WHILE ? kn_param_of(&j->eqns[k], "record") : NULL;
        if (record && record->kind == KN_P_INT) *(uint64_t *)ud += record_of(&j->eqns[k]);
        kn_eqn_bodies(&j->eqns[k], add_records, ud);
    }
}

/* Loops over arrays of lanes are looked for where equal loops are one and what no trip changes is outside. */
static kiln_status optimise(compile *c)
{
    const kn_opt_options o = {.flush = c->r.loops.flush};
    kn_prog *slots = NULL, *lowered = NULL;
    KILN_TRY(kn_optimise(c->ctx, c->lowered, &o, &c->optimised));
    KILN_TRY(kn_arrays_in_slots(c->ctx, c->optimised, &slots));
    if (!slots) return KILN_OK;
    kiln_prog_release(c->optimised);
    c->optimised = NULL;
    kiln_status status = kn_lower(c->ctx, slots, &lowered);
    if (status == KILN_OK) status = kn_optimise(c->ctx, lowered, &o, &c->optimised);
    kiln_prog_release(lowered);
    kiln_prog_release(slots);
    return status;
}

/* Each phase up to and including `last`. */
typedef enum phase { LOWER, OPTIMISE, LOOPS } phase;

static kiln_status to_loops(compile *c, phase last)
{
    double start = kn_now_ms();
    KILN_TRY(kn_prog_runnable(c->ctx, c->p));
    KILN_TRY(dump_prog(c, c->p, "traced"));
    KILN_TRY(kn_lanes_in_slots(c->ctx, c->p, &c->slots));
    KILN_TRY(kn_lower(c->ctx, c->slots ? c->slots : c->p, &c->lowered));
    c->info.lower_ms = kn_now_ms() - start;
    KILN_TRY(dump_prog(c, c->lowered, "lowered"));
    if (last == LOWER) return KILN_OK;
    start = kn_now_ms();
    KILN_TRY(optimise(c));
    c->info.optimise_ms = kn_now_ms() - start;
    KILN_TRY(dump_prog(c, c->optimised, "optimised"));
    if (kn_prog_open(c->p)) KILN_TRY(kn_sized_least(c->ctx, c->p, c->lowered, c->optimised, &c->least));
    return last == OPTIMISE ? KILN_OK : make_loops(c);
}

/* What callers give and get is what the program says, whatever its keys have become. */
static kiln_status signature_of(compile *c, kn_signature *out)
{
    const kn_jaxpr *j = c->p->main, *made = c->optimised->main;
    uint32_t nin = kn_nargs(j);
    kiln_type *types = KN_NEWN(&c->arena, kiln_type, nin + j->nout);
    KILN_TRY_MEM(c->ctx, types);
    for (uint32_t i = 0; i < nin; i++) types[i] = kn_type_of(j, j->in[j->nconsts + i]);
    for (uint32_t i = 0; i < j->nout; i++) types[nin + i] = kn_type_of(j, j->out[i]);
    *out = (kn_signature){types, types + nin, nin, j->nout, made->consts, made->nconsts, c->least};
    return KILN_OK;
}

/* What was found in the cache, loaded; *out stays NULL where that cannot be done, and code has to be made. */
static kiln_status from_cache(compile *c, kn_cached *k, const kn_signature *s, kiln_exec **out)
{
    kn_image image = *kn_cache.image(k);
    kiln_exec_info *i = &image.info;
    i->equations = c->info.equations, i->lowered_ops = c->info.lowered_ops;
    i->record_bytes = c->info.record_bytes;
    i->lower_ms = c->info.lower_ms, i->optimise_ms = c->info.optimise_ms;
    i->n_scopes = c->optimised->scopes.n;
    i->cache = KILN_CACHE_HIT;
    i->fast = c->r.o.fast;
    image.share = kn_split_share(&c->r);
    image.scopes = c->optimised->scopes.v;
    kiln_diag before = c->ctx->error;
    kiln_status status = kn_exec_load(c->ctx, &image, s, c->r.o.target, c->r.o.donated, out);
    if (status == KILN_OK || status == KILN_NOMEM) return status;
    c->ctx->error = before;
    kn_cache.refuse(k);
    return KILN_OK;
}

/* Where out is NULL, what is made goes into the cache and nowhere else. */
static kiln_status to_exec(compile *c, kiln_exec **out)
{
    kn_signature s;
    KILN_TRY(to_loops(c, OPTIMISE));
    KILN_TRY(signature_of(c, &s));
    c->info.equations = kn_jaxpr_count(c->p->main);
    c->info.lowered_ops = kn_jaxpr_count(c->optimised->main);
    c->info.record_bytes = 0;
    add_records(&c->info.record_bytes, c->optimised->main);
    kn_cached *k = c->dump[0] ? NULL : kn_cache.begin(c->ctx, c->optimised, &c->r); /* all stages are to be dumped */
    c->info.fast = c->r.o.fast;
    c->info.cache = k ? KILN_CACHE_MISS : KILN_CACHE_OFF;
    kn_build_opts o = {.target = c->r.o.target, .tier = c->r.o.tier, .donated = c->r.o.donated, .flush = c->r.loops.flush,
                       .share = kn_split_share(&c->r), .dump = c->dump[0] ? c->dump : NULL, .dumped = c->dumped, .cached = k};
    bool found = k && kn_cache.image(k) && !out;
    kiln_status status = k && kn_cache.image(k) && out ? from_cache(c, k, &s, out) : KILN_OK;
    if (out) found = *out != NULL;
    if (status == KILN_OK && !found) status = make_loops(c);
    if (status == KILN_OK && !found) status = kn_exec_build(c->ctx, c->loops, &s, &o, &c->info, out);
    kn_cache.end(k);
    return status;
}

static kiln_status compile_program(kiln_ctx *ctx, const kiln_prog *p, const kiln_compile_opts *opts, kiln_exec **out)
{
    compile c;
    compile_init(&c, ctx, p);
    kiln_status status = kn_compile_resolve(ctx, opts, &c.r);
    if (status == KILN_OK && out) status = kn_runs_here(ctx, c.r.o.target);
    if (status == KILN_OK) status = dump_begin(&c);
    kn_fpmode mode = kn_fpmode_enter(); /* constants are folded on the way, and printed */
    if (status == KILN_OK) status = to_exec(&c, out);
    kn_fpmode_leave(mode);
    compile_fini(&c);
    return status;
}

kiln_status kiln_compile(kiln_ctx *ctx, const kiln_prog *p, const kiln_compile_opts *opts, kiln_exec **out)
{
    *out = NULL;
    return compile_program(ctx, p, opts, out);
}

kiln_status kn_compile_keep(kiln_ctx *ctx, const kiln_prog *p, const kiln_compile_opts *opts) { return compile_program(ctx, p, opts, NULL); }

/* ---- stages ---- */

static kiln_status stage(compile *c, const char *name, char **text, size_t *n)
{
    if (strcmp(name, "traced") == 0) return kiln_prog_print(c->ctx, c->p, 100, text, n);
    bool lowered = strcmp(name, "lowered") == 0, optimised = strcmp(name, "optimised") == 0, loops = strcmp(name, "loops") == 0;
    bool copies = strcmp(name, "copies") == 0;
    if (!lowered && !optimised && !loops && !copies && strcmp(name, "llvm") != 0 && strcmp(name, "asm") != 0)
        return kn_fail(c->ctx, KILN_NOTFOUND, "no stage '%s'; accepted: traced, lowered, optimised, loops, llvm, asm", name);
    KILN_TRY(to_loops(c, lowered ? LOWER : optimised ? OPTIMISE : LOOPS));
    if (lowered || optimised) return kiln_prog_print(c->ctx, lowered ? c->lowered : c->optimised, 100, text, n);
    if (copies) return kn_loops_print_copies(c->ctx, c->loops, text, n);
    return loops ? kn_loops_print(c->ctx, c->loops, text, n) : kn_loops_stage(c->ctx, c->loops, &c->r, name, text, n);
}

kiln_status kn_compile_stage(kiln_ctx *ctx, const kiln_prog *p, const kiln_compile_opts *opts, const char *name, char **text, size_t *n)
{
    compile c;
    *text = NULL;
    *n = 0;
    compile_init(&c, ctx, p);
    kiln_status status = kn_compile_resolve(ctx, opts, &c.r);
    kn_fpmode mode = kn_fpmode_enter();
    if (status == KILN_OK) status = stage(&c, name, text, n);
    kn_fpmode_leave(mode);
    compile_fini(&c);
    return status;
}
