/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of the state that hold subnormal numbers after the steps that were timed: arithmetic on them takes up to a hundred cycles, and what
 * decays toward zero ends there. */
#include "graph/profile.h"

#include "base/text.h"

/* By their bits: the caller's floating-point mode may see zeros. */
static int64_t subnormals(const kiln_array *a)
{
    int64_t n = kiln_type_size(kiln_array_type(a)), found = 0;
    const void *data = kiln_array_read(a);
    switch (kiln_array_type(a).dtype) {
    case KILN_F32:
        for (int64_t i = 0; i < n; i++) found += (((const uint32_t *)data)[i] & 0x7fffffff) - 1 < 0x7fffff;
        return found;
    case KILN_F64:
        for (int64_t i = 0; i < n; i++) found += (((const uint64_t *)data)[i] & INT64_MAX) - 1 < 0xfffffffffffff;
        return found;
    default: return 0;
    }
}

kiln_status kn_profile_subnormal(kn_profiler *u)
{
    enum { MOST_NAMED = 4 };
    const kn_plan *p = u->g->plan;
    uint32_t fields = 0;
    kn_text t;
    kn_text_init(&t, &u->ctx->alloc);
    for (uint32_t i = 0; i < p->n_slots; i++) {
        int64_t n = subnormals(u->g->state[i]);
        if (n && fields < MOST_NAMED)
            kn_text_printf(&t, "%s%s (%lld of %lld)", fields ? ", " : "", p->slots[i].name, (long long)n, (long long)kiln_type_size(p->slots[i].type));
        fields += n > 0;
    }
    if (fields > MOST_NAMED) kn_text_printf(&t, " and %u more fields", fields - MOST_NAMED);
    kn_text_add(&t, ""); /* there is a text in any case */
    if (fields) u->subnormal = kn_arena_printf(&u->work, "%s", t.failed ? "" : t.s);
    bool good = !t.failed && (!fields || u->subnormal);
    kn_text_fini(&t);
    return good ? KILN_OK : kn_nomem(u->ctx);
}
