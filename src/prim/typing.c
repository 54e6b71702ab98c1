/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of type rules. */
#include "prim/common.h"

static const char *param_name(const kn_typing *t, uint32_t k) { return t->prim->params[k].name; }

static kiln_status bad_param(const kn_typing *t, uint32_t k, const char *wanted)
{
    return kn_fail(t->ctx, KILN_INVALID, "%s: parameter %s must be %s", t->prim->name, param_name(t, k), wanted);
}

kiln_status kn_typing_int(const kn_typing *t, uint32_t k, int64_t *v)
{
    if (t->params[k].kind != KN_P_INT) return bad_param(t, k, "an integer");
    *v = t->params[k].i;
    return KILN_OK;
}

kiln_status kn_typing_bool(const kn_typing *t, uint32_t k, bool *v)
{
    if (t->params[k].kind != KN_P_BOOL) return bad_param(t, k, "True or False");
    *v = t->params[k].b;
    return KILN_OK;
}

kiln_status kn_typing_dtype(const kn_typing *t, uint32_t k, kiln_dtype *v)
{
    if (t->params[k].kind != KN_P_DTYPE) return bad_param(t, k, "an element type");
    *v = t->params[k].dtype;
    return KILN_OK;
}

kiln_status kn_typing_ints(const kn_typing *t, uint32_t k, const int64_t **v, uint32_t *n)
{
    const kn_param *p = &t->params[k];
    bool empty = p->kind == KN_P_TUPLE && p->n == 0;
    if (p->kind != KN_P_INTS && !empty) return bad_param(t, k, "a tuple of integers");
    *v = empty ? NULL : p->ints;
    *n = p->n;
    return KILN_OK;
}

kiln_status kn_typing_jaxpr(const kn_typing *t, uint32_t k, const kn_jaxpr **v)
{
    if (t->params[k].kind != KN_P_JAXPR) return bad_param(t, k, "a program");
    *v = t->params[k].jaxpr;
    return KILN_OK;
}

kiln_status kn_typing_axes(const kn_typing *t, uint32_t k, uint32_t rank, bool rising, const int64_t **v, uint32_t *n)
{
    KILN_TRY(kn_typing_ints(t, k, v, n));
    for (uint32_t i = 0; i < *n; i++) {
        int64_t a = (*v)[i];
        if (a < 0 || a >= (int64_t)rank)
            return kn_fail(t->ctx, KILN_SHAPE, "%s: %s holds %lld, but there are %u dimensions", t->prim->name, param_name(t, k),
                           (long long)a, rank);
        for (uint32_t l = 0; l < i; l++)
            if ((*v)[l] == a || (rising && (*v)[l] > a))
                return kn_fail(t->ctx, KILN_SHAPE, "%s: %s must hold %s dimensions, %lld comes after %lld", t->prim->name,
                               param_name(t, k), rising ? "rising" : "different", (long long)a, (long long)(*v)[l]);
    }
    return KILN_OK;
}

kiln_status kn_typing_axis(const kn_typing *t, uint32_t k, uint32_t rank, int64_t *v)
{
    KILN_TRY(kn_typing_int(t, k, v));
    if (*v < 0 || *v >= (int64_t)rank)
        return kn_fail(t->ctx, KILN_SHAPE, "%s: %s is %lld, but there are %u dimensions", t->prim->name, param_name(t, k),
                       (long long)*v, rank);
    return KILN_OK;
}

kiln_status kn_typing_count(const kn_typing *t, uint32_t least)
{
    if (t->nin >= least) return KILN_OK;
    return kn_fail(t->ctx, KILN_INVALID, "%s: %u operands given, at least %u are needed", t->prim->name, t->nin, least);
}

kiln_status kn_typing_kinds(const kn_typing *t, uint32_t operand, const char *kinds)
{
    char kind = kiln_dtype_kind(t->in[operand].dtype);
    if (strchr(kinds, kind)) return KILN_OK;
    static const struct {
        char kind;
        const char *name;
    } names[] = {{'b', "bool"}, {'i', "signed"}, {'u', "unsigned"}, {'f', "float"}, {'c', "complex"}};
    char list[64] = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strchr(kinds, names[i].kind)) continue;
        const char *sep = n ? ", " : "";
        memcpy(list + n, sep, strlen(sep) + 1), n += strlen(sep);
        memcpy(list + n, names[i].name, strlen(names[i].name) + 1), n += strlen(names[i].name);
    }
    return kn_fail(t->ctx, KILN_DTYPE, "%s: operand %u is %s; element types accepted: %s", t->prim->name, operand,
                   kn_type_show(t->in[operand]).s, list);
}

kiln_status kn_typing_same_dtype(const kn_typing *t, uint32_t a, uint32_t b)
{
    if (t->in[a].dtype == t->in[b].dtype) return KILN_OK;
    return kn_fail(t->ctx, KILN_DTYPE, "%s needs equal element types, %s and %s given", t->prim->name,
                   kn_type_show(t->in[a]).s, kn_type_show(t->in[b]).s);
}

