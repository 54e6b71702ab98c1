/* SPDX-License-Identifier: Apache-2.0 */
/* Interpreting programs whose loops may have no end, as smaller programs and single lanes may: stopped after some seconds. */
#ifndef KN_TESTS_TIMED_H
#define KN_TESTS_TIMED_H

#include "testing.h"

#include <signal.h>

#include "eval/eval.h"

static bool too_long; /* read by the interpreter once a trip, through a pointer */

static void alarmed(int signal)
{
    (void)signal;
    too_long = true;
}

/* From now on, until limit_end. */
static void limit_begin(unsigned seconds)
{
    struct sigaction a = {.sa_handler = alarmed};
    sigaction(SIGALRM, &a, NULL);
    too_long = false;
    alarm(seconds);
}
static void limit_end(void) { alarm(0); }

/* KILN_CANCELLED where it takes longer. */
static kiln_status evaluate(kiln_ctx *ctx, unsigned seconds, const kiln_prog *p, kiln_array *const *in, kiln_array **out)
{
    limit_begin(seconds);
    kiln_status s = kn_prog_eval(ctx, p, in, out, &too_long);
    limit_end();
    return s;
}

#endif
