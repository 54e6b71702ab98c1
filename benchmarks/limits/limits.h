/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-written C that computes what a benchmark's program computes, to the same rounding, as fast as we can make it: the time that
 * generated code is compared with. Compiled with -O3 -march=native and without contraction. Sizes are fixed at compile time, as
 * somebody who writes one simulation by hand would do; parameters, steps and initial states are run-time arguments. */
#ifndef BENCH_LIMITS_H
#define BENCH_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* ---- a heavy body hangs on a spring: graphs/spring-body.yaml ---- */

typedef struct limit_spring_body {
    float spring_position, spring_velocity;        /* m, m/s */
    float position[3], velocity[3], spin[3], q[4]; /* of the body; q: w, x, y, z */
} limit_spring_body;

typedef struct limit_spring_body_params {
    float dt;                                    /* s */
    float stiffness, damping, mass, rest_length; /* of the spring */
    float body_mass, gravity[3];
    float pull; /* force on the body along z over the spring's position, N/m */
} limit_spring_body_params;

extern const limit_spring_body_params limit_spring_body_case;
void limit_spring_body_start(limit_spring_body *s);
void limit_spring_body_run(limit_spring_body *s, const limit_spring_body_params *p, uint64_t steps);

/* ---- two rods of 64 cells, iterated each step: graphs/rods-64-aitken.yaml ---- */

enum { LIMIT_CELLS = 64 };

typedef struct limit_rods {
    float hot[LIMIT_CELLS], cold[LIMIT_CELLS]; /* K */
    int32_t iterations;                        /* of the last step */
    int64_t total_iterations;
    double residual, estimate;
    bool converged;
} limit_rods;

typedef struct limit_rods_params {
    float dt, alpha, length; /* s, m^2/s, m */
    int32_t max_iterations;
    double tolerance;
} limit_rods_params;

extern const limit_rods_params limit_rods_case;
void limit_rods_start(limit_rods *s);
/* Every pass of the iteration evaluates both rods whole, as the graph says. */
void limit_rods_run(limit_rods *s, const limit_rods_params *p, uint64_t steps);
/* Uses what a compiler cannot know without following single cells: the passes of a step differ in two cells alone. Same bits as long as
 * all temperatures are finite. */
void limit_rods_run_ends(limit_rods *s, const limit_rods_params *p, uint64_t steps);

/* ---- sin(x) * exp(-x) ---- */

/* The same functions on the widest vectors that the processor has. Any alignment; x and y must not overlap. */
void limit_sin_exp(const float *x, float *y, int64_t n);

/* ---- the identity of a scalar, with the shape of a generated entry ---- */

int limit_identity(void *const *buffers, void *scratch, const void *table, void *call);

#endif
