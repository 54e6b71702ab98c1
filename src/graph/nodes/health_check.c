/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/model.h"

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
};
