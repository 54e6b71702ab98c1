/* SPDX-License-Identifier: Apache-2.0 */
/* Comparators that say the order in which `sort` sorts: by the first arrays one after the other, ascending, -0 as 0, NaN last. That is how
 * JAX and the writer of this library spell it:
 *
 *      x, y       floats: select(a != a, NaN, select(a = 0, 0, a)), complex numbers: the same of the real and the imaginary part
 *      below_k    x_k < y_k                                            (floats: in the total order)
 *                 x_k < y_k or (x_k = y_k and below_k+1)
 *
 * Any other comparator is run as it is written. */
#include "prim/body.h"

#include "prims.gen.h"

#include <math.h>

typedef struct reading {
    const kn_jaxpr *j;
    uint32_t budget; /* equations that may still be looked at */
} reading;

static const kn_eqn *maker_of(const reading *r, kn_atom a)
{
    for (uint32_t k = 0; k < r->j->neqns && !kn_is_literal(a); k++)
        for (uint32_t i = 0; i < r->j->eqns[k].nout; i++)
            if (r->j->eqns[k].out[i] == a) return &r->j->eqns[k];
    return NULL;
}

static const kn_eqn *made_by(const reading *r, kn_atom a, const kn_prim *p)
{
    const kn_eqn *e = maker_of(r, a);
    return e && e->prim == p ? e : NULL;
}

static bool is_number(const reading *r, kn_atom a, double v)
{
    if (!kn_is_literal(a)) return false;
    double given = r->j->lits[kn_literal_index(a)].value.f;
    return !signbit(given) && (isnan(v) ? isnan(given) : given == v);
}

/* select(which, chosen, other): `other` and the condition, where `chosen` is the number v. */
static bool chooses(const reading *r, kn_atom a, double v, kn_atom *which, kn_atom *other)
{
    const kn_eqn *e = made_by(r, a, &kn_prim_select_n);
    if (!e || e->nin != 3 || !is_number(r, e->in[2], v)) return false;
    *which = e->in[0];
    *other = e->in[1];
    return true;
}

/* The argument that a float stands for once its zeros are one and its NaNs are one, or an integer or bool that is the argument itself. */
static bool is_key(const reading *r, kn_atom a, kn_atom *of)
{
    kn_atom which, inner, plain;
    if (!strchr("f8", kiln_dtype_kind(kn_type_of(r->j, a).dtype))) {
        *of = a;
        return !kn_is_literal(a);
    }
    if (!chooses(r, a, (double)NAN, &which, &inner)) return false;
    const kn_eqn *nan = made_by(r, which, &kn_prim_ne), *zero;
    if (!nan || nan->in[0] != nan->in[1]) return false;
    plain = *of = nan->in[0];
    if (!chooses(r, inner, 0, &which, &inner) || inner != plain) return false;
    zero = made_by(r, which, &kn_prim_eq);
    return zero && zero->in[0] == plain && is_number(r, zero->in[1], 0);
}

/* Argument 2k + side, or the given part of it where it is complex. */
static bool is_argument(const reading *r, kn_atom a, uint32_t k, uint32_t side, bool imaginary)
{
    kn_atom from = r->j->in[2 * k + side];
    if (kiln_dtype_kind(kn_type_of(r->j, from).dtype) != 'c') return a == from;
    const kn_eqn *part = made_by(r, a, imaginary ? &kn_prim_imag : &kn_prim_real);
    return part && part->in[0] == from;
}

static bool is_comparison(const reading *r, kn_atom a, bool less, uint32_t k, bool imaginary)
{
    bool floats = strchr("fc8", kiln_dtype_kind(kn_type_of(r->j, r->j->in[2 * k]).dtype)) != NULL;
    const kn_prim *p = less ? (floats ? &kn_prim_lt_to : &kn_prim_lt) : floats ? &kn_prim_eq_to : &kn_prim_eq;
    const kn_eqn *e = made_by(r, a, p);
    kn_atom of;
    for (uint32_t side = 0; e && side < 2; side++)
        if (!is_key(r, e->in[side], &of) || !is_argument(r, of, k, side, imaginary)) return false;
    return e != NULL;
}

/* Does `a` say "before by array k and those that follow"? *last: the last of them. */
static bool says_before(reading *r, kn_atom a, uint32_t k, bool imaginary, uint32_t *last)
{
    if (k >= kn_nargs(r->j) / 2 || r->budget-- == 0) return false;
    bool more_parts = kiln_dtype_kind(kn_type_of(r->j, r->j->in[2 * k]).dtype) == 'c' && !imaginary;
    *last = k;
    if (!more_parts && is_comparison(r, a, true, k, imaginary)) return true;
    const kn_eqn *either = made_by(r, a, &kn_prim_or), *both;
    for (uint32_t i = 0; either && i < 2; i++) {
        if (!is_comparison(r, either->in[i], true, k, imaginary) || !(both = made_by(r, either->in[1 - i], &kn_prim_and))) continue;
        for (uint32_t q = 0; q < 2; q++)
            if (is_comparison(r, both->in[q], false, k, imaginary) && says_before(r, both->in[1 - q], more_parts ? k : k + 1, more_parts, last)) return true;
    }
    return false;
}

/* What computes something that nobody reads is kept as it is: it would be lost. */
static bool all_read(const kn_jaxpr *j)
{
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_atom y = j->eqns[k].out[0];
        bool read = y == j->out[0];
        for (uint32_t q = k + 1; q < j->neqns && !read; q++)
            for (uint32_t i = 0; i < j->eqns[q].nin; i++) read = read || j->eqns[q].in[i] == y;
        if (!read || j->eqns[k].nout != 1) return false;
    }
    return true;
}

uint32_t kn_body_sort_keys(const kn_jaxpr *j)
{
    enum { MOST = 256 };
    reading r = {j, MOST};
    uint32_t last = 0;
    if (j->nconsts || j->nout != 1 || kn_nargs(j) < 2 || j->neqns > MOST || kn_is_literal(j->out[0])) return 0;
    return all_read(j) && says_before(&r, j->out[0], 0, false, &last) ? last + 1 : 0;
}
