/* SPDX-License-Identifier: Apache-2.0 */
/* A curve a exp(-b t) is fitted to measurements, with the derivatives of its loss: gradient and auxiliary results, Hessian, a product
 * with it, Jacobian of the residuals, gradients from many starts at once. See docs/transforms.md. */
#include <kiln/kiln.h>
#include <stdio.h>

enum { POINTS = 6, STARTS = 4 };

#define TRY(e)                                                                                                        \
    do {                                                                                                              \
        kiln_status status_ = (e);                                                                                    \
        if (status_ != KILN_OK) return status_;                                                                       \
    } while (0)

/* (p, t, y) -> loss, residuals: the loss is half the sum of their squares. */
static kiln_status loss_program(kiln_ctx *ctx, kiln_prog **out)
{
    kiln_trace *t;
    TRY(kiln_trace_begin(ctx, &t));
    kiln_val p = kiln_input(t, "p", KILN_VECTOR(KILN_F64, 2));
    kiln_val time = kiln_input(t, "t", KILN_VECTOR(KILN_F64, POINTS)), y = kiln_input(t, "y", KILN_VECTOR(KILN_F64, POINTS));
    kiln_val curve = kiln_mul(t, kiln_item(t, p, 0), kiln_exp(t, kiln_neg(t, kiln_mul(t, kiln_item(t, p, 1), time))));
    kiln_val r = kiln_sub(t, curve, y);
    kiln_output(t, "loss", kiln_mul(t, kiln_num(t, 0.5), kiln_sum_all(t, kiln_mul(t, r, r))));
    kiln_output(t, "residuals", r);
    return kiln_trace_finish(t, out);
}

/* Compiles and calls once; p, t, y and perhaps one operand more. The program is released. */
static kiln_status call(kiln_ctx *ctx, kiln_prog *p, kiln_array *const *in, kiln_array **out)
{
    kiln_exec *f = NULL;
    kiln_status status = kiln_compile(ctx, p, NULL, &f);
    if (status == KILN_OK) status = kiln_exec_call(ctx, f, in, out);
    kiln_exec_release(f);
    kiln_prog_release(p);
    return status;
}

static void print(const char *what, kiln_array *a)
{
    const double *v = kiln_array_data(a);
    printf("%s", what);
    for (int64_t i = 0, n = kiln_type_size(kiln_array_type(a)); i < n; i++) printf(" %.6f", v[i]);
    printf("\n");
}

static const uint32_t p_only[] = {0};

/* Newton's method: the gradient and the Hessian of one loss, which is the first result of the program. */
static kiln_status fit(kiln_ctx *ctx, const kiln_prog *loss, kiln_array **in)
{
    kiln_prog *g, *h;
    kiln_exec *gradient = NULL, *hessian = NULL;
    TRY(kiln_prog_value_and_grad(ctx, loss, p_only, 1, true, &g));
    kiln_status status = kiln_prog_hessian(ctx, loss, p_only, 1, &h);
    if (status == KILN_OK) status = kiln_compile(ctx, g, NULL, &gradient);
    if (status == KILN_OK) status = kiln_compile(ctx, h, NULL, &hessian);
    for (int step = 0; step < 6 && status == KILN_OK; step++) {
        kiln_array *y[3] = {NULL}, *m[2] = {NULL}; /* loss, residuals, gradient; Hessians of both results */
        status = kiln_exec_call(ctx, gradient, in, y);
        if (status == KILN_OK) status = kiln_exec_call(ctx, hessian, in, m);
        if (status == KILN_OK) {
            double *p = kiln_array_data(in[0]);
            const double *d = kiln_array_data(y[2]), *k = kiln_array_data(m[0]), det = k[0] * k[3] - k[1] * k[2];
            printf("step %d: loss %.8f, p %.5f %.5f\n", step, *(double *)kiln_array_data(y[0]), p[0], p[1]);
            p[0] -= (k[3] * d[0] - k[1] * d[1]) / det;
            p[1] -= (k[0] * d[1] - k[2] * d[0]) / det;
        }
        for (int i = 0; i < 3; i++) kiln_array_release(y[i]);
        for (int i = 0; i < 2; i++) kiln_array_release(m[i]);
    }
    kiln_exec_release(gradient);
    kiln_exec_release(hessian);
    kiln_prog_release(g);
    kiln_prog_release(h);
    return status;
}

