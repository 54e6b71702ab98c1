/* SPDX-License-Identifier: Apache-2.0 */
/* A damped spring over time. The whole simulation is one native loop; stiffness and the number of steps are inputs, so that
 * other values call the same code. The program is called through its raw entry: pointers in, pointers out. */
#include <kiln/kiln.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEP, POSITION, VELOCITY, N_CARRY };

typedef struct inputs {
    kiln_val stiffness, steps;
} inputs;

static kiln_val not_done(kiln_trace *t, void *user, const kiln_val *carry)
{
    const inputs *in = user;
    return kiln_lt(t, carry[STEP], in->steps);
}

/* unit mass, damping 0.5 N s/m, steps of 1 ms, semi-implicit Euler */
static void step(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    const inputs *in = user;
    kiln_val dt = kiln_num(t, 1e-3);
    kiln_val pull = kiln_mul(t, in->stiffness, carry[POSITION]);
    kiln_val drag = kiln_mul(t, kiln_num(t, 0.5), carry[VELOCITY]);
    kiln_val force = kiln_neg(t, kiln_add(t, pull, drag));
    next[VELOCITY] = kiln_add(t, carry[VELOCITY], kiln_mul(t, force, dt));
    next[POSITION] = kiln_add(t, carry[POSITION], kiln_mul(t, next[VELOCITY], dt));
    next[STEP] = kiln_add(t, carry[STEP], kiln_num(t, 1));
}

static kiln_status trace(kiln_ctx *ctx, kiln_prog **program)
{
    kiln_trace *t;
    kiln_status status = kiln_trace_begin(ctx, &t);
    if (status != KILN_OK) return status;
    inputs in;
    in.stiffness = kiln_input(t, "stiffness", KILN_SCALAR(KILN_F64));
    in.steps = kiln_input(t, "steps", KILN_SCALAR(KILN_I64));
    kiln_val start[N_CARRY] = {[STEP] = kiln_int(t, KILN_I64, 0),
                               [POSITION] = kiln_scalar(t, KILN_F64, 1.0),
                               [VELOCITY] = kiln_scalar(t, KILN_F64, 0.0)};
    kiln_val end[N_CARRY];
    kiln_while(t, not_done, step, &in, start, N_CARRY, end);
    kiln_output(t, "position", end[POSITION]);
    kiln_output(t, "velocity", end[VELOCITY]);
    return kiln_trace_finish(t, program);
}

static int simulate(const kiln_exec *f)
{
    size_t bytes = (kiln_exec_scratch_bytes(f) + 63) / 64 * 64;
    void *scratch = bytes ? aligned_alloc(64, bytes) : NULL;
    if (bytes && !scratch) return 1;
    int status = 0;
    for (double stiffness = 10; stiffness <= 1000 && status == 0; stiffness *= 10) {
        int64_t steps = 2000;
        double position, velocity;
        void *buffers[] = {&stiffness, &steps, &position, &velocity};
        status = kiln_exec_run(f, buffers, scratch, NULL);
        printf("stiffness %4g N/m: after %g s at %.12g m, %.12g m/s\n", stiffness, 1e-3 * (double)steps, position, velocity);
    }
    free(scratch);
    return status;
}

int main(void)
{
    kiln_ctx *ctx = NULL;
    kiln_prog *program = NULL;
    kiln_exec *f = NULL;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return 1;
    kiln_status status = trace(ctx, &program);
    if (status == KILN_OK) status = kiln_compile(ctx, program, NULL, &f);
    int failed = status != KILN_OK;
    if (failed) {
        char text[1024];
        kiln_diag_format(kiln_ctx_error(ctx), text, sizeof text);
        fprintf(stderr, "%s\n", text);
    } else {
        failed = simulate(f);
    }
    kiln_exec_release(f);
    kiln_prog_release(program);
    kiln_ctx_release(ctx);
    return failed;
}
