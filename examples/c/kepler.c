/* SPDX-License-Identifier: Apache-2.0 */
/* Kepler's equation E - e sin E = M as a root: found by Newton's method, differentiated by the implicit function theorem. The
 * derivatives are dE/dM = 1/(1 - e cos E) and dE/de = sin E/(1 - e cos E), at many M at once. See docs/transforms.md. */
#include <kiln/kiln.h>
#include <math.h>
#include <stdio.h>

typedef struct orbit {
    kiln_val m, e;
} orbit;

/* 0 = f(E) */
static void kepler(kiln_trace *t, void *user, const kiln_val *E, kiln_val *out)
{
    const orbit *o = user;
    out[0] = kiln_sub(t, kiln_sub(t, E[0], kiln_mul(t, o->e, kiln_sin(t, E[0]))), o->m);
}

/* Newton's method; its steps are not differentiated, so that it could do anything. Carries: E, the number of steps. */
static kiln_val goes_on(kiln_trace *t, void *user, const kiln_val *c)
{
    kiln_val f;
    kepler(t, user, c, &f);
    return kiln_and(t, kiln_gt(t, kiln_abs(t, f), kiln_num(t, 1e-14)), kiln_lt(t, c[1], kiln_num(t, 50)));
}
static void newton(kiln_trace *t, void *user, const kiln_val *c, kiln_val *next)
{
    const orbit *o = user;
    kiln_val f, slope = kiln_sub(t, kiln_num(t, 1), kiln_mul(t, o->e, kiln_cos(t, c[0])));
    kepler(t, user, c, &f);
    next[0] = kiln_sub(t, c[0], kiln_div(t, f, slope));
    next[1] = kiln_add(t, c[1], kiln_num(t, 1));
}
static void solve(kiln_trace *t, void *user, const kiln_val *guess, kiln_val *out)
{
    const kiln_val init[] = {guess[0], kiln_int(t, KILN_I32, 0)};
    kiln_while(t, goes_on, newton, user, init, 2, out);
}

/* (M, e) -> E, steps */
static kiln_status anomaly(kiln_ctx *ctx, kiln_prog **out)
{
    kiln_trace *t;
    kiln_status status = kiln_trace_begin(ctx, &t);
    if (status != KILN_OK) return status;
    orbit o = {kiln_input(t, "M", KILN_SCALAR(KILN_F64)), {0}};
    o.e = kiln_input(t, "e", KILN_SCALAR(KILN_F64));
    const kiln_root root = {.f = kepler, .f_user = &o, .solve = solve, .solve_user = &o, .n_aux = 1};
    kiln_val x[2];
    kiln_custom_root(t, &root, &o.m, 1, x); /* M is a good first guess */
    kiln_output(t, "E", x[0]);
    kiln_output(t, "steps", x[1]);
    return kiln_trace_finish(t, out);
}

static kiln_status show(kiln_ctx *ctx)
{
    kiln_prog *f, *g = NULL;
    kiln_exec *exec = NULL;
    kiln_array *in[2] = {NULL}, *y[4] = {NULL};
    kiln_status status = anomaly(ctx, &f);
    if (status != KILN_OK) return status;
    status = kiln_prog_transform(ctx, f, "vmap:0*4,None(value_and_grad:0,1)", NULL, 0, &g);
    if (status == KILN_OK) status = kiln_compile(ctx, g, NULL, &exec);
    if (status == KILN_OK) status = kiln_array_parse(ctx, "f64[4]:0.1,1,2,3", &in[0]);
    if (status == KILN_OK) status = kiln_array_parse(ctx, "f64[]:0.6", &in[1]);
    if (status == KILN_OK) status = kiln_exec_call(ctx, exec, in, y);
    for (int i = 0; i < 4 && status == KILN_OK; i++) {
        double e = 0.6, E = ((double *)kiln_array_data(y[0]))[i], dm = ((double *)kiln_array_data(y[2]))[i], de = ((double *)kiln_array_data(y[3]))[i];
        double off = fabs(dm - 1 / (1 - e * cos(E))) + fabs(de - sin(E) / (1 - e * cos(E)));
        printf("E %.10f after %d steps, dE/dM %.8f, dE/de %.8f%s\n", E, ((int *)kiln_array_data(y[1]))[i], dm, de, off < 1e-12 ? "" : ": wrong");
    }
    for (int i = 0; i < 4; i++) kiln_array_release(y[i]);
    for (int i = 0; i < 2; i++) kiln_array_release(in[i]);
    kiln_exec_release(exec);
    kiln_prog_release(g);
    kiln_prog_release(f);
    return status;
}

int main(void)
{
    kiln_ctx *ctx;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return 1;
    kiln_status status = show(ctx);
    if (status != KILN_OK) fprintf(stderr, "%s\n", kiln_ctx_error(ctx)->message);
    kiln_ctx_release(ctx);
    return status != KILN_OK;
}
