/* SPDX-License-Identifier: Apache-2.0 */
/* Two records of measurements (meter/record.h): what moved, what is noise, what changed besides. */
#ifndef KN_METER_COMPARE_H
#define KN_METER_COMPARE_H

#include <jansson.h>
#include <stdbool.h>

/* Is it a record, with what the comparison reads? Otherwise *why says what is missing. */
bool kn_record_is(const json_t *record, const char **why);

/* {"rows": [{"case", "row", "a_s", "b_s", "change", "error", "beside", "verdict"}], "changed": [{"what", "a", "b"}], "values": [{"row", "what",
 *   "a", "b"}], "only_a": [name], "only_b": [name], "faster": n, "slower": n, "same": n}
 * change: ln(b / a), with its standard error from the medians' (1.2533 sigma / sqrt(n), sigma = 1.4826 mad). Where both records time the same
 * thing beside the row, "beside" names it, and change is that of the ratio: the machine's drift between the runs is in both. verdict:
 * "faster", "slower" when the change is over two errors and over `least`, else "noise". values: largest differences that moved. NULL: no
 * memory. */
json_t *kn_compare_records(const json_t *a, const json_t *b, double least);

#endif
