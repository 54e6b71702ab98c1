/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the importer of an operation, and what is said about one that has none. */
#include "hlo/import.h"

static const struct {
    const kn_himporter *rows;
    const uint32_t *count;
} families[] = {
    {kn_himport_element, &kn_himport_n_element}, {kn_himport_shape, &kn_himport_n_shape},     {kn_himport_index, &kn_himport_n_index},
    {kn_himport_reduce, &kn_himport_n_reduce},   {kn_himport_control, &kn_himport_n_control}, {kn_himport_linalg, &kn_himport_n_linalg},
    {kn_himport_chlo, &kn_himport_n_chlo},       {kn_himport_other, &kn_himport_n_other},
};
enum { FAMILIES = sizeof families / sizeof *families };

static int compare(const char *a, kn_span b)
{
    size_t n = strlen(a), least = n < b.n ? n : b.n;
    int c = memcmp(a, b.s, least);
    return c ? c : (n > b.n) - (n < b.n);
}

const kn_himporter *kn_himporter_find(kn_span name)
{
    for (int f = 0; f < FAMILIES; f++) {
        const kn_himporter *rows = families[f].rows;
        for (size_t lo = 0, hi = *families[f].count; lo < hi;) {
            size_t mid = lo + (hi - lo) / 2;
            int c = compare(rows[mid].name, name);
            if (c == 0) return &rows[mid];
            if (c < 0) lo = mid + 1;
            else hi = mid;
        }
    }
    return NULL;
}

kiln_status kn_hunknown(kn_himport *h, const kn_mop *o)
{
    static const struct {
        const char *name, *reason, *remedy;
    } refused[] = {
        {"stablehlo.async_done", "asynchronous operations are not supported", "the operation itself"},
        {"stablehlo.async_start", "asynchronous operations are not supported", "the operation itself"},
        {"stablehlo.einsum", "einsum is not supported", "dot_general"},
        {"stablehlo.infeed", "input from a host queue is not supported", "arguments of @main"},
        {"stablehlo.outfeed", "output to a host queue is not supported", "results of @main"},
        {"stablehlo.recv", "messages between processes are not supported", "a module lowered for one device"},
        {"stablehlo.send", "messages between processes are not supported", "a module lowered for one device"},
        {"stablehlo.unary_einsum", "einsum is not supported", "reduce, transpose"},
        {"stablehlo.uniform_dequantize", "quantized types are not supported", "the same program in floating point"},
        {"stablehlo.uniform_quantize", "quantized types are not supported", "the same program in floating point"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (kn_span_is(o->name, refused[i].name)) return kn_hrefuse(h, o, refused[i].remedy, "%s", refused[i].reason);
    bool vhlo = o->name.n > 5 && memcmp(o->name.s, "vhlo.", 5) == 0, mhlo = o->name.n > 5 && memcmp(o->name.s, "mhlo.", 5) == 0;
    return kn_hrefuse(h, o, vhlo ? "StableHLO text: stablehlo-translate --deserialize" : mhlo ? "StableHLO: the dialect that lowerings export" : "stablehlo.*, chlo.*, func.*, check.*",
                      "the operation %.*s is not known", KN_SPAN_ARG(o->name));
}

kiln_status kn_hone_replica(const kn_mmodule *m)
{
    static const char *const names[] = {"mhlo.num_replicas", "mhlo.num_partitions"};
    if (m->attrs.kind != KN_MA_DICT) return KILN_OK;
    for (int i = 0; i < 2; i++) {
        const kn_mattr *a = kn_mattr_find(m->attrs.fields, m->attrs.n, names[i]);
        if (a && a->kind == KN_MA_INT && a->i > 1)
            return kn_source_fail(&m->src, a->at, KILN_UNSUPPORTED, "unsupported", "a module lowered for one device: jax.jit without shardings over several",
                                  "the module is made for %lld %s", (long long)a->i, i ? "partitions" : "replicas");
    }
    return KILN_OK;
}
