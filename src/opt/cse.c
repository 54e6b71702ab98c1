/* SPDX-License-Identifier: Apache-2.0 */
/* Does:   merges equal equations (same primitive, parameters, bodies, operands; either order where operands commute), equal
 *         constants of the program
 * Needs:  a lowered program
 * Leaves: equations with effects; what stands in different bodies (bodies are closed)
 * Cost:   linear: one hash table a body; bodies are hashed once a nesting level
 * Switch: --skip cse
 *
 * The first of equal equations stays, with its scope and place.
 *
 * Before:
 *   { lambda ; a:f64[] b:f64[]. let
 *       c:f64[] = mul a b
 *       d:f64[] = sin c
 *       e:f64[] = mul b a
 *       f:f64[] = sin e
 *       g:f64[] = add d f
 *     in (g,) }
 * After:
 *   { lambda ; a:f64[] b:f64[]. let
 *       c:f64[] = mul a b
 *       d:f64[] = sin c
 *       e:f64[] = add d d
 *     in (e,) }
 */
#include "opt/equal.h"
#include "opt/rules.h"

enum { MERGED, MERGED_CONSTANT };
static const kn_rule *row(int k);

static kiln_status merge_jaxpr(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out);
/* Bodies are numbered anew, so that equal ones are found equal. */
static kiln_status merge_body(void *ud, const kn_jaxpr *body, const kn_jaxpr **out)
{
    const kn_jaxpr *merged;
    KILN_TRY(merge_jaxpr(ud, body, &merged));
    return kn_renumber(ud, merged, out);
}

/* Forwards constants of the program to earlier ones with the same contents; `n` is how many. */
static kiln_status merge_constants(kn_pm *pm, kn_rw *rw, uint32_t *n)
{
    const kn_jaxpr *j = rw->from;
    enum { SAMPLE = 256 };
    kn_map seen = {0};
    *n = 0;
    for (uint32_t i = 0; i < j->nconsts; i++) {
        const kiln_array *a = j->consts[i];
        uint64_t h = kn_mix(a->bytes ^ (uint64_t)a->type.dtype << 56), word = 0;
        for (size_t k = 0; k + sizeof word <= a->bytes && k < SAMPLE; k += sizeof word) {
            memcpy(&word, (const char *)a->data + k, sizeof word);
            h = kn_mix(h ^ word) + h * 31;
        }
        uint32_t first = kn_map_get(&seen, h);
        const kiln_array *b = first ? j->consts[first - 1] : NULL;
        if (!b) KILN_TRY_MEM(pm->ctx, kn_map_put(&pm->scratch, &seen, h, i + 1));
        else if (a == b || (kiln_type_equal(a->type, b->type) && memcmp(a->data, b->data, a->bytes) == 0)) {
            KILN_TRY(kn_rw_forward(rw, j->in[i], j->in[first - 1]));
            ++*n;
        }
    }
    return KILN_OK;
}

static kiln_status drop_constants(kn_pm *pm, const kn_rw *rw, uint32_t n, const kn_jaxpr **out)
{
    kn_arena *arena = &pm->prog->arena;
    kn_jaxpr *j = kn_arena_copy(arena, *out, sizeof *j);
    kn_atom *in = KN_NEWN(arena, kn_atom, (*out)->nin);
    kiln_array **consts = KN_NEWN(arena, kiln_array *, (*out)->nconsts);
    KILN_TRY_MEM(pm->ctx, j && in && consts);
    uint32_t nin = 0;
    for (uint32_t i = 0; i < j->nin; i++) {
        if (i < j->nconsts && kn_rw_map(rw, j->in[i]) != j->in[i]) continue;
        if (i < j->nconsts) consts[nin] = j->consts[i];
        in[nin++] = j->in[i];
    }
    j->in = in, j->nin = nin;
    j->consts = consts, j->nconsts -= n;
    *out = j;
    kn_count(pm, row(MERGED_CONSTANT), n);
    return KILN_OK;
}

static kiln_status merge_jaxpr(kn_pm *pm, const kn_jaxpr *j, const kn_jaxpr **out)
{
    kn_rw rw;
    uint32_t constants;
    kn_equal t;
    KILN_TRY(kn_rw_begin(&rw, pm, j));
    KILN_TRY_MEM(pm->ctx, kn_equal_init(&t, &pm->scratch, &rw.b, j->neqns));
    KILN_TRY(merge_constants(pm, &rw, &constants));
    bool changed = constants > 0;
    for (uint32_t k = 0; k < j->neqns; k++) {
        kn_eqn e;
        bool inside;
        KILN_TRY(kn_rw_take(&rw, &j->eqns[k], &e));
        KILN_TRY(kn_map_bodies(pm, &e, merge_body, pm, &inside));
        changed = changed || inside;
        const kn_eqn *same = kn_equal_find(&t, &e);
        if (same) {
            for (uint32_t i = 0; i < e.nout; i++) KILN_TRY(kn_rw_forward(&rw, e.out[i], same->out[i]));
            kn_count_at(pm, row(MERGED), 1, e.prim, e.loc);
            changed = true;
            continue;
        }
        KILN_TRY(kn_rw_push(&rw, &e));
        kn_equal_enter(&t);
    }
    *out = j;
    if (changed) KILN_TRY(kn_rw_finish(&rw, out));
    return constants ? drop_constants(pm, &rw, constants, out) : KILN_OK;
}

kiln_status kn_pass_cse(kn_pm *pm, const kn_jaxpr *main, const kn_jaxpr **out) { return merge_jaxpr(pm, main, out); }

const kn_rule kn_cse_rules[] = {{.text = "equal equations"}, {.text = "equal constants"}, {.text = NULL}};
static const kn_rule *row(int k) { return &kn_cse_rules[k]; }
