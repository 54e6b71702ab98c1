/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/text.h"
#include "graph/node.h"

#include <jansson.h>

/* The default as a file would give it, or what is there instead. */
static void add_default(kn_text *t, const kn_param_desc *p)
{
    bool list = p->kind == KN_PARAM_VECTOR || p->kind == KN_PARAM_INTS;
    if (p->has == KN_DEFAULT_REQUIRED) {
        kn_text_add(t, "required");
    } else if (p->has == KN_DEFAULT_NONE) {
        kn_text_add(t, "none");
    } else if (p->kind == KN_PARAM_TEXT) {
        kn_text_add(t, p->text);
    } else if (p->kind == KN_PARAM_LOCKS || p->kind == KN_PARAM_CHECKS) {
        kn_text_add(t, "{}");
    } else if (list) {
        for (int i = 0; i < p->length; i++) kn_text_printf(t, "%s%.9g", i ? ", " : "[", p->vector[i]);
        kn_text_add(t, "]");
    } else {
        kn_text_printf(t, "%.9g", p->number);
    }
}

static const char *limit_of(const kn_param_desc *p)
{
    static const char *const texts[] = {[KN_ANY] = NULL,
                                        [KN_POSITIVE] = "> 0",
                                        [KN_NOT_NEGATIVE] = ">= 0",
                                        [KN_AT_LEAST_ONE] = ">= 1",
                                        [KN_ABOVE_HALF] = "> 0.5"};
    return texts[p->constraint];
}

static void print_params(const kn_node_type *t)
{
    if (t->n_params) printf("\nparameters:\n");
    for (int i = 0; i < t->n_params; i++) {
        const kn_param_desc *p = &t->params[i];
        kn_text d;
        kn_text_init(&d, NULL);
        add_default(&d, p);
        printf("  %-24s %-16s %-8s", p->name, d.s ? d.s : "", p->unit);
        kn_text_fini(&d);
        const char *before = " ";
        if (limit_of(p)) printf("%s%s", before, limit_of(p)), before = "; ";
        for (int k = 0; p->choices && p->choices[k]; k++) printf("%s%s", k ? " | " : before, p->choices[k]);
        if (p->choices) before = "; ";
        printf("%s%s\n", p->doc[0] ? before : "", p->doc);
    }
}

/* Broken at blanks to at most 100 columns. */
static void print_paragraph(const char *s)
{
    enum { WIDTH = 100 };
    while (strlen(s) > WIDTH) {
        size_t n = WIDTH;
        while (n > 0 && s[n] != ' ') n--;
        if (n == 0) break;
        printf("%.*s\n", (int)n, s);
        s += n + 1;
    }
    printf("%s\n", s);
}

static void print_one(const kn_node_type *t)
{
    static const char *const types[] = {
        [KN_FLOAT] = "float", [KN_INT32] = "int32", [KN_BOOL] = "bool", [KN_UINT8] = "uint8"};
    printf("%s, in files also: %s\n\n", t->name, t->short_name);
    print_paragraph(t->doc);
    if (t->refused) printf("%s\n", t->refused);
    print_params(t);
    if (t->n_state) printf("\nstate:\n");
    for (int i = 0; i < t->n_state; i++) {
        const kn_field_desc *f = &t->state[i];
        char shape[32];
        snprintf(shape, sizeof shape, "(%s)", f->shape);
        printf("  %-24s %-12s %-6s %-8s%s%s\n", f->name, shape, types[f->type], f->unit, f->doc[0] ? " " : "",
               f->doc);
    }
    if (t->n_inputs) printf("\ninputs, and what holds without them:\n");
    for (int i = 0; i < t->n_inputs; i++) {
        const kn_input_desc *in = &t->inputs[i];
        char shape[32];
        snprintf(shape, sizeof shape, "(%s)", in->shape);
        printf("  %-24s %-12s %-8s %s\n", in->name, shape, in->unit, in->without);
    }
    if (t->inputs_from_checks) printf("\ninputs: the names in `checks`, of any shape\n");
    if (t->n_fluxes) printf("\nfluxes:\n");
    for (int i = 0; i < t->n_fluxes; i++)
        printf("  %-24s %-12s %s\n", t->fluxes[i].name, t->fluxes[i].unit, t->fluxes[i].doc);
}

static json_t *params_json(const kn_node_type *t)
{
    json_t *list = json_array();
    for (int i = 0; i < t->n_params; i++) {
        kn_text d;
        kn_text_init(&d, NULL);
        add_default(&d, &t->params[i]);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "name", t->params[i].name, "default",
                                              d.s ? d.s : "", "unit", t->params[i].unit, "doc", t->params[i].doc));
        kn_text_fini(&d);
    }
    return list;
}

static int write_json(cli *c, const char *path)
{
    size_t n;
    const kn_node_type *const *all = kn_node_types(&n);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const kn_node_type *t = all[i];
        json_t *state = json_array(), *inputs = json_array(), *fluxes = json_array();
        for (int k = 0; k < t->n_state; k++)
            json_array_append_new(state, json_pack("{s:s, s:s, s:s}", "name", t->state[k].name, "shape",
                                                   t->state[k].shape, "unit", t->state[k].unit));
        for (int k = 0; k < t->n_inputs; k++)
            json_array_append_new(inputs, json_pack("{s:s, s:s, s:s, s:s}", "name", t->inputs[k].name, "shape",
                                                    t->inputs[k].shape, "unit", t->inputs[k].unit, "without",
                                                    t->inputs[k].without));
        for (int k = 0; k < t->n_fluxes; k++)
            json_array_append_new(fluxes,
                                  json_pack("{s:s, s:s}", "name", t->fluxes[k].name, "unit", t->fluxes[k].unit));
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "type", t->name, "short",
                                              t->short_name, "doc", t->doc, "params", params_json(t), "state", state,
                                              "inputs", inputs, "fluxes", fluxes));
    }
    int code = cli_write_json(c, path, list);
    json_decref(list);
    return code;
}

static int run(cli *c)
{
    size_t n;
    const kn_node_type *const *all = kn_node_types(&n);
    if (cli_has(c, "json")) return write_json(c, cli_text(c, "json", "-"));
    if (c->n_operands == 1) {
        const kn_node_type *t = kn_node_type_find(c->operands[0]);
        if (t) return print_one(t), CLI_DONE;
        const char *names[64];
        size_t count = 0;
        for (size_t i = 0; i < n && count + 2 <= 64; i++)
            names[count++] = all[i]->short_name, names[count++] = all[i]->name;
        const char *near = kn_nearest(c->operands[0], names, count);
        return cli_bad(c, "unknown-node-type", "no node type '%s'%s%s%s", c->operands[0],
                       near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    }
    for (size_t i = 0; i < n; i++) {
        printf("%-16s %-14s", all[i]->name, all[i]->short_name);
        for (int k = 0; k < all[i]->n_state; k++) printf("%s%s", k ? ", " : " ", all[i]->state[k].name);
        printf("%s\n", all[i]->refused ? " (not in this version)" : "");
    }
    printf("\n`kiln nodes NAME` shows parameters with units and defaults, state, inputs and fluxes\n");
    return CLI_DONE;
}

static const cli_option options[] = {
    {"json", 0, CLI_TEXT, "FILE", "writes the table as JSON", 0, 0},
};

const cli_command cli_nodes = {
    .name = "nodes",
    .operands = "[NAME]",
    .summary = "lists the node types of graph files, or explains one: units, defaults, inputs",
    CLI_OPTIONS(options),
    .most = 1,
    .run = run,
};
