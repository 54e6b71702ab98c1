/* SPDX-License-Identifier: Apache-2.0 */
/* (e^r - 1 - r - r^2/2) / r^3 of |r| <= log 2 / 2 */
MATHS_PART(F, exp_series, F r)
{
    F q9 = FMA(K(0x1.1f86f0eac20bdp-29), r, K(0x1.af4ecf637f97fp-26));
    F q8 = FMA(q9, r, K(0x1.27e4cfaef8922p-22));
    F q7 = FMA(q8, r, K(0x1.71de01aabc16ep-19));
    F q6 = FMA(q7, r, K(0x1.a01a01ab9886ap-16));
    F q5 = FMA(q6, r, K(0x1.a01a01ac1e942p-13));
    F q4 = FMA(q5, r, K(0x1.6c16c16c156a5p-10));
    F q3 = FMA(q4, r, K(0x1.111111111005p-7));
    F q2 = FMA(q3, r, K(0x1.5555555555557p-5));
    return FMA(q2, r, K(0x1.5555555555557p-3));
}