/* The Jacobian of the residuals, and a product with the Hessian that never exists as a matrix. */
static kiln_status look(kiln_ctx *ctx, const kiln_prog *loss, kiln_array **in)
{
    kiln_prog *p, *scalar;
    kiln_array *y[2] = {NULL};
    TRY(kiln_prog_jacfwd(ctx, loss, p_only, 1, &p));
    TRY(call(ctx, p, in, y));
    print("d residuals / d p:", y[1]);
    for (int i = 0; i < 2; i++) kiln_array_release(y[i]);
    TRY(kiln_prog_transform(ctx, loss, "sum", NULL, 0, &scalar)); /* the loss alone: a direction needs one result */
    kiln_status status = kiln_prog_hvp(ctx, scalar, 0, &p);
    kiln_prog_release(scalar);
    TRY(status);
    kiln_array *four[] = {in[0], in[1], in[2], NULL};
    TRY(kiln_array_parse(ctx, "f64[2]:1,-1", &four[3]));
    status = call(ctx, p, four, y);
    kiln_array_release(four[3]);
    TRY(status);
    print("Hessian times (1, -1):", y[0]);
    kiln_array_release(y[0]);
    return KILN_OK;
}

/* Gradients at many parameters: lanes along axis 0 of p, shared measurements. */
static kiln_status many(kiln_ctx *ctx, const kiln_prog *loss, kiln_array **in)
{
    kiln_prog *g, *lanes;
    kiln_array *starts, *y[2] = {NULL};
    TRY(kiln_prog_grad(ctx, loss, p_only, 1, true, &g));
    const int axes[] = {0, KILN_NO_AXIS, KILN_NO_AXIS}, out_axes[] = {0, 1}; /* residuals: [points, starts] */
    kiln_status status = kiln_prog_vmap(ctx, g, STARTS, axes, out_axes, &lanes);
    kiln_prog_release(g);
    TRY(status);
    TRY(kiln_array_parse(ctx, "f64[4,2]:1,0.5,1,1,2,0.5,2,1", &starts));
    status = call(ctx, lanes, (kiln_array *[]){starts, in[1], in[2]}, y);
    kiln_array_release(starts);
    TRY(status);
    print("gradients of four starts:", y[0]);
    for (int i = 0; i < 2; i++) kiln_array_release(y[i]);
    return KILN_OK;
}

static kiln_status all(kiln_ctx *ctx)
{
    kiln_prog *loss;
    kiln_array *in[3];
    TRY(loss_program(ctx, &loss));
    TRY(kiln_array_parse(ctx, "f64[2]:2,0.8", &in[0]));
    TRY(kiln_array_parse(ctx, "f64[6]:0,0.5,1,1.5,2,2.5", &in[1]));
    TRY(kiln_array_parse(ctx, "f64[6]:2.5,1.79,1.21,0.86,0.59,0.42", &in[2]));
    kiln_status status = fit(ctx, loss, in);
    if (status == KILN_OK) status = look(ctx, loss, in);
    if (status == KILN_OK) status = many(ctx, loss, in);
    for (int i = 0; i < 3; i++) kiln_array_release(in[i]);
    kiln_prog_release(loss);
    return status;
}

int main(void)
{
    kiln_ctx *ctx;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return 1;
    kiln_status status = all(ctx);
    if (status != KILN_OK) fprintf(stderr, "%s\n", kiln_ctx_error(ctx)->message);
    kiln_ctx_release(ctx);
    return status != KILN_OK;
}
