/* SPDX-License-Identifier: Apache-2.0 */
/* Self-checking modules: functions that compare values with what they should be. */
#ifndef KN_HLO_CHECK_H
#define KN_HLO_CHECK_H

#include "hlo/hlo.h"

typedef struct kn_check_options {
    bool interpret, compiled; /* which sides run */
    /* Runs a program compiled; results are new arrays. Layers above give it. */
    kiln_status (*run_compiled)(kiln_ctx *ctx, const kiln_prog *p, kiln_array **out);
    void (*failure)(void *ud, const char *line); /* receives a line for each failure, without its end */
    void *ud;
} kn_check_options;

typedef struct kn_check_result {
    uint32_t functions, checks, failures;
} kn_check_result;

/* Does a module compare anything? Only then kn_hlo_check runs it. */
kiln_status kn_hlo_has_checks(kiln_ctx *ctx, const kn_packed *text, const char *file, bool *yes);
/* Runs every function without arguments that holds checks. A failure is no error; text that cannot be read or run is. */
kiln_status kn_hlo_check(kiln_ctx *ctx, const kn_packed *text, const char *file, const kn_check_options *o, kn_check_result *r);

#endif
