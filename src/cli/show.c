/* SPDX-License-Identifier: Apache-2.0 */
#include "array/array.h"
#include "base/text.h"
#include "cli/cli.h"
#include "ir/prim.h"

static int print_signature(const kiln_prog *p)
{
    for (int which = 0; which < 2; which++) {
        uint32_t n = which ? kiln_prog_n_outputs(p) : kiln_prog_n_inputs(p);
        for (uint32_t i = 0; i < n; i++) {
            const char *name = which ? kiln_prog_output_name(p, i) : kiln_prog_input_name(p, i);
            printf("%s %u %s%s%s\n", which ? "output" : "input", i, kn_type_show(which ? kiln_prog_output_type(p, i) : kiln_prog_input_type(p, i)).s,
                   *name ? " " : "", name);
        }
    }
    return CLI_DONE;
}

/* ---- --ops: how often each primitive stands in the program, bodies once for each place that they stand in ---- */

typedef struct count {
    const kn_prim *prim;
    uint64_t n;
} count;

typedef struct counter {
    kn_arena arena;
    KN_VEC(count) counts;
    bool failed;
} counter;

static void count_body(void *ud, const kn_jaxpr *j)
{
    counter *c = ud;
    for (uint32_t k = 0; k < j->neqns; k++) {
        const kn_eqn *e = &j->eqns[k];
        uint32_t i = 0;
        while (i < c->counts.n && c->counts.v[i].prim != e->prim) i++;
        if (i == c->counts.n && !kn_push(&c->arena, &c->counts, (count){e->prim, 0})) {
            c->failed = true;
            return;
        }
        c->counts.v[i].n++;
        kn_eqn_bodies(e, count_body, c);
    }
}

static int print_ops(cli *c, const kiln_prog *p)
{
    counter all = {.failed = false};
    kn_arena_init(&all.arena, NULL);
    count_body(&all, p->main);
    for (uint32_t i = 0; i < all.counts.n; i++) {
        uint32_t most = i;
        for (uint32_t k = i + 1; k < all.counts.n; k++) {
            const count *a = &all.counts.v[k], *b = &all.counts.v[most];
            if (a->n > b->n || (a->n == b->n && strcmp(a->prim->name, b->prim->name) < 0)) most = k;
        }
        count x = all.counts.v[most];
        all.counts.v[most] = all.counts.v[i];
        all.counts.v[i] = x;
        printf("%8llu %s\n", (unsigned long long)x.n, x.prim->name);
    }
    bool failed = all.failed;
    kn_arena_fini(&all.arena);
    return failed ? cli_broken(c, "out of memory") : CLI_DONE;
}

static int print_program(cli *c, const kiln_prog *p)
{
    char *text;
    size_t n;
    if (kiln_prog_print(c->ctx, p, (unsigned)cli_int(c, "width", 80), &text, &n) != KILN_OK) return cli_fail(c);
    kiln_status status = cli_write(c, cli_text(c, "output", "-"), text, n);
    kiln_text_free(c->ctx, text, n);
    return status == KILN_OK ? CLI_DONE : cli_fail(c);
}

static int run(cli *c)
{
    kiln_prog *p;
    int code = cli_program_read(c, c->operands[0], &p);
    if (code != CLI_DONE) return code;
    if (cli_has(c, "signature")) code = print_signature(p);
    else if (cli_has(c, "ops")) code = print_ops(c, p);
    else code = print_program(c, p);
    kiln_prog_release(p);
    return code;
}

static const cli_option options[] = {
    {"stage", 0, CLI_CHOICE, "traced", "stage to print", 0, 0},
    {"format", 0, CLI_CHOICE, "jaxpr", "form of the text", 0, 0},
    {"width", 0, CLI_INT, "N", "columns of a line; 0 is unlimited (80)", 0, 0},
    {"signature", 0, CLI_FLAG, NULL, "prints types and names of inputs and outputs, in order", 0, 0},
    {"ops", 0, CLI_FLAG, NULL, "counts primitives, bodies once for each place that they stand in", 0, 0},
    {"output", 'o', CLI_TEXT, "FILE", "writes to FILE", 0, 0},
    {"dialect", 0, CLI_TEXT, "NAME", "dialect of jaxprs", CLI_LATER, 0},
    {"copies", 0, CLI_FLAG, NULL, "explains copies", CLI_LATER, 0},
    {"residuals", 0, CLI_FLAG, NULL, "lists what a reverse derivative saves", CLI_LATER, 0},
    {"rules", 0, CLI_FLAG, NULL, "counts rewrite rules", CLI_LATER, 0},
    {"diff", 0, CLI_TEXT, "OTHER", "compares with another program", CLI_LATER, 0},
    {"brief", 0, CLI_FLAG, NULL, "leaves parameters out", CLI_LATER, 0},
};

const cli_command cli_show = {
    .name = "show",
    .operands = "INPUT",
    .summary = "prints a program at any stage",
    .about = "Examples:\n    kiln show f.jaxpr --width 120\n    kiln show f.jaxpr --signature",
    CLI_OPTIONS(options),
    .least = 1,
    .most = 1,
    .run = run,
};
