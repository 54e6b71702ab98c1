/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of routines by name, checks, and operations between replicas, which are the identity on one. */
#include "hlo/import.h"

#include "prim/common.h"
#include "prim/lowering.h"

/* ---- checks ---- */

static kiln_status add_check(kn_himport *h, const kn_mop *o, kn_hcheck c, kn_atom got, kn_atom want)
{
    kiln_type a = kn_htype(h, got), b = kn_htype(h, want);
    if (!kiln_type_equal(a, b)) return kn_hbad(h, o, "%s is compared with %s", kn_type_show(a).s, kn_type_show(b).s);
    const char *p = o->at;
    while (p > h->m->src.text && p[-1] != '\n') p--;
    c.line = o->line;
    c.column = (uint32_t)(o->at - p) + 1;
    c.got = h->checks->atoms.n;
    c.want = c.got + 1;
    KILN_TRY_MEM(h->ctx, kn_push(h->arena, &h->checks->atoms, got) && kn_push(h->arena, &h->checks->atoms, want) && kn_push(h->arena, &h->checks->v, c));
    return KILN_OK;
}

static bool starts_with(kn_span s, const char *word) { return s.n >= strlen(word) && memcmp(s.s, word, strlen(word)) == 0; }

static kiln_status number(kn_himport *h, const kn_mop *o, const char *name, double otherwise, double *v)
{
    const kn_mattr *a = kn_mop_attr(o, name);
    *v = otherwise;
    if (!a) return KILN_OK;
    if (a->kind != KN_MA_FLOAT && a->kind != KN_MA_INT) return kn_hbad(h, o, "%s must be a number", name);
    *v = a->kind == KN_MA_INT ? (double)a->i : a->f;
    return KILN_OK;
}

/* check.expect_eq %a, %b, check.expect_eq_const %a, dense<..>, and the same with almost_eq and close; `call`: as a custom call,
 * whose limits are fixed. */
static kiln_status check_op(kn_himport *h, const kn_mop *o, kn_span what, bool call)
{
    kn_hcheck c = {.kind = KN_CHECK_EQUAL, .max_ulp = call ? 3 : 1};
    kn_atom got, want;
    double max, min;
    if (starts_with(what, "expect_almost_eq")) c.kind = KN_CHECK_ALMOST;
    else if (starts_with(what, "expect_close")) c.kind = KN_CHECK_CLOSE;
    else if (!starts_with(what, "expect_eq")) return kn_hrefuse(h, o, "expect_eq, expect_almost_eq, expect_close", "the check %.*s is not known", KN_SPAN_ARG(what));
    c.name = kn_arena_textn(&h->prog->arena, what.s, what.n);
    KILN_TRY_MEM(h->ctx, c.name);
    if (!h->checks) return KILN_OK;
    if (h->region) return kn_hrefuse(h, o, "checks at the level of a function", "a check inside of a region");
    KILN_TRY(number(h, o, "tolerance", call ? 1e-3 : 1e-4, &c.tolerance));
    KILN_TRY(number(h, o, "max_ulp_difference", (double)c.max_ulp, &max));
    KILN_TRY(number(h, o, "min_ulp_difference", 0, &min));
    c.max_ulp = (uint64_t)max;
    c.min_ulp = (uint64_t)min;
    KILN_TRY(kn_hin(h, o, 0, &got));
    const kn_mattr *value = kn_mop_attr(o, "value");
    if (!value) {
        KILN_TRY(kn_hin(h, o, 1, &want));
        return add_check(h, o, c, got, want);
    }
    kiln_array *x;
    KILN_TRY(kn_mattr_array(h->m, value, &x));
    kiln_status s = kn_build_const(h->b, x, &want);
    kiln_array_release(x);
    KILN_TRY(s);
    return add_check(h, o, c, got, want);
}

static kiln_status check(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    (void)row;
    return check_op(h, o, (kn_span){o->name.s + 6, o->name.n - 6}, false);
}