kiln_status kn_typing_scalar_int(const kn_typing *t, uint32_t operand)
{
    KILN_TRY(kn_typing_kinds(t, operand, "iu"));
    if (t->in[operand].rank == 0) return KILN_OK;
    return kn_fail(t->ctx, KILN_SHAPE, "%s: operand %u is %s, an integer scalar is needed", t->prim->name, operand,
                   kn_type_show(t->in[operand]).s);
}

kiln_status kn_typing_shape(kn_typing *t, uint32_t k, kiln_dtype d, uint32_t rank, int64_t **dims)
{
    *dims = NULL;
    if (rank) KILN_TRY_MEM(t->ctx, *dims = KN_NEWN(t->arena, int64_t, rank));
    t->out[k] = (kiln_type){d, rank, *dims};
    return KILN_OK;
}

kiln_status kn_typing_like(kn_typing *t, uint32_t k, kiln_dtype d, kiln_type shape)
{
    bool operand = false; /* extents of an operand are shared */
    for (uint32_t i = 0; i < t->nin && !operand; i++) operand = shape.dims == t->in[i].dims;
    t->out[k] = shape;
    if (!operand) KILN_TRY(kn_type_copy(t->ctx, t->arena, shape, &t->out[k]));
    t->out[k].dtype = d;
    return KILN_OK;
}

kiln_status kn_typing_broadcast(kn_typing *t, uint32_t from, uint32_t to, kiln_type *common)
{
    kiln_type shape = {.dtype = t->in[from].dtype};
    uint32_t first = from;
    for (uint32_t i = from; i < to; i++)
        if (t->in[i].rank && !shape.rank) shape = t->in[i], first = i;
    *common = (kiln_type){t->in[from].dtype, shape.rank, shape.dims};
    int64_t *dims = NULL; /* a copy as soon as the extents are those of no operand */
    for (uint32_t i = from; i < to; i++) {
        kiln_type x = t->in[i];
        if (!x.rank) continue;
        bool fits = x.rank == common->rank;
        for (uint32_t d = 0; fits && d < x.rank; d++) {
            int64_t have = common->dims[d];
            if (have == x.dims[d] || x.dims[d] == 1) continue;
            fits = have == 1;
            if (fits && !dims) KILN_TRY_MEM(t->ctx, common->dims = dims = kn_arena_copy(t->arena, shape.dims, shape.rank * sizeof *dims));
            if (fits) dims[d] = x.dims[d];
        }
        if (!fits)
            return kn_fail(t->ctx, KILN_SHAPE, "%s: shapes of operands %u and %u do not fit: %s and %s", t->prim->name, first, i,
                           kn_type_show(t->in[first]).s, kn_type_show(x).s);
    }
    return KILN_OK;
}

static kiln_status same(kn_typing *t, const char *kinds)
{
    KILN_TRY(kn_typing_out(t, 1));
    if (kinds) KILN_TRY(kn_typing_kinds(t, 0, kinds));
    return kn_typing_like(t, 0, t->in[0].dtype, t->in[0]);
}

kiln_status kn_type_same_number(kn_typing *t) { return same(t, "iufc"); }
kiln_status kn_type_same_float(kn_typing *t) { return same(t, "f"); }
kiln_status kn_type_same_fc(kn_typing *t) { return same(t, "fc"); }
kiln_status kn_type_same_any(kn_typing *t) { return same(t, NULL); }

static kiln_status nary(kn_typing *t, const char *kinds)
{
    KILN_TRY(kn_typing_out(t, 1));
    for (uint32_t i = 0; i < t->nin; i++) {
        KILN_TRY(kn_typing_kinds(t, i, kinds));
        KILN_TRY(kn_typing_same_dtype(t, 0, i));
    }
    return kn_typing_broadcast(t, 0, t->nin, &t->out[0]);
}

kiln_status kn_type_nary_float(kn_typing *t) { return nary(t, "f"); }
kiln_status kn_type_nary_number(kn_typing *t) { return nary(t, "iufc"); }
kiln_status kn_type_nary_real(kn_typing *t) { return nary(t, "iuf"); }
kiln_status kn_type_nary_bits(kn_typing *t) { return nary(t, "biu"); }

kiln_status kn_typing_body_in(const kn_typing *t, const kn_jaxpr *body, const char *what, const kiln_type *want, uint32_t n,
                              uint32_t first)
{
    if (kn_nargs(body) != n)
        return kn_fail(t->ctx, KILN_INVALID, "%s: %s takes %u arguments, %u are given", t->prim->name, what, kn_nargs(body), n);
    for (uint32_t i = 0; i < n; i++) {
        kiln_type have = body->vars[body->in[body->nconsts + i]].type;
        if (!kiln_type_equal(have, want[i]))
            return kn_fail(t->ctx, have.dtype == want[i].dtype ? KILN_SHAPE : KILN_DTYPE,
                           "%s: argument %u of %s is %s, operand %u is %s", t->prim->name, i, what, kn_type_show(have).s, first + i,
                           kn_type_show(want[i]).s);
    }
    return KILN_OK;
}
