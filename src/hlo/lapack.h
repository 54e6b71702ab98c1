/* SPDX-License-Identifier: Apache-2.0 */
/* LAPACK's custom calls, shared by reader and printer: lapack_dpotrf_ffi and the like. */
#ifndef KN_HLO_LAPACK_H
#define KN_HLO_LAPACK_H

#include <stdint.h>

typedef struct kn_lapack_target {
    const char *name, *complex_name, *routine; /* without the letter of the element type */
    const char *options[3];                    /* names of the letters in the configuration, in the primitive's order */
    uint32_t alias, naliases;                  /* results 0.. may overwrite operands alias.. */
} kn_lapack_target;

const kn_lapack_target *kn_lapack_targets(uint32_t *n);
const kn_lapack_target *kn_lapack_find_target(const char *routine);

#endif
