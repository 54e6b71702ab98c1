/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/frame.h"

static const kn_param_desc params[] = {
    {.name = "checks", .kind = KN_PARAM_CHECKS,
     .unit = "", .doc = "input name -> {finite, min, max, max_abs}"},
};

static const kn_field_desc state[] = {
    {"all_passed", "", KN_BOOL, "", ""},
    {"n_checks", "", KN_INT32, "", ""},
    {"n_passed", "", KN_INT32, "", ""},
    {"n_failed", "", KN_INT32, "", ""},
    {"check_results", "checks", KN_BOOL, "", "in the order of the checks"},
};

static void init(const kn_node *n, int field, double *out, size_t count)
{
    double checks = (double)kn_node_param(n, "checks")->n;
    const double first[] = {1, checks, checks, 0, 1};
    for (size_t i = 0; i < count; i++) out[i] = first[field];
}

/* Does every element of v pass? `bounds` holds min, max, max_abs. Integers are compared in double. */
static kiln_val passes(kn_node_frame *f, const kn_check *c, kiln_val v, const kiln_val *bounds)
{
    kiln_trace *t = f->t;
    kiln_val ok = kiln_scalar(t, KILN_BOOL, 1);
    bool real = kiln_dtype_kind(kiln_val_type(t, v).dtype) == 'f';
    if (!real) v = kiln_convert(t, v, KILN_F64);
    kiln_dtype d = kiln_val_type(t, v).dtype;
    if (c->has_finite && c->finite && real) ok = kiln_and(t, ok, kiln_is_finite(t, v));
    if (c->has_min) ok = kiln_and(t, ok, kiln_ge(t, v, kiln_convert(t, bounds[0], d)));
    if (c->has_max) ok = kiln_and(t, ok, kiln_le(t, v, kiln_convert(t, bounds[1], d)));
    if (c->has_max_abs) ok = kiln_and(t, ok, kiln_le(t, kiln_abs(t, v), kiln_convert(t, bounds[2], d)));
    return kiln_reduce(t, "reduce_and", ok, NULL, UINT32_MAX);
}

static void update(kn_node_frame *f)
{
    kiln_trace *t = f->t;
    const kn_param *p = kn_node_param(f->node, "checks");
    if (p->n == 0) {
        for (int i = 0; i < f->node->type->n_state; i++) f->out[i] = f->state[i];
        return;
    }
    kiln_val all = kiln_scalar(t, KILN_BOOL, 1), passed = kiln_int(t, KILN_I32, 0), results = {0};
    kiln_val bounds = kn_frame_param(f, "checks"), n = kiln_int(t, KILN_I32, (int64_t)p->n);
    static const int64_t one = 1;
    for (size_t i = 0; i < p->n; i++) {
        kiln_val b[3], ok = kiln_scalar(t, KILN_BOOL, 1);
        if (f->in[i].id) {
            for (int k = 0; k < 3; k++) b[k] = kiln_item(t, bounds, (int64_t)(3 * i) + k);
            ok = passes(f, &p->checks[i], f->in[i], b);
        }
        all = kiln_and(t, all, ok);
        passed = kiln_add(t, passed, kiln_convert(t, ok, KILN_I32));
        kiln_val entry = kiln_reshape(t, ok, 1, &one);
        results = i ? kiln_concatenate(t, ((kiln_val[]){results, entry}), 2, 0) : entry;
    }
    kn_frame_out(f, "all_passed", all);
    kn_frame_out(f, "n_checks", n);
    kn_frame_out(f, "n_passed", passed);
    kn_frame_out(f, "n_failed", kiln_sub(t, n, passed));
    kn_frame_out(f, "check_results", results);
}

const kn_node_type kn_node_health_check = {
    .name = "HealthCheckNode",
    .short_name = "health_check",
    .doc = "Watches values: an input passes when it is finite, at least min, at most max and at most max_abs "
           "in magnitude, each where the check asks for it; a NaN fails min, max and max_abs. An input that "
           "nothing drives passes.",
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .state = state,
    .n_state = sizeof state / sizeof *state,
    .inputs_from_checks = true,
    .init = init,
    .update = update,
};
