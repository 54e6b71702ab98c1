/* SPDX-License-Identifier: Apache-2.0 */
#include "array/array.h"
#include "base/text.h"
#include "cli/forms.h"
#include "cli/values.h"
#include "hlo/hlo.h"
#include "kiln/graph.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "run/stages.h"

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

/* What files are named after: the input, or where that has no name the program. */
static const char *input_name(const cli *c, const kiln_prog *p)
{
    if (strcmp(c->operands[0], "-") != 0) return c->operands[0];
    return p->name && *p->name && !strchr(p->name, '/') ? p->name : "program";
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

static int write_text(cli *c, char *text, size_t n)
{
    kiln_status status = cli_write(c, cli_text(c, "output", "-"), text, n);
    kiln_text_free(c->ctx, text, n);
    return status == KILN_OK ? CLI_DONE : cli_fail(c);
}

static int print_any(cli *c, const kiln_prog *p, const char *stage)
{
    if (cli_has(c, "signature")) return print_signature(p);
    if (cli_has(c, "ops")) return print_ops(c, p);
    return cli_forms(c, &(cli_shown){p, NULL, stage, input_name(c, p)});
}

/* With its nests as functions, which HLO writes as fusions and graphs as clusters. */
static int print_fused(cli *c, const kiln_prog *optimised, const char *stage)
{
    kiln_prog *fused;
    if (kn_fused_program(c->ctx, optimised, &fused) != KILN_OK) return cli_fail(c);
    int code = cli_forms(c, &(cli_shown){optimised, fused, stage, input_name(c, optimised)});
    kiln_prog_release(fused);
    return code;
}

/* The program lowered, and optimised unless only that is asked for; --after stops the pipeline. */
static int print_lowered(cli *c, const kiln_prog *p, const char *stage, bool fuse)
{
    bool optimise = strcmp(stage, "lowered") != 0;
    kiln_prog *lowered, *optimised = NULL;
    const kn_opt_options o = {.after = cli_text(c, "after", NULL)};
    kiln_status status = kn_prog_runnable(c->ctx, p);
    if (status == KILN_OK) status = kn_lower(c->ctx, p, &lowered);
    if (status != KILN_OK) return cli_fail(c);
    if (optimise) status = kn_optimise(c->ctx, lowered, &o, &optimised);
    int code = status != KILN_OK ? cli_fail(c) : fuse ? print_fused(c, optimised, stage) : print_any(c, optimise ? optimised : lowered, stage);
    kiln_prog_release(lowered);
    kiln_prog_release(optimised);
    return code;
}

static int print_copies(cli *c, const kiln_prog *p, const char *stage)
{
    char *text;
    size_t n;
    if (strcmp(stage, "loops") != 0 || cli_has(c, "format")) return cli_bad(c, "usage", "--copies belongs to --stage loops, and to no --format");
    if (kn_compile_stage(c->ctx, p, NULL, "copies", &text, &n) != KILN_OK) return cli_fail(c);
    return write_text(c, text, n);
}

static int print_stage(cli *c, const kiln_prog *p)
{
    const char *stage = cli_text(c, "stage", cli_has(c, "after") ? "optimised" : cli_has(c, "copies") ? "loops" : "traced");
    bool code_stage = strcmp(stage, "loops") == 0 || strcmp(stage, "llvm") == 0 || strcmp(stage, "asm") == 0;
    if (cli_has(c, "after") && strcmp(stage, "optimised") != 0) return cli_bad(c, "usage", "--after belongs to --stage optimised");
    if (cli_has(c, "copies")) return print_copies(c, p, stage);
    if (cli_has(c, "wrt") && !cli_has(c, "residuals")) return cli_bad(c, "usage", "--wrt belongs to --residuals");
    if (cli_has(c, "residuals")) return cli_residuals(c, p);
    if (strcmp(stage, "traced") == 0 || strcmp(stage, "transformed") == 0) return print_any(c, p, stage);
    const char *format = cli_text(c, "format", "jaxpr");
    bool asks = cli_has(c, "signature") || cli_has(c, "ops"), fuse = !asks && (cli_form_is_fused(format) || cli_to_folder(c));
    if (!code_stage) return print_lowered(c, p, stage, fuse && strcmp(stage, "optimised") == 0);
    if (fuse && strcmp(stage, "loops") == 0) return print_lowered(c, p, stage, true);
    if (fuse || strcmp(format, "jaxpr") != 0) return cli_bad(c, "usage", "%s shows programs, not --stage %s", cli_to_folder(c) ? "a folder" : "--format", stage);
    if (cli_has(c, "brief")) return cli_bad(c, "usage", "--brief shortens programs, not --stage %s", stage);
    if (cli_has(c, "signature") || cli_has(c, "ops")) return cli_bad(c, "usage", "--signature and --ops show programs, not --stage %s", stage);
    char *text;
    size_t n;
    if (kn_compile_stage(c->ctx, p, NULL, stage, &text, &n) != KILN_OK) return cli_fail(c);
    return write_text(c, text, n);
}

/* Of a graph: the program of one base step, or of the loop over steps. */
static int graph_program(cli *c, cli_input *in, kiln_prog **out)
{
    kiln_graph *g;
    kiln_graph_opts o = KILN_GRAPH_OPTS_INIT;
    o.text = in->packed.text.s;
    if (kiln_graph_load(c->ctx, in->name, &o, &g) != KILN_OK) return cli_fail(c);
    bool step = strcmp(cli_text(c, "program", "loop"), "step") == 0;
    int code = kiln_graph_program(c->ctx, g, !step, out) == KILN_OK ? CLI_DONE : cli_fail(c);
    kiln_graph_release(g);
    return code;
}

static int read_input(cli *c, kiln_prog **out)
{
    cli_input in;
    *out = NULL;
    int code = cli_input_read(c, c->operands[0], &in);
    if (code != CLI_DONE) return code;
    if (in.kind == CLI_GRAPH) code = graph_program(c, &in, out);
    else if (cli_has(c, "program")) code = cli_bad(c, "usage", "--program belongs to graphs; %s is %s", in.name, cli_input_kind_text(in.kind));
    else if (in.kind != CLI_JAXPR && in.kind != CLI_STABLEHLO && in.kind != CLI_HLO) code = cli_input_refuse(c, &in, "programs and graphs");
    else if (kn_prog_parse_packed(c->ctx, &in.packed, in.name, out) != KILN_OK) code = cli_fail(c);
    cli_input_free(c, &in);
    return code;
}

static int run(cli *c)
{
    kiln_prog *p;
    int code = read_input(c, &p);
    if (code != CLI_DONE || (code = cli_transform(c, NULL, 0, &p)) != CLI_DONE) return code;
    code = print_stage(c, p);
    kiln_prog_release(p);
    return code;
}

static const cli_option options[] = {
    {"stage", 0, CLI_CHOICE, "traced, transformed, lowered, optimised, loops, llvm, asm", "stage to print (traced)", 0, 0},
    {"program", 0, CLI_CHOICE, "loop, step", "of a graph: the loop over steps, or one base step (loop)", 0, 0},
    {"after", 0, CLI_TEXT, "PASS", "stops optimisation after the first run of this pass", 0, 0},
    {"format", 0, CLI_CHOICE, "jaxpr, stablehlo, hlo, dot, svg", "form: text, a graph in Graphviz's language, or a picture of it (jaxpr)", 0, 0},
    {"width", 0, CLI_INT, "N", "columns of a line; 0 is unlimited (80)", 0, 0},
    {"signature", 0, CLI_FLAG, NULL, "prints types and names of inputs and outputs, in order", 0, 0},
    {"copies", 0, CLI_FLAG, NULL, "of --stage loops: every copy of an array that is left, and why", 0, 0},
    {"ops", 0, CLI_FLAG, NULL, "counts primitives, bodies once for each place that they stand in", 0, 0},
    {"transform", 0, CLI_TEXT, "WORD", "transforms the program first: grad:0, vmap:0,None(jvp), ... (docs/transforms.md)", 0, 0},
    {"rule", 0, CLI_TEXT, "RULE", "gives a custom rule to derivatives: NAME:jvp=FILE, NAME:fwd=FILE, NAME:bwd=FILE, NAME:residuals=N", CLI_MANY, 0},
    {"output", 'o', CLI_TEXT, "FILE", "writes to FILE; FOLDER/ takes every form, a file each", 0, 0},
    {"brief", 0, CLI_FLAG, NULL, "leaves parameters out, of HLO all but the entry", 0, 0},
    {"dialect", 0, CLI_TEXT, "NAME", "dialect of jaxprs", CLI_LATER, 0},
    {"residuals", 0, CLI_FLAG, NULL, "lists what a reverse derivative keeps of the values: bytes, equation, place, and why", 0, 0},
    {"wrt", 0, CLI_TEXT, "I,J", "with --residuals: the operands to differentiate in (all floats)", 0, 0},
    {"rules", 0, CLI_FLAG, NULL, "counts rewrite rules", CLI_LATER, 0},
    {"diff", 0, CLI_TEXT, "OTHER", "compares with another program", CLI_LATER, 0},
};

const cli_command cli_show = {
    .name = "show",
    .operands = "INPUT",
    .summary = "prints a program, or that of a graph, at any stage",
    .about = "Examples:\n    kiln show f.jaxpr --width 120\n    kiln show f.jaxpr --stage loops\n    kiln show f.jaxpr --after cse\n    kiln show f.jaxpr --stage optimised --format svg -o f.svg\n    kiln show f.jaxpr -o pictures/\n    kiln show rods.yaml --program step",
    CLI_OPTIONS(options),
    .least = 1,
    .most = 1,
    .run = run,
};
