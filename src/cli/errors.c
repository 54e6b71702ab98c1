/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/text.h"
#include "graph/kinds.h"
#include "ir/kinds.h"

#include <jansson.h>

/* The report that reading the example gives: the error, or the first warning. */
typedef struct first_report {
    kiln_diag diag;
    bool found;
} first_report;

static void keep_first(void *ud, const kiln_diag *d)
{
    first_report *f = ud;
    if (!f->found) f->diag = *d;
    f->found = true;
}

static kiln_status read_example(const char *text, first_report *out)
{
    *out = (first_report){0};
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.warn = keep_first;
    o.warn_ud = out;
    kiln_ctx *ctx;
    KILN_TRY(kiln_ctx_create(&o, &ctx));
    kn_arena arena;
    kn_arena_init(&arena, &ctx->alloc);
    kn_graph_model *g;
    kiln_status s = kn_graph_read(ctx, &arena, "example.yaml", text, NULL, 0, &g);
    if (s != KILN_OK) out->diag = *kiln_ctx_error(ctx);
    kn_arena_fini(&arena);
    kiln_ctx_release(ctx);
    return KILN_OK;
}

static void print_example(const char *example, const kiln_diag *d)
{
    printf("\n");
    for (const char *s = example; *s;) {
        size_t n = strcspn(s, "\n");
        printf("    %.*s\n", (int)n, s);
        s += n + (s[n] == '\n');
    }
    char text[2048];
    kiln_diag_format(d, text, sizeof text);
    printf("\n%s\n", text);
}

static int print_graph_kind(cli *c, const kn_kind_info *k)
{
    printf("%s, %s of graphs: %s\n", k->name, k->warning ? "a warning" : "an error", k->text);
    first_report r;
    if (!k->example) return CLI_DONE;
    if (read_example(k->example, &r) != KILN_OK) return cli_broken(c, "out of memory");
    print_example(k->example, &r.diag);
    return CLI_DONE;
}

static void print_text_kind(cli *c, const kn_text_kind *k)
{
    printf("%s, an error of programs, arrays or the command line: %s\n", k->name, k->text);
    kiln_prog *p;
    if (!k->example || kiln_prog_parse(c->ctx, k->example, strlen(k->example), "example.jaxpr", &p) == KILN_OK) return;
    print_example(k->example, kiln_ctx_error(c->ctx));
}

/* A kind may belong to both. */
static int print_one(cli *c, const char *name)
{
    enum { MOST = 128 };
    const char *names[MOST];
    uint32_t n = 0, found = 0;
    for (const kn_text_kind *k = kn_text_kinds; k->name && n < MOST; k++) {
        names[n++] = k->name;
        if (strcmp(k->name, name) == 0) print_text_kind(c, k), found++;
    }
    for (int i = 0; i < KN_N_KINDS && n < MOST; i++) {
        names[n++] = kn_kinds[i].name;
        if (strcmp(kn_kinds[i].name, name) != 0) continue;
        if (found++) printf("\n");
        int code = print_graph_kind(c, &kn_kinds[i]);
        if (code != CLI_DONE) return code;
    }
    if (found) return CLI_DONE;
    const char *near = kn_nearest(name, names, n);
    return cli_bad(c, "usage", "no kind of error '%s'%s%s%s", name, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static int write_json(cli *c, const char *path)
{
    json_t *list = json_array();
    for (const kn_text_kind *k = kn_text_kinds; k->name; k++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s?}", "kind", k->name, "of", "programs", "severity", "error", "text", k->text,
                                              "example", k->example));
    for (int i = 0; i < KN_N_KINDS; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s?}", "kind", kn_kinds[i].name, "of", "graphs", "severity",
                                              kn_kinds[i].warning ? "warning" : "error", "text", kn_kinds[i].text, "example",
                                              kn_kinds[i].example));
    int code = cli_write_json(c, path, list);
    json_decref(list);
    return code;
}

static int run(cli *c)
{
    if (cli_has(c, "json")) return write_json(c, cli_text(c, "json", "-"));
    if (c->n_operands == 1) return print_one(c, c->operands[0]);
    printf("Programs, arrays and the command line:\n");
    for (const kn_text_kind *k = kn_text_kinds; k->name; k++) printf("  %-20s error    %s\n", k->name, k->text);
    printf("\nGraphs:\n");
    for (int i = 0; i < KN_N_KINDS; i++)
        printf("  %-20s %-8s %s\n", kn_kinds[i].name, kn_kinds[i].warning ? "warning" : "error", kn_kinds[i].text);
    printf("\n`kiln errors KIND` shows an example\n");
    return CLI_DONE;
}

static const cli_option options[] = {
    {"json", 0, CLI_TEXT, "FILE", "writes the table as JSON", 0, 0},
};

const cli_command cli_errors = {
    .name = "errors",
    .operands = "[KIND]",
    .summary = "lists every kind of error and warning, or shows an example of one",
    CLI_OPTIONS(options),
    .most = 1,
    .run = run,
};