/* ---- custom calls ---- */

static kiln_status identity(kn_himport *h, const kn_mop *o)
{
    if (o->nin < 1 || o->nout != 1) return kn_hbad(h, o, "one operand and one result are needed");
    if (!kn_mtype_same(h->func->values[o->in[0]].type, h->func->values[o->out].type)) return kn_hbad(h, o, "operand and result must have one type");
    h->vals[o->out] = h->vals[o->in[0]];
    return KILN_OK;
}

static kiln_status call_identity(kn_himport *h, const kn_mop *o, const kn_hcall_row *row)
{
    (void)row;
    return identity(h, o);
}

static kiln_status call_nothing(kn_himport *h, const kn_mop *o, const kn_hcall_row *row)
{
    (void)row;
    if (o->nout) return kn_hbad(h, o, "no results are expected, found %u", o->nout);
    return KILN_OK;
}

static kiln_status call_refused(kn_himport *h, const kn_mop *o, const kn_hcall_row *row)
{
    return kn_hrefuse(h, o, row->remedy, "custom call @%s: %s", row->name, row->reason);
}

static kiln_status call_unary(kn_himport *h, const kn_mop *o, const kn_hcall_row *row)
{
    kn_atom x, y;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hunary(h, o, row->prim, x, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status call_top_k(kn_himport *h, const kn_mop *o, const kn_hcall_row *row)
{
    kn_atom x, y[2];
    kiln_type t;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 2));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hresult(h, o, 0, &t));
    if (t.rank == 0) return kn_hbad(h, o, "a result of rank at least 1 is needed");
    kn_param params[] = {KN_INT((int64_t)t.rank - 1), KN_BOOL(true), KN_INT(t.dims[t.rank - 1])};
    KILN_TRY(kn_heqn(h, o, &kn_prim_top_k, params, &x, 1, y, 2));
    KILN_TRY(kn_hset(h, o, 0, y[0]));
    return kn_hset(h, o, 1, y[1]);
}

static const kn_mattr *config_of(const kn_mop *o, const char *name, kn_mattr_kind kind)
{
    const kn_mattr *config = kn_mop_attr(o, "mhlo.backend_config");
    const kn_mattr *a = config && config->kind == KN_MA_DICT ? kn_mattr_find(config->fields, config->n, name) : NULL;
    return a && a->kind == kind ? a : NULL;
}

/* The first k along a dimension in the order of a comparator, exactly: arrays that are sorted together, then a start for each, which
 * only an approximation needs. */
static kiln_status call_approx_top_k(kn_himport *h, const kn_mop *o, const kn_hcall_row *row)
{
    const kn_mattr *dim = config_of(o, "reduction_dim", KN_MA_INT), *k = config_of(o, "top_k", KN_MA_INT);
    const kn_mattr *whole = config_of(o, "aggregate_to_topk", KN_MA_BOOL), *order = kn_mop_attr(o, "called_computations");
    const kn_jaxpr *comparator;
    uint32_t n = o->nin / 2;
    (void)row;
    if (!dim || !k || !whole) return kn_hbad(h, o, "mhlo.backend_config lacks reduction_dim, top_k or aggregate_to_topk");
    if (!whole->b) return kn_hrefuse(h, o, "aggregate_to_topk = true", "custom call @ApproxTopK: how many results of each part it keeps depends on a machine");
    if (n == 0 || o->nin != 2 * n || o->nout != n) return kn_hbad(h, o, "arrays, as many starts and as many results are needed");
    if (!order || order->kind != KN_MA_LIST || order->n != 1 || order->items[0].kind != KN_MA_SYMBOL)
        return kn_hbad(h, o, "called_computations must name one comparator");
    KILN_TRY(kn_hbody_named(h, o, order->items[0].text, &comparator));
    kn_atom *x = KN_NEWN(h->arena, kn_atom, n), *y = KN_NEWN(h->arena, kn_atom, n);
    KILN_TRY_MEM(h->ctx, x && y);
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_hin(h, o, i, &x[i]));
    kn_param sort[] = {KN_JAXPR(comparator), KN_INT(dim->i), KN_BOOL(true), KN_NONE};
    KILN_TRY(kn_heqn(h, o, &kn_prim_sort_by, sort, x, n, y, n));
    kiln_type t = kn_htype(h, y[0]);
    int64_t lo[KN_MAX_RANK] = {0}, hi[KN_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) hi[d] = (int64_t)d == dim->i ? k->i : t.dims[d];
    kn_param slice[] = {KN_INTS(t.rank, hi), KN_INTS(t.rank, lo), KN_NONE};
    for (uint32_t i = 0; i < n; i++) {
        KILN_TRY(kn_heqn1(h, o, &kn_prim_slice, slice, &y[i], 1, &y[i]));
        KILN_TRY(kn_hset(h, o, i, y[i]));
    }
    return KILN_OK;
}

