/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/text.h"
#include "ir/prim.h"

#include <jansson.h>

/* Which rules a primitive has, as letters in this order. */
static const struct {
    char letter;
    const char *name;
} rules[] = {{'t', "type"}, {'e', "eval"}, {'l', "lower"}, {'n', "loop"}, {'j', "jvp"}, {'r', "transpose"}, {'b', "batch"}, {'s', "sample"}};
enum { N_RULES = sizeof rules / sizeof *rules };

static bool has_rule(const kn_prim *p, unsigned rule)
{
    const bool has[N_RULES] = {p->type != NULL, p->eval != NULL, p->lower != NULL, p->loop != KN_LOOP_NONE,
                               p->jvp != NULL,  p->transpose != NULL, p->batch != NULL, p->sample != NULL};
    return has[rule];
}

static void print_row(const kn_prim *p, int width)
{
    char letters[N_RULES + 1] = "";
    for (unsigned i = 0; i < N_RULES; i++) letters[i] = has_rule(p, i) ? rules[i].letter : '-';
    printf("%-*s %s ", width, p->name, letters);
    for (uint32_t i = 0; i < p->nparams; i++) printf(" %s", p->params[i].name);
    printf("\n");
}

static void print_flag(const kn_prim *p, uint32_t flag, const char *text)
{
    if (p->flags & flag) printf("  %s\n", text);
}

static void print_one(const kn_prim *p)
{
    printf("%s, revision %u\n\n%s\n\n", p->name, p->rev, p->doc ? p->doc : "");
    if (p->nin == KN_VARIADIC) printf("operands: any number\n");
    else printf("operands: %u\n", p->nin);
    if (p->nparams) printf("parameters:\n");
    for (uint32_t i = 0; i < p->nparams; i++) {
        const kn_param_spec *s = &p->params[i];
        static const char *const kinds[] = {[KN_P_NONE] = "any", [KN_P_BOOL] = "bool", [KN_P_INT] = "integer", [KN_P_FLOAT] = "number",
                                            [KN_P_TEXT] = "text", [KN_P_DTYPE] = "element type", [KN_P_INTS] = "integers", [KN_P_TUPLE] = "tuple",
                                            [KN_P_RECORD] = "record", [KN_P_JAXPR] = "program"};
        printf("  %s: %s%s%s\n", s->name, kinds[s->kind], s->flags & KN_PARAM_OPTIONAL ? ", optional" : "",
               s->flags & KN_PARAM_FROM_RESULT ? ", not printed (the result's type says it)" : "");
    }
    printf("rules:");
    for (unsigned i = 0; i < N_RULES; i++)
        if (has_rule(p, i)) printf(" %s", rules[i].name);
    printf("\n");
    print_flag(p, KN_ELEMENTWISE, "elementwise");
    print_flag(p, KN_COMMUTES, "its operands commute");
    print_flag(p, KN_EXPENSIVE, "expensive");
    print_flag(p, KN_MOVES, "moves elements without changing them");
    print_flag(p, KN_BY_PARTS, "of complex numbers: the same of each part");
    print_flag(p, KN_LEVEL_TRACED, "in traced programs only");
    print_flag(p, KN_LEVEL_LOWERED, "in lowered programs only");
}

static int write_json(cli *c, const char *path)
{
    uint32_t n;
    const kn_prim *const *all = kn_prims(&n);
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_t *params = json_array(), *has = json_array();
        for (uint32_t k = 0; k < all[i]->nparams; k++) json_array_append_new(params, json_string(all[i]->params[k].name));
        for (unsigned k = 0; k < N_RULES; k++)
            if (has_rule(all[i], k)) json_array_append_new(has, json_string(rules[k].name));
        json_array_append_new(list, json_pack("{s:s, s:i, s:o, s:o, s:s}", "name", all[i]->name, "revision", (int)all[i]->rev, "parameters",
                                              params, "rules", has, "doc", all[i]->doc ? all[i]->doc : ""));
    }
    int code = cli_write_json(c, path, list);
    json_decref(list);
    return code;
}

static void print_table(const kn_prim *const *all, uint32_t n)
{
    size_t width = 0;
    uint32_t counts[N_RULES] = {0};
    for (uint32_t i = 0; i < n; i++)
        if (strlen(all[i]->name) > width) width = strlen(all[i]->name);
    printf("%-*s %-*s  parameters\n", (int)width, "primitive", N_RULES, "rules");
    for (uint32_t i = 0; i < n; i++) {
        print_row(all[i], (int)width);
        for (unsigned k = 0; k < N_RULES; k++) counts[k] += has_rule(all[i], k);
    }
    printf("\n%u primitives; rules:", n);
    for (unsigned k = 0; k < N_RULES; k++) printf("%s %c %s (%u)", k ? "," : "", rules[k].letter, rules[k].name, counts[k]);
    printf("\nOne with a rule lower is evaluated and compiled as what it stands for; others have eval and loop.\n");
}

static int run(cli *c)
{
    uint32_t n;
    const kn_prim *const *all = kn_prims(&n);
    if (cli_has(c, "json")) return write_json(c, cli_text(c, "json", "-"));
    if (c->n_operands == 1) {
        const char *name = c->operands[0];
        const kn_prim *p = kn_prim_find(name, strlen(name));
        if (p) return print_one(p), CLI_DONE;
        const char *names[1024];
        for (uint32_t i = 0; i < n && i < 1024; i++) names[i] = all[i]->name;
        const char *near = kn_nearest(name, names, n < 1024 ? n : 1024);
        return cli_bad(c, "unknown-primitive", "no primitive %s%s%s%s", name, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
    print_table(all, n);
    return CLI_DONE;
}

static const cli_option options[] = {
    {"json", 0, CLI_TEXT, "FILE", "writes the table as JSON", 0, 0},
};

const cli_command cli_prims = {
    .name = "prims",
    .operands = "[NAME]",
    .summary = "lists the primitives and their rules, or explains one",
    CLI_OPTIONS(options),
    .most = 1,
    .run = run,
};
