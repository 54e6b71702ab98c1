/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/node.h"

/* Sorted by class name. */
static const kn_node_type *const table[] = {
    &kn_node_ball, &kn_node_health_check, &kn_node_heart_pump,    &kn_node_heat,       &kn_node_hybrid, &kn_node_lbm,
    &kn_node_lbm_pipe, &kn_node_rigid_body_2d, &kn_node_rigid_body, &kn_node_spring, &kn_node_table,
};

const kn_node_type *const *kn_node_types(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}

const kn_node_type *kn_node_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i]->name, name) == 0 || strcmp(table[i]->short_name, name) == 0) return table[i];
    return NULL;
}

int kn_node_type_param(const kn_node_type *t, const char *name)
{
    for (int i = 0; i < t->n_params; i++)
        if (strcmp(t->params[i].name, name) == 0) return i;
    return -1;
}
