/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a report, the same in every locale. */
#ifndef KN_GRAPH_PROFILE_NUMBER_H
#define KN_GRAPH_PROFILE_NUMBER_H

typedef struct kn_number {
    char s[40];
} kn_number;

const char *kn_fixed(double v, int decimals, kn_number *out); /* rounds half away from zero */
/* ms with at least two decimals, and so many more that a time of nanoseconds still has digits. */
const char *kn_ms(double ms, kn_number *out);
const char *kn_thousands(long long v, kn_number *out); /* 1,234 */

#endif
