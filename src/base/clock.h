/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks that only go forward: the system's, and the processor's counter. */
#ifndef KN_BASE_CLOCK_H
#define KN_BASE_CLOCK_H

#include <stdint.h>

int64_t kn_clock_ns(void); /* CLOCK_MONOTONIC */
/* The shortest time between two readings of kn_clock_ns that differ: what one reading costs, or the clock's step. Takes some
 * microseconds. */
int64_t kn_clock_step_ns(void);
uint64_t kn_clock_ticks(void); /* the counter that instrumented code reads */

#endif
