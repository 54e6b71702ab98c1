/* SPDX-License-Identifier: Apache-2.0 */
/* --rule and --transform of the commands that take programs. */
#include "cli/values.h"

#include <stdlib.h>

enum { MOST_RULES = 64, NAME_BYTES = 128 };

typedef struct rules {
    kiln_custom_rule v[MOST_RULES];
    char names[MOST_RULES][NAME_BYTES];
    kiln_prog *progs[3 * MOST_RULES];
    uint32_t n, nprogs;
} rules;

static kiln_custom_rule *rule_of(rules *r, const char *name, size_t n)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (strlen(r->names[i]) == n && memcmp(r->names[i], name, n) == 0) return &r->v[i];
    if (r->n == MOST_RULES || n >= NAME_BYTES) return NULL;
    memcpy(r->names[r->n], name, n);
    r->v[r->n].name = r->names[r->n];
    return &r->v[r->n++];
}

/* NAME:part=value */
static int read_rule(cli *c, rules *r, const char *text)
{
    static const char *const parts[] = {"jvp", "fwd", "bwd", "residuals"};
    const char *part = strchr(text, ':'), *value = part ? strchr(part, '=') : NULL;
    size_t n = value ? (size_t)(value - part - 1) : 0;
    unsigned k = 0;
    while (k < 4 && !(n == strlen(parts[k]) && memcmp(part + 1, parts[k], n) == 0)) k++;
    if (k == 4 || part == text || !value[1])
        return cli_bad(c, "usage", "--rule takes NAME:jvp=FILE, NAME:fwd=FILE, NAME:bwd=FILE or NAME:residuals=N, found '%s'", text);
    kiln_custom_rule *rule = rule_of(r, text, (size_t)(part - text));
    if (!rule || r->nprogs == 3 * MOST_RULES) return cli_bad(c, "usage", "--rule: more than %d rules, or a name too long, at '%s'", MOST_RULES, text);
    if (k == 3) {
        char *end;
        unsigned long v = strtoul(value + 1, &end, 10);
        if (*end || v > 1000000) return cli_bad(c, "usage", "--rule: residuals takes a number, found '%s'", value + 1);
        rule->residuals = (uint32_t)v;
        return CLI_DONE;
    }
    kiln_prog *p;
    int code = cli_program_read(c, value + 1, &p);
    if (code != CLI_DONE) return code;
    r->progs[r->nprogs++] = p;
    *(k == 0 ? &rule->jvp : k == 1 ? &rule->fwd : &rule->bwd) = p;
    return CLI_DONE;
}

static int with_rules(cli *c, rules *r, kiln_prog **p)
{
    uint32_t k = 0;
    int code = CLI_DONE;
    for (const char *rule; code == CLI_DONE && (rule = cli_each(c, "rule", &k));) code = read_rule(c, r, rule);
    if (code != CLI_DONE || r->n == 0) return code;
    kiln_prog *q;
    if (kiln_prog_with_rules(c->ctx, *p, r->v, r->n, &q) != KILN_OK) return cli_fail(c);
    kiln_prog_release(*p);
    *p = q;
    return CLI_DONE;
}

static int by_word(cli *c, const char *word, char **operands, int n, kiln_prog **p)
{
    kiln_array **v = NULL;
    kiln_type *types = NULL;
    kiln_prog *q;
    uint32_t count = 0;
    int code = n > 0 && strstr(word, "vmap") ? cli_values_load(c, operands, n, &v, &count) : CLI_DONE;
    if (code == CLI_DONE && count) code = (types = calloc(count, sizeof *types)) ? CLI_DONE : cli_broken(c, "out of memory");
    for (uint32_t i = 0; types && i < count; i++) types[i] = kiln_array_type(v[i]);
    if (code == CLI_DONE && kiln_prog_transform(c->ctx, *p, word, types, count, &q) != KILN_OK) code = cli_fail(c);
    else if (code == CLI_DONE) kiln_prog_release(*p), *p = q;
    cli_values_free(v, count);
    free(v);
    free(types);
    return code;
}

int cli_transform(cli *c, char **operands, int n, kiln_prog **p)
{
    rules *r = calloc(1, sizeof *r);
    int code = r ? with_rules(c, r, p) : cli_broken(c, "out of memory");
    for (uint32_t i = 0; r && i < r->nprogs; i++) kiln_prog_release(r->progs[i]);
    free(r);
    const char *word = cli_text(c, "transform", NULL);
    if (code == CLI_DONE && word) code = by_word(c, word, operands, n, p);
    if (code != CLI_DONE) {
        kiln_prog_release(*p);
        *p = NULL;
    }
    return code;
}