static const char callback_reason[] = "it calls back into Python", callback_remedy[] = "a program without pure_callback, io_callback and debug.print";
static const char sharded_reason[] = "it works on several devices", one_device[] = "a module lowered for one device";

static const kn_hcall_row calls[] = {
    {"AllocateBuffer", call_refused, NULL, "it leaves contents undefined", NULL},
    {"ApproxTopK", call_approx_top_k, NULL, NULL, NULL},
    {"Sharding", call_identity, NULL, NULL, NULL},
    {"SPMDFullToShardShape", call_identity, NULL, NULL, NULL},
    {"SPMDShardToFullShape", call_identity, NULL, NULL, NULL},
    {"TopK", call_top_k, NULL, NULL, NULL},
    {"annotate_device_placement", call_identity, NULL, NULL, NULL},
    {"mhlo.acos", call_unary, &kn_prim_acos, NULL, NULL},
    {"mhlo.acosh", call_unary, &kn_prim_acosh, NULL, NULL},
    {"mhlo.asin", call_unary, &kn_prim_asin, NULL, NULL},
    {"mhlo.asinh", call_unary, &kn_prim_asinh, NULL, NULL},
    {"mhlo.atan", call_unary, &kn_prim_atan, NULL, NULL},
    {"mhlo.atanh", call_unary, &kn_prim_atanh, NULL, NULL},
    {"mhlo.cosh", call_unary, &kn_prim_cosh, NULL, NULL},
    {"mhlo.erf", call_unary, &kn_prim_erf, NULL, NULL},
    {"mhlo.sinh", call_unary, &kn_prim_sinh, NULL, NULL},
    {"mhlo.tan", call_unary, &kn_prim_tan, NULL, NULL},
    {"mhlo.topk", call_top_k, NULL, NULL, NULL},
    {"shape_assertion", call_nothing, NULL, NULL, NULL},
    {"stablehlo.dynamic_reduce_window", kn_hdynamic_window, NULL, NULL, NULL},
    {"stablehlo.dynamic_top_k", call_refused, NULL, "its k is an operand", "top_k with a fixed k"},
    {"xla.sdy.FuncResultSharding", call_identity, NULL, NULL, NULL},
    {"xla.sdy.GlobalToLocalShape", call_refused, NULL, sharded_reason, one_device},
    {"xla_ffi_partitioned_python_cpu_callback", call_refused, NULL, callback_reason, callback_remedy},
    {"xla_ffi_python_cpu_callback", call_refused, NULL, callback_reason, callback_remedy},
    {"xla_python_cpu_callback", call_refused, NULL, callback_reason, callback_remedy},
};

const kn_hcall_row *kn_hcall_rows(uint32_t *n)
{
    *n = sizeof calls / sizeof *calls;
    return calls;
}

