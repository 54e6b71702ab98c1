/* SPDX-License-Identifier: Apache-2.0 */
/* What this processor can run. */
#ifndef KN_BASE_CPU_H
#define KN_BASE_CPU_H

const char *kn_cpu_target(void); /* the highest of "x86-64-v2", "x86-64-v3", "x86-64-v4" that this machine runs */

#endif
