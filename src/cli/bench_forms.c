/* SPDX-License-Identifier: Apache-2.0 */
/* A layer over a batch: its equations once a sample, once in a loop, once over all samples. docs/batching.md compares them. */
#include "cli/bench.h"

#include <stdlib.h>

enum { OUT = CLI_LAYER_OUT, IN = CLI_LAYER_IN };

typedef struct parameters {
    kiln_val w, b;
} parameters;

static parameters inputs(kiln_trace *t)
{
    parameters p = {kiln_input(t, "w", (kiln_type){KILN_F32, 2, (int64_t[]){OUT, IN}}), {0}};
    p.b = kiln_input(t, "b", KILN_VECTOR(KILN_F32, OUT));
    return p;
}

static kiln_val layer(kiln_trace *t, const parameters *p, kiln_val x)
{
    kiln_val y = kiln_dot(t, p->w, x, ((int64_t[]){1}), ((int64_t[]){0}), 1, NULL, NULL, 0);
    return kiln_max(t, kiln_add(t, y, p->b), kiln_num(t, 0));
}

static kiln_val samples(kiln_trace *t, int64_t batch) { return kiln_input(t, "x", (kiln_type){KILN_F32, 2, (int64_t[]){batch, IN}}); }

static kiln_status as_loop(kiln_ctx *ctx, int64_t batch, kiln_prog **out)
{
    kiln_trace *t;
    kiln_val *rows = malloc((size_t)batch * sizeof *rows);
    if (!rows) return KILN_NOMEM;
    kiln_status status = kiln_trace_begin(ctx, &t);
    if (status == KILN_OK) {
        parameters p = inputs(t);
        kiln_val x = samples(t, batch);
        for (int64_t i = 0; i < batch; i++) {
            kiln_val row = kiln_slice(t, x, ((int64_t[]){i, 0}), ((int64_t[]){i + 1, IN}), NULL);
            kiln_val y = layer(t, &p, kiln_reshape(t, row, 1, ((int64_t[]){IN})));
            rows[i] = kiln_broadcast(t, y, 2, ((int64_t[]){1, OUT}), ((int64_t[]){1}));
        }
        kiln_output(t, "y", kiln_concatenate(t, rows, (uint32_t)batch, 0));
        status = kiln_trace_finish(t, out);
    }
    free(rows);
    return status;
}

static void one_sample(kiln_trace *t, void *user, const kiln_val *x, kiln_val *y) { y[0] = layer(t, user, x[0]); }

static kiln_status as_map(kiln_ctx *ctx, int64_t batch, kiln_prog **out)
{
    kiln_trace *t;
    kiln_status status = kiln_trace_begin(ctx, &t);
    if (status != KILN_OK) return status;
    parameters p = inputs(t);
    kiln_val x = samples(t, batch), y;
    kiln_map(t, one_sample, &p, &x, 1, 1, batch, &y);
    kiln_output(t, "y", y);
    return kiln_trace_finish(t, out);
}

static kiln_status as_vmap(kiln_ctx *ctx, int64_t batch, kiln_prog **out)
{
    kiln_trace *t;
    kiln_prog *single;
    kiln_status status = kiln_trace_begin(ctx, &t);
    if (status != KILN_OK) return status;
    parameters p = inputs(t);
    kiln_output(t, "y", layer(t, &p, kiln_input(t, "x", KILN_VECTOR(KILN_F32, IN))));
    if ((status = kiln_trace_finish(t, &single)) != KILN_OK) return status;
    status = kiln_prog_vmap(ctx, single, batch, (int[]){KILN_NO_AXIS, KILN_NO_AXIS, 0}, NULL, out);
    kiln_prog_release(single);
    return status;
}

const cli_layer_form cli_layer_forms[CLI_LAYER_FORMS] = {{"loop", as_loop}, {"map", as_map}, {"vmap", as_vmap}};
