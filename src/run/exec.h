/* SPDX-License-Identifier: Apache-2.0 */
/* Executables from the inside, and what makes one out of loops. */
#ifndef KN_RUN_EXEC_H
#define KN_RUN_EXEC_H

#include "kiln/exec.h"
#include "loop/loop.h"
#include "rt/math_table.h"
#include "run/loader.h"

#include <stdatomic.h>

struct kiln_exec {
    atomic_int refs;
    kn_alloc alloc;
    kn_arena arena;
    kn_code code;
    kiln_entry entry;
    struct kiln_table table;
    kiln_type *in, *out;
    bool *donated; /* per input */
    uint32_t nin, nout, nconsts;
    kiln_array **consts; /* retained: the table points to their data */
    const char **scopes;
    size_t scratch_bytes, frame_bytes;
    bool sized;    /* one size is given at each call (ir/size.h): */
    int64_t least; /* the smallest that there is */
    size_t common_per, part_per; /* scratch that is needed more for each of it, by all threads and by each */
    _Atomic(void *) spare; /* a frame for checked calls, when none is using it */
    kiln_exec_info info;
};

/* What an executable takes and gives. */
typedef struct kn_signature {
    const kiln_type *in, *out;
    uint32_t nin, nout;
    kiln_array *const *consts;
    uint32_t nconsts;
    int64_t least; /* the smallest size that may be given at a call */
} kn_signature;

/* What an executable is made of besides its signature: from code generation, or from the cache. */
typedef struct kn_image {
    const void *object; /* relocatable ELF */
    size_t scratch_per, part_per; /* of scratch, for each of the size that is given at a call */
    size_t object_bytes, scratch_bytes, part_bytes; /* part_bytes: of scratch for each thread, behind the common ones */
    double share;         /* of a thread at least (rt/math_table.h); 0: the usual. Not kept in the cache */
    const kn_call *calls; /* by their numbers */
    uint32_t n_calls;
    const char *const *scopes;
    kiln_exec_info info; /* counts, times, tier, n_scopes */
} kn_image;

kiln_status kn_exec_load(kiln_ctx *ctx, const kn_image *image, const kn_signature *s, const char *target, const bool *donated, kiln_exec **out);

struct kn_cached;
typedef struct kn_build_opts {
    const char *target; /* base/cpu.h */
    int tier;           /* 0, 2, or -1: by cost */
    const bool *donated;
    bool flush;         /* subnormal numbers are read and made as zeros */
    double share;       /* kn_image.share */
    const char *dump; /* "DIR/003-name-": where stages are written; NULL: nowhere */
    unsigned dumped;  /* stages written there before */
    struct kn_cached *cached; /* keeps what is made; or NULL */
} kn_build_opts;

/* Loops -> machine code -> executable, which is kept in the cache; `out` NULL: only that. `info` holds what is known from before. */
kiln_status kn_exec_build(kiln_ctx *ctx, const kn_loops *l, const kn_signature *s, const kn_build_opts *o, const kiln_exec_info *info,
                          kiln_exec **out);

/* Which tier pays, judged by trips times bodies. */
int kn_tier_of(const kn_loops *l);

double kn_now_ms(void);

#endif
