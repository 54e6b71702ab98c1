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
    _Atomic(void *) spare; /* a frame for checked calls, when none is using it */
    kiln_exec_info info;
};

/* What an executable takes and gives. */
typedef struct kn_signature {
    const kiln_type *in, *out;
    uint32_t nin, nout;
    kiln_array *const *consts;
    uint32_t nconsts;
} kn_signature;

typedef struct kn_build_opts {
    const char *target; /* "x86-64-v3", "x86-64-v4" */
    int tier;           /* 0, 2, or -1: by cost */
    const bool *donated;
    const char *dump; /* "DIR/003-name-": where stages are written; NULL: nowhere */
    unsigned dumped;  /* stages written there before */
} kn_build_opts;

/* Loops -> machine code -> executable. `info` holds what is known from before. */
kiln_status kn_exec_build(kiln_ctx *ctx, const kn_loops *l, const kn_signature *s, const kn_build_opts *o, const kiln_exec_info *info,
                          kiln_exec **out);

/* Which tier pays, judged by trips times bodies. */
int kn_tier_of(const kn_loops *l);

double kn_now_ms(void);

#endif
