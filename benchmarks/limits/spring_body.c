/* SPDX-License-Identifier: Apache-2.0 */
/* Two dependency chains a step bound the time, and the processor overlaps them: spring and height of the body
 * (with a division by the body's mass), and the orientation (square root and division of the normalisation). The orientation is one
 * vector of four; everything stays in registers. */
#include "limits.h"

#include <immintrin.h>

const limit_spring_body_params limit_spring_body_case = {
    .dt = 2e-3f,
    .stiffness = 30,
    .damping = 0.5f,
    .mass = 0.2f,
    .rest_length = 0,
    .body_mass = 3,
    .gravity = {0, 0, -0.2f},
    .pull = -20,
};

void limit_spring_body_start(limit_spring_body *s)
{
    *s = (limit_spring_body){
        .spring_position = 1, .position = {0, 0, 1.2f}, .velocity = {0.1f, 0, 0}, .q = {1, 0, 0, 0}};
}

#define PICK(v, a, b, c, d) _mm_permute_ps((v), _MM_SHUFFLE((d), (c), (b), (a)))

/* The rates of the four components have the form a + (b - c):
 *   w: -(wz q3 + (wx q1 - -wy q2))    x: wx q0 + (wy q3 - wz q2)    y: wy q0 + (wz q1 - wx q3)    z: wz q0 + (wx q2 - wy q1)
 * and the minus of the first goes into `half`; signs move through products and quotients exactly. */
typedef struct turning {
    __m128 a, b, c, half;
} turning;

static turning turning_of(const float *w, float half)
{
    return (turning){_mm_setr_ps(w[2], w[0], w[1], w[2]), _mm_setr_ps(w[0], w[1], w[2], w[0]),
                     _mm_setr_ps(-w[1], w[2], w[0], w[1]), _mm_setr_ps(-half, half, half, half)};
}

static inline __m128 turn(const turning *t, __m128 q)
{
    __m128 a = _mm_mul_ps(t->a, PICK(q, 3, 0, 0, 0)), b = _mm_mul_ps(t->b, PICK(q, 1, 3, 1, 2)),
           c = _mm_mul_ps(t->c, PICK(q, 2, 2, 3, 1));
    q = _mm_add_ps(q, _mm_mul_ps(t->half, _mm_add_ps(a, _mm_sub_ps(b, c))));
    __m128 s = _mm_mul_ps(q, q), sum = _mm_add_ss(PICK(s, 1, 1, 1, 1), PICK(s, 2, 2, 2, 2));
    sum = _mm_add_ss(s, _mm_add_ss(sum, PICK(s, 3, 3, 3, 3)));
    __m128 length = _mm_sqrt_ss(sum);
    return _mm_div_ps(q, PICK(length, 0, 0, 0, 0));
}

void limit_spring_body_run(limit_spring_body *s, const limit_spring_body_params *p, uint64_t steps)
{
    const float dt = p->dt, k = p->stiffness, rest = p->rest_length, spring_mass = p->mass, damping = p->damping;
    const float mass = p->body_mass, pull = p->pull, gz = p->gravity[2];
    const float ax_dt = (0.0f / mass + p->gravity[0]) * dt, ay_dt = (0.0f / mass + p->gravity[1]) * dt;
    const turning t = turning_of(s->spin, 0.5f * dt);
    float x = s->spring_position, v = s->spring_velocity;
    float px = s->position[0], py = s->position[1], pz = s->position[2];
    float vx = s->velocity[0], vy = s->velocity[1], vz = s->velocity[2];
    __m128 q = _mm_loadu_ps(s->q);
    for (uint64_t i = 0; i < steps; i++) {
        float force = -k * ((x - pz) - rest) - damping * v; /* the height is that at the start of the step */
        v = (float)((double)v + (double)(force / spring_mass) * (double)dt);
        x = x + v * dt;
        vx = vx + ax_dt;
        vy = vy + ay_dt;
        vz = vz + ((pull * x) / mass + gz) * dt;
        px = px + vx * dt;
        py = py + vy * dt;
        pz = pz + vz * dt;
        q = turn(&t, q);
    }
    *s = (limit_spring_body){x, v, {px, py, pz}, {vx, vy, vz}, {s->spin[0], s->spin[1], s->spin[2]}, {0}};
    _mm_storeu_ps(s->q, q);
}
