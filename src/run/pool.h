/* SPDX-License-Identifier: Apache-2.0 */
/* The thread pool: one a process, shared by all contexts and all threads that call (docs/threads.md). */
#ifndef KN_RUN_POOL_H
#define KN_RUN_POOL_H

#include "base/ctx.h"
#include "kiln/exec.h"
#include "rt/math_table.h"

enum { KN_POOL_MOST = KILN_MOST_THREADS };
/* What a thread has to do at least for waking it to pay, in the units of a loop's cost (loop/split.c): some 10 microseconds. */
#define KN_POOL_SHARE 25000.0

/* This context's calls may be split from now on, until it is released; the last one to go joins the workers. Cheap when repeated. */
void kn_pool_enter(kiln_ctx *ctx);

/* Threads of a call where nobody has said how many. */
unsigned kn_pool_default(void);

/* kiln_table.split. */
void kn_pool_split(const struct kiln_table *t, const kiln_call *call, kn_range range, void *const *frame, int64_t lo, int64_t hi, int64_t unit,
                   int64_t cost);

#endif
