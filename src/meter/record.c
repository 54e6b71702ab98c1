/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/record.h"

#include "base/text.h"

#include <stdlib.h>

static json_t *list_of(const double *v, size_t n, double per)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_real(v[i] / per));
    return list;
}

json_t *kn_record_side(const char *name, const kn_samples *s, uint32_t i, bool processor, double per)
{
    kn_spread r = kn_spread_of(processor ? s->processor[i] : s->wall[i], s->n);
    return json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "name", name, "calls_per_sample", (json_int_t)s->calls[i], "median_s",
                     r.median / per, "mad_s", r.mad / per, "min_s", r.min / per, "mean_s", r.mean / per, "sd_s", r.sd / per, "wall_s",
                     list_of(s->wall[i], s->n, per), "processor_s", list_of(s->processor[i], s->n, per));
}

char *kn_record_text(const char *suite, const json_t *machine, const json_t *rows)
{
    kn_text t;
    kn_text_init(&t, NULL);
    char *facts = json_dumps(machine, JSON_INDENT(1));
    if (!facts) t.failed = true;
    else kn_text_printf(&t, "{\"format\": \"kiln-bench/1\", \"suite\": \"%s\", \"machine\": %s,\n\"rows\": [\n", suite, facts);
    free(facts);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        char *row = json_dumps(json_array_get(rows, i), JSON_COMPACT | JSON_REAL_PRECISION(6));
        if (!row) t.failed = true;
        else kn_text_printf(&t, "%s%s\n", row, i + 1 < json_array_size(rows) ? "," : "");
        free(row);
    }
    kn_text_add(&t, "]}\n");
    char *out = t.failed ? NULL : strdup(t.s);
    kn_text_fini(&t);
    return out;
}