static kiln_status custom_call(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const kn_mattr *target = kn_mop_attr(o, "call_target_name");
    (void)row;
    if (!target || (target->kind != KN_MA_SYMBOL && target->kind != KN_MA_STRING)) return kn_hbad(h, o, "the call's target is missing");
    if (starts_with(target->text, "check.")) return check_op(h, o, (kn_span){target->text.s + 6, target->text.n - 6}, true);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (kn_span_is(target->text, calls[i].name)) return calls[i].fn(h, o, &calls[i]);
    if (starts_with(target->text, "lapack_")) return kn_hlapack(h, o, target->text);
    return kn_hrefuse(h, o, "lapack_*_ffi, TopK, mhlo.*, Sharding, check.*; or the operation written out", "the custom call @%.*s is not known",
                      KN_SPAN_ARG(target->text));
}

/* ---- between replicas ---- */

/* Groups of one process, itself. */
static kiln_status alone(kn_himport *h, const kn_mop *o)
{
    const int64_t *v;
    uint32_t n;
    KILN_TRY(kn_hints(h, o, "replica_groups", &v, &n));
    for (uint32_t i = 0; i < n; i++)
        if (n > 1 || (v[i] != 0 && v[i] != -1)) return kn_hrefuse(h, o, one_device, "%.*s between several replicas", KN_SPAN_ARG(o->name));
    return KILN_OK;
}

static kiln_status collective(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    (void)row;
    KILN_TRY(alone(h, o));
    if (o->nin != o->nout) return kn_hbad(h, o, "as many results as operands are needed, found %u and %u", o->nout, o->nin);
    for (uint32_t i = 0; i < o->nin; i++) {
        kn_atom x;
        KILN_TRY(kn_hin(h, o, i, &x));
        KILN_TRY(kn_hset(h, o, i, x));
    }
    return KILN_OK;
}

/* From the only process to itself, or nothing: then zeros arrive. */
static kiln_status collective_permute(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const int64_t *v;
    uint32_t n;
    kn_atom x;
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hints(h, o, "source_target_pairs", &v, &n));
    for (uint32_t i = 0; i < n; i++)
        if (v[i] != 0) return kn_hrefuse(h, o, one_device, "collective_permute between several replicas");
    if (n == 0) {
        kn_low l = {h->b, KILN_OK};
        x = kn_low_fill(&l, kn_htype(h, x), (kn_scalar){.c = {0, 0}});
        KILN_TRY(l.status);
    }
    return kn_hset(h, o, 0, x);
}

static kiln_status own_number(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom y;
    (void)row;
    KILN_TRY(kn_hliteral(h, KILN_U32, (kn_scalar){.u = 0}, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status nothing(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    (void)row;
    for (uint32_t i = 0; i < o->nout && i < o->nin; i++) h->vals[o->out + i] = h->vals[o->in[i]];
    return KILN_OK;
}

const kn_himporter kn_himport_other[] = {
    {"check.expect_almost_eq", check, NULL, 0},
    {"check.expect_almost_eq_const", check, NULL, 0},
    {"check.expect_close", check, NULL, 0},
    {"check.expect_eq", check, NULL, 0},
    {"check.expect_eq_const", check, NULL, 0},
    {"sdy.reshard", nothing, NULL, 0},
    {"sdy.sharding_constraint", nothing, NULL, 0},
    {"stablehlo.all_gather", collective, NULL, 0},
    {"stablehlo.all_reduce", collective, NULL, 0},
    {"stablehlo.all_to_all", collective, NULL, 0},
    {"stablehlo.collective_broadcast", collective, NULL, 0},
    {"stablehlo.collective_permute", collective_permute, NULL, 0},
    {"stablehlo.cross-replica-sum", collective, NULL, 0},
    {"stablehlo.custom_call", custom_call, NULL, 0},
    {"stablehlo.partition_id", own_number, NULL, 0},
    {"stablehlo.reduce_scatter", collective, NULL, 0},
    {"stablehlo.replica_id", own_number, NULL, 0},
};
const uint32_t kn_himport_n_other = sizeof kn_himport_other / sizeof *kn_himport_other;
