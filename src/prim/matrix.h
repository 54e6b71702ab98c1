/* SPDX-License-Identifier: Apache-2.0 */
/* For rules of factorisations and solves: matrices are the last two dimensions of arrays, those in front are their batch. */
#ifndef KN_PRIM_MATRIX_H
#define KN_PRIM_MATRIX_H

#include "prim/common.h"
#include "prim/lowering.h"

typedef struct kn_matrices {
    uint32_t batch; /* leading dimensions */
    int64_t m, n, k; /* rows, columns, the smaller of them */
} kn_matrices;
kn_matrices kn_matrices_of(kiln_type t);

/* ---- type rules ---- */

kiln_status kn_typing_matrices(const kn_typing *t, kn_matrices *z); /* operand 0: f32, f64, c64, c128 */
/* Result k: the batch of operand 0, then `own` dimensions, a and b. */
kiln_status kn_typing_batched(kn_typing *t, uint32_t k, kiln_dtype d, uint32_t own, int64_t a, int64_t b);
kiln_status kn_typing_only_none(const kn_typing *t, const char *name); /* the parameter must be None */

/* ---- LAPACK under a lowering ---- */

kiln_status kn_mat_lapack(kn_low *l, const char *name, const char *options, const kn_atom *in, uint32_t nin, kn_atom *out, uint32_t nout);
/* NaN in the matrices (vectors) whose status fails `test` against 0. */
kn_atom kn_mat_checked(kn_low *l, kn_atom x, kn_atom info, const kn_prim *test);

/* ---- parts and products ---- */

kn_atom kn_mat_corner(kn_low *l, kn_atom x, int64_t rows, int64_t columns); /* the first of both */
kn_atom kn_mat_room(kn_low *l, kn_atom x, int64_t rows, int64_t columns);   /* zeros behind, to these sizes */
/* Zeros, except where row `test` column (kn_prim_gt: below the diagonal, kn_prim_eq: on it). */
kn_atom kn_mat_keep(kn_low *l, kn_atom x, const kn_prim *test);
kn_atom kn_mat_turn(kn_low *l, kn_atom x);    /* the transpose */
kn_atom kn_mat_adjoint(kn_low *l, kn_atom x); /* its conjugate */
kn_atom kn_mat_mul(kn_low *l, kn_atom a, kn_atom b);
kn_atom kn_mat_diagonal(kn_low *l, kn_atom x); /* [.., n, n] -> [.., n] */
kn_atom kn_mat_real(kn_low *l, kn_atom x);     /* of real numbers themselves */
/* A vector [.., n] as one row or one column of matrices: factors of their columns, of their rows. */
kn_atom kn_mat_row(kn_low *l, kn_atom v);
kn_atom kn_mat_column(kn_low *l, kn_atom v);
/* What is said by the lower (upper) triangles of Hermitian matrices: the triangle with the real half of its diagonal; that and its
 * adjoint. */
kn_atom kn_mat_half(kn_low *l, kn_atom x, bool lower);
kn_atom kn_mat_hermitian(kn_low *l, kn_atom x, bool lower);
enum { KN_SOLVE_CONJUGATE = 1, KN_SOLVE_LEFT = 2, KN_SOLVE_LOWER = 4, KN_SOLVE_TRANSPOSE = 8, KN_SOLVE_UNIT = 16 };
kn_atom kn_mat_solve(kn_low *l, kn_atom a, kn_atom b, unsigned how); /* triangular_solve */

#endif
