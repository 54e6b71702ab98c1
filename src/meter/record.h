/* SPDX-License-Identifier: Apache-2.0 */
/* Records of measurements: {"format": "kiln-bench/1", "suite", "machine": facts, "rows": [..]}. A row has the names "case" and "row", "a"
 * and, where something stands beside it, "b" (each with name, calls_per_sample, median_s, mad_s, min_s, mean_s, sd_s and all samples), "ratio"
 * (b over a) and what its suite adds; or "skipped", why. */
#ifndef KN_METER_RECORD_H
#define KN_METER_RECORD_H

#include "meter/samples.h"

#include <jansson.h>

/* Processor, caches, kernel, load, the library's version and LLVM's. What cannot be read is left out. */
json_t *kn_machine_facts(int threads);
/* Side i of the samples; per: how many units a call holds. NULL: no memory. */
json_t *kn_record_side(const char *name, const kn_samples *s, uint32_t i, bool processor, double per);
/* The whole record as text with a line a row; to be freed. NULL: no memory. */
char *kn_record_text(const char *suite, const json_t *machine, const json_t *rows);

#endif
