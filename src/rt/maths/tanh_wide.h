/* SPDX-License-Identifier: Apache-2.0 */
/* tanh of f32, in f64: tanh x = y / (y + 2) with y = e^2x - 1. It is 1 from 9.02 on. The quotient by one step of Newton's from f32's. */
MATHS_PART(F, wide_tanh, F x)
{
    F below = LEAST(K(10), x);
    F inside = MOST(K(-10), below);
    F y = PART(wide_expm1, ADD(inside, inside));
    F d = ADD(y, K(2));
    F about = RECIPROCAL(d);
    F away = FMA(NEG(d), about, K(1));
    F inverse = FMA(about, away, about);
    return MUL(y, inverse);
}
