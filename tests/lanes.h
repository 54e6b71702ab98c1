/* SPDX-License-Identifier: Apache-2.0 */
/* A program with lanes on some operands along some axes, and what its lanes hold. */
#ifndef KN_TESTS_LANES_H
#define KN_TESTS_LANES_H

#include "kiln/transform.h"
#include "prim/common.h"
#include "testing.h"

enum { LANES_INPUTS = 64, LANES_OUTPUTS = 64 };

typedef struct mapped {
    int64_t lanes;
    int axes[LANES_INPUTS], out_axes[LANES_OUTPUTS];
    kiln_array *in[LANES_INPUTS];
    kiln_prog *p;
} mapped;

static uint64_t lane_draw(uint64_t *s)
{
    *s += 0x9e3779b97f4a7c15u;
    uint64_t z = (*s ^ *s >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Offset, in an array with lanes, of element k of a lane. */
static int64_t lane_offset(kiln_type lane, int64_t lanes, uint32_t axis, int64_t l, int64_t k)
{
    int64_t inner = 1;
    for (uint32_t d = axis; d < lane.rank; d++) inner *= lane.dims[d];
    return (k / inner * lanes + l) * inner + k % inner;
}

/* Lane l of an operand: the sample's elements, turned; scalars change a little. */
static kiln_array *lane_of(kiln_ctx *ctx, const kiln_array *x, int64_t l)
{
    kiln_array *y;
    kiln_dtype d = x->type.dtype;
    int64_t n = kiln_type_size(x->type);
    assert_ok(ctx, kiln_array_create(ctx, x->type, &y));
    for (int64_t k = 0; k < n; k++) kn_move(y, k, x, (k + l) % n);
    if (n == 1 && l && strchr("iu", kiln_dtype_kind(d))) {
        kn_scalar v = kn_scalar_load(d, x->data, 0);
        v.i += l % 2 ? 1 : -1;
        kn_scalar_store(d, y->data, 0, kn_scalar_round(d, v));
    } else if (n == 1 && l && kiln_dtype_kind(d) == 'f') {
        kn_scalar v = kn_scalar_load(d, x->data, 0);
        v.f = l % 2 ? v.f * 0.75 : v.f - 1;
        kn_scalar_store(d, y->data, 0, kn_scalar_round(d, v));
    } else if (n == 1 && d == KILN_BOOL) {
        kn_scalar_store(d, y->data, 0, (kn_scalar){.b = l % 2 != 0});
    }
    return y;
}

/* false: the program has no inputs. */
static bool mapped_make(kiln_ctx *ctx, const kiln_prog *p, kiln_array *const *in, uint32_t nin, int64_t lanes, uint64_t seed, mapped *m)
{
    uint32_t nout = kiln_prog_n_outputs(p);
    bool any = false;
    *m = (mapped){.lanes = lanes};
    assert_true(nin <= LANES_INPUTS && nout <= LANES_OUTPUTS);
    while (!any && nin)
        for (uint32_t i = 0; i < nin; i++) {
            m->axes[i] = lane_draw(&seed) % 2 ? (int)(lane_draw(&seed) % (in[i]->type.rank + 1)) : KILN_NO_AXIS;
            any = any || m->axes[i] != KILN_NO_AXIS;
        }
    if (!any) return false;
    for (uint32_t k = 0; k < nout; k++) m->out_axes[k] = (int)(lane_draw(&seed) % (kiln_prog_output_type(p, k).rank + 1));
    for (uint32_t i = 0; i < nin; i++) {
        kiln_type t = in[i]->type;
        int64_t dims[KN_MAX_RANK + 1];
        if (m->axes[i] == KILN_NO_AXIS) {
            m->in[i] = kiln_array_retain(in[i]);
            continue;
        }
        for (uint32_t d = 0; d <= t.rank; d++) dims[d] = (int)d == m->axes[i] ? lanes : t.dims[(int)d < m->axes[i] ? d : d - 1];
        assert_ok(ctx, kiln_array_create(ctx, (kiln_type){t.dtype, t.rank + 1, dims}, &m->in[i]));
        for (int64_t l = 0; l < lanes; l++) {
            kiln_array *x = lane_of(ctx, in[i], l);
            for (int64_t k = 0, n = kiln_type_size(t); k < n; k++) kn_move(m->in[i], lane_offset(t, lanes, (uint32_t)m->axes[i], l, k), x, k);
            kiln_array_release(x);
        }
    }
    assert_ok(ctx, kiln_prog_vmap(ctx, p, lanes, m->axes, m->out_axes, &m->p));
    return true;
}

static void mapped_drop(mapped *m, uint32_t nin)
{
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(m->in[i]);
    kiln_prog_release(m->p);
}

/* Lane l of result k. */
static kiln_array *mapped_result(kiln_ctx *ctx, const mapped *m, const kiln_array *all, uint32_t k, int64_t l, kiln_type t)
{
    kiln_array *y;
    assert_ok(ctx, kiln_array_create(ctx, t, &y));
    assert_int_equal(kiln_type_size(all->type), kiln_type_size(t) * m->lanes);
    for (int64_t e = 0, n = kiln_type_size(t); e < n; e++) kn_move(y, e, all, lane_offset(t, m->lanes, (uint32_t)m->out_axes[k], l, e));
    return y;
}
/* Operand i of lane l, from the one that all lanes came from. */
static kiln_array *mapped_operand(kiln_ctx *ctx, const mapped *m, kiln_array *x, uint32_t i, int64_t l)
{
    return m->axes[i] == KILN_NO_AXIS ? kiln_array_retain(x) : lane_of(ctx, x, l);
}

#endif
