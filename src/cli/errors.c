/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/text.h"
#include "graph/kinds.h"

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

static int print_one(cli *c, const kn_kind_info *k)
{
    printf("%s, %s: %s\n", k->name, k->warning ? "a warning" : "an error", k->text);
    if (!k->example) return CLI_DONE;
    printf("\n");
    for (const char *s = k->example; *s;) {
        size_t n = strcspn(s, "\n");
        printf("    %.*s\n", (int)n, s);
        s += n + (s[n] == '\n');
    }
    first_report r;
    if (read_example(k->example, &r) != KILN_OK) return cli_broken(c, "out of memory");
    char text[2048];
    kiln_diag_format(&r.diag, text, sizeof text);
    printf("\n%s\n", text);
    return CLI_DONE;
}

static int write_json(cli *c, const char *path)
{
    json_t *list = json_array();
    for (int i = 0; i < KN_N_KINDS; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s?}", "kind", kn_kinds[i].name, "severity",
                                              kn_kinds[i].warning ? "warning" : "error", "text", kn_kinds[i].text,
                                              "example", kn_kinds[i].example));
    int code = cli_write_json(c, path, list);
    json_decref(list);
    return code;
}

static int run(cli *c)
{
    if (cli_has(c, "json")) return write_json(c, cli_text(c, "json", "-"));
    const char *names[KN_N_KINDS];
    for (int i = 0; i < KN_N_KINDS; i++) {
        names[i] = kn_kinds[i].name;
        if (c->n_operands == 1 && strcmp(names[i], c->operands[0]) == 0) return print_one(c, &kn_kinds[i]);
    }
    if (c->n_operands == 1) {
        const char *near = kn_nearest(c->operands[0], names, KN_N_KINDS);
        return cli_bad(c, "unknown-kind", "no kind of error '%s'%s%s%s", c->operands[0],
                       near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    }
    for (int i = 0; i < KN_N_KINDS; i++)
        printf("%-20s %-8s %s\n", kn_kinds[i].name, kn_kinds[i].warning ? "warning" : "error", kn_kinds[i].text);
    printf("\n`kiln errors KIND` shows an example\n");
    return CLI_DONE;
}

static const cli_option options[] = {
    {"json", 0, CLI_TEXT, "FILE", "writes the table as JSON", 0, 0},
};

const cli_command cli_errors = {
    .name = "errors",
    .operands = "[KIND]",
    .summary = "lists every kind of error and warning of graph files, or shows an example of one",
    CLI_OPTIONS(options),
    .most = 1,
    .run = run,
};
