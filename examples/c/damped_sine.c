/* SPDX-License-Identifier: Apache-2.0 */
/* sin(x) * exp(-x): traced once, compiled to one native function, called. */
#include <kiln/kiln.h>
#include <stdio.h>

static kiln_status trace(kiln_ctx *ctx, kiln_prog **program)
{
    kiln_trace *t;
    kiln_status status = kiln_trace_begin(ctx, &t);
    if (status != KILN_OK) return status;
    kiln_val x = kiln_input(t, "x", KILN_VECTOR(KILN_F32, 1000));
    kiln_val y = kiln_mul(t, kiln_sin(t, x), kiln_exp(t, kiln_neg(t, x)));
    kiln_output(t, "y", y);
    return kiln_trace_finish(t, program); /* an error of any line above is reported here */
}

int main(void)
{
    kiln_ctx *ctx = NULL;
    kiln_prog *program = NULL;
    kiln_exec *f = NULL;
    kiln_array *x = NULL, *y = NULL;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return 1;

    kiln_status status = trace(ctx, &program);
    if (status == KILN_OK) status = kiln_compile(ctx, program, NULL, &f);
    if (status == KILN_OK) status = kiln_array_create(ctx, KILN_VECTOR(KILN_F32, 1000), &x);
    if (status == KILN_OK) {
        float *v = kiln_array_data(x);
        for (int i = 0; i < 1000; i++) v[i] = 0.01f * (float)i;
        status = kiln_exec_call(ctx, f, &x, &y);
    }
    if (status == KILN_OK) {
        const float *v = kiln_array_read(y);
        for (int i = 0; i < 1000; i += 250) printf("f(%.1f) = %.9g\n", 0.01 * i, v[i]);
    } else {
        char text[1024];
        kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
        fprintf(stderr, "%s\n", text);
    }

    kiln_array_release(x);
    kiln_array_release(y);
    kiln_exec_release(f);
    kiln_prog_release(program);
    kiln_ctx_release(ctx);
    return status != KILN_OK;
}
