/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a program that JAX wrote, says what it takes and gives, binds arrays by name and calls it: first interpreted, then compiled.
 * Any text form does: StableHLO, HLO, a jaxpr.
 *
 *     load_program FILE        e.g. examples/programs/oscillator.mlir */
#include <kiln/kiln.h>
#include <stdio.h>

enum { MOST = 16 };

static void show_signature(const kiln_prog *p)
{
    char type[64];
    for (uint32_t i = 0; i < kiln_prog_n_inputs(p); i++) {
        kiln_type_format(kiln_prog_input_type(p, i), type, sizeof type);
        printf("takes %s %s\n", type, kiln_prog_input_name(p, i));
    }
    for (uint32_t i = 0; i < kiln_prog_n_outputs(p); i++) {
        kiln_type_format(kiln_prog_output_type(p, i), type, sizeof type);
        printf("gives %s %s\n", type, kiln_prog_output_name(p, i));
    }
}

/* The array of this text, for the input of this name. */
static kiln_status bind(kiln_ctx *ctx, const kiln_prog *p, const char *name, const char *text, kiln_array **in)
{
    int64_t i = kiln_prog_find_input(p, name);
    if (i < 0) {
        fprintf(stderr, "the program takes no %s\n", name);
        return KILN_NOTFOUND;
    }
    return kiln_array_parse(ctx, text, &in[i]);
}

static void show(const char *how, const kiln_prog *p, kiln_array *const *out)
{
    for (uint32_t i = 0; i < kiln_prog_n_outputs(p); i++) {
        char text[200];
        kiln_array_format(out[i], 8, text, sizeof text);
        printf("%s: %s %s\n", how, kiln_prog_output_name(p, i), text);
    }
}

static void release(kiln_array **a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        kiln_array_release(a[i]);
        a[i] = NULL;
    }
}

static kiln_status run(kiln_ctx *ctx, const kiln_prog *p, kiln_array **in, kiln_array **out)
{
    kiln_exec *f = NULL;
    kiln_status status = bind(ctx, p, "position", "f64[3]:1,0.5,-2", in);
    if (status == KILN_OK) status = bind(ctx, p, "velocity", "f64[3]:0", in);
    if (status == KILN_OK) status = bind(ctx, p, "steps", "i32[]:100", in);
    if (status == KILN_OK) status = kiln_prog_eval(ctx, p, in, out);
    if (status != KILN_OK) return status;
    show("interpreted", p, out);
    release(out, kiln_prog_n_outputs(p));
    status = kiln_compile(ctx, p, NULL, &f);
    if (status == KILN_OK) status = kiln_exec_call(ctx, f, in, out);
    if (status == KILN_OK) show("compiled", p, out);
    kiln_exec_release(f);
    return status;
}

int main(int argc, char **argv)
{
    kiln_ctx *ctx;
    kiln_prog *p = NULL;
    kiln_array *in[MOST] = {0}, *out[MOST] = {0};
    if (argc != 2) return fprintf(stderr, "load_program FILE\n"), 2;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return 1;
    kiln_status status = kiln_prog_load(ctx, argv[1], &p);
    if (status == KILN_OK) {
        show_signature(p);
        if (kiln_prog_n_inputs(p) <= MOST && kiln_prog_n_outputs(p) <= MOST) status = run(ctx, p, in, out);
    }
    if (status != KILN_OK) {
        char text[1024];
        kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
        fprintf(stderr, "%s\n", text);
    }
    release(in, MOST);
    release(out, MOST);
    kiln_prog_release(p);
    kiln_ctx_release(ctx);
    return status == KILN_OK ? 0 : 1;
}
