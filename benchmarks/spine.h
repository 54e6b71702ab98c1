/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the suite "spine" share. */
#ifndef BENCH_SPINE_H
#define BENCH_SPINE_H

#include "bench.h"
#include "kiln/kiln.h"

/* The context's error as the case's failure. */
void spine_kiln_failed(bench *b, const kiln_ctx *ctx, const char *what);
/* A graph of benchmarks/ or, with "../" before it, of the source tree; NULL after a failure. */
kiln_graph *spine_graph(bench *b, kiln_ctx *ctx, const char *name);

void spine_spring_body(bench *b);
void spine_rods(bench *b);
void spine_mixed(bench *b);

#endif
