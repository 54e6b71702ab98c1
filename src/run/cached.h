/* SPDX-License-Identifier: Apache-2.0 */
/* The persistent cache as compiling sees it: src/cache defines the table. One look-up is open from `begin` to `end`. Nothing here
 * fails a program or touches the context's error. */
#ifndef KN_RUN_CACHED_H
#define KN_RUN_CACHED_H

#include "run/exec.h"
#include "run/stages.h"

typedef struct kn_cached kn_cached;

typedef struct kn_cache_table {
    /* Looks an optimised program up. Where nothing is found, other processes that want the same wait until `end`. NULL: the cache
     * is off. */
    kn_cached *(*begin)(kiln_ctx *ctx, const kn_prog *optimised, const kn_resolved *r);
    const kn_image *(*image)(const kn_cached *k); /* what was found, but its scopes; NULL: nothing */
    void (*refuse)(kn_cached *k);                 /* what was found does not load: forgets it */
    void (*keep)(kn_cached *k, const kn_image *image);
    void (*end)(kn_cached *k); /* NULL is fine */
} kn_cache_table;

extern const kn_cache_table kn_cache;

#endif
