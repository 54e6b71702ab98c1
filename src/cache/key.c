/* SPDX-License-Identifier: Apache-2.0 */
/* The key: version, options, then the program. Whatever code depends on stands here; what it does not depend on (names and
 * places) does not, so that equal programs of different sources share an entry. */
#include "cache/cache.h"

#include "ir/prim.h"
#include "run/codegen.h"
#include "sources.gen.h"

static void feed(void *ud, const void *p, size_t n) { kn_blob_put(ud, p, n); }

/* Clock ticks are charged to scopes: their numbers are in the code. */
static void put_scopes(void *ud, const kn_jaxpr *j)
{
    kn_blob *b = ud;
    for (uint32_t i = 0; i < j->neqns; i++) {
        kn_blob_put(b, &j->eqns[i].scope, sizeof j->eqns[i].scope);
        kn_eqn_bodies(&j->eqns[i], put_scopes, b);
    }
}

void kn_cache_key(kn_blob *b, const kn_prog *p, const kn_resolved *r)
{
    kn_blob_text(b, "kiln " KILN_VERSION_STRING " " KN_SOURCES);
    kn_blob_u64(b, KN_CODEGEN_ABI);
    kn_blob_text(b, r->o.target); /* stands for the processor's features: code uses those of the target and no others */
    kn_blob_u64(b, (uint64_t)(int64_t)r->o.tier);
    kn_blob_u64(b, r->loops.vector_bits);
    kn_blob_u64(b, r->loops.register_elements);
    kn_blob_put(b, &r->loops.split_cost, sizeof r->loops.split_cost);
    kn_blob_u64(b, (uint64_t)r->loops.no_fusion | (uint64_t)r->loops.ticks << 1 | (uint64_t)r->o.fast << 2);
    uint32_t n = kn_nargs(p->main);
    for (uint32_t i = 0; i < n; i++) kn_blob_put(b, r->loops.donated && r->loops.donated[i] ? "d" : "-", 1);
    if (r->loops.ticks) {
        kn_blob_u64(b, p->scopes.n);
        for (uint32_t i = 0; i < p->scopes.n; i++) kn_blob_text(b, p->scopes.v[i]);
        put_scopes(b, p->main);
    }
    kn_jaxpr_feed(p->main, feed, b);
}
