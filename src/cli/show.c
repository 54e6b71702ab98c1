/* SPDX-License-Identifier: Apache-2.0 */
#include "array/array.h"
#include "base/text.h"
#include "cli/difference.h"
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
static kiln_status lowered(cli *c, const kiln_prog *p, const char *stage, kn_opt_options o, kiln_prog **out)
{
    kiln_prog *q;
    o.after = cli_text(c, "after", NULL);
    o.flush = (kiln_ctx_fast(c->ctx) & KILN_FAST_FLUSH) != 0;
    KILN_TRY(kn_prog_runnable(c->ctx, p));
    KILN_TRY(kn_lower(c->ctx, p, &q));
    if (strcmp(stage, "lowered") == 0) {
        *out = q;
        return KILN_OK;
    }
    kiln_status status = kn_optimise(c->ctx, q, &o, out);
    kiln_prog_release(q);
    return status;
}

static int print_lowered(cli *c, const kiln_prog *p, const char *stage, bool fuse)
{
    kiln_prog *q;
    if (lowered(c, p, stage, (kn_opt_options){0}, &q) != KILN_OK) return cli_fail(c);
    int code = fuse ? print_fused(c, q, stage) : print_any(c, q, stage);
    kiln_prog_release(q);
    return code;
}

/* ---- --rules: which rewrites the optimisation did, and where ---- */

typedef struct place {
    uint32_t rule, n;
    const kn_prim *prim;
    kn_loc loc;
} place;

typedef struct places {
    kn_arena arena;
    KN_VEC(place) v;
    bool failed;
} places;

static void note_place(void *ud, uint32_t rule, uint32_t n, const kn_prim *prim, kn_loc loc)
{
    places *all = ud;
    for (uint32_t i = 0; i < all->v.n; i++) {
        place *x = &all->v.v[i];
        if (x->rule != rule || x->prim != prim || x->loc.file != loc.file || x->loc.line != loc.line || x->loc.column != loc.column) continue;
        x->n += n;
        return;
    }
    place x = {rule, n, prim, loc};
    all->failed = all->failed || !kn_push(&all->arena, &all->v, x);
}

static void put_places(kn_text *t, const places *all, const kiln_prog *p)
{
    for (uint32_t rule = 0; rule < kn_rule_count(); rule++) {
        uint64_t total = 0;
        for (uint32_t i = 0; i < all->v.n; i++) total += all->v.v[i].rule == rule ? all->v.v[i].n : 0;
        if (total) kn_text_printf(t, "%8llu %s: %s\n", (unsigned long long)total, kn_rule_pass(rule), kn_rule_text(rule));
        for (uint32_t i = 0; total && i < all->v.n; i++) {
            const place *x = &all->v.v[i];
            if (x->rule != rule || !x->prim) continue;
            kn_text_add(t, "         ");
            if (x->loc.line) kn_text_printf(t, "%s:%u:%u: ", x->loc.file < p->files.n ? p->files.v[x->loc.file] : "", x->loc.line, x->loc.column);
            kn_text_add(t, x->prim->name);
            if (x->n > 1) kn_text_printf(t, ", %u times", x->n);
            kn_text_char(t, '\n');
        }
    }
}

static int print_rules(cli *c, const kiln_prog *p, const char *stage)
{
    kiln_prog *q;
    kn_text t;
    places all = {.failed = false};
    if (strcmp(stage, "optimised") != 0) return cli_bad(c, "usage", "--rules belongs to --stage optimised");
    if (cli_has(c, "format")) return cli_bad(c, "usage", "--rules is a list, in no --format");
    kn_arena_init(&all.arena, NULL);
    kn_text_init(&t, &c->ctx->alloc);
    kiln_status status = lowered(c, p, stage, (kn_opt_options){.fired = note_place, .fired_ud = &all}, &q);
    if (status == KILN_OK) {
        put_places(&t, &all, q);
        if (t.failed || all.failed) status = kn_nomem(c->ctx);
        kiln_prog_release(q);
    }
    if (status == KILN_OK) status = cli_write(c, cli_text(c, "output", "-"), t.n ? t.s : "", t.n);
    kn_text_fini(&t);
    kn_arena_fini(&all.arena);
    return status == KILN_OK ? CLI_DONE : cli_fail(c);
}

static int print_copies(cli *c, const kiln_prog *p, const char *stage)
{
    char *text;
    size_t n;
    if (strcmp(stage, "loops") != 0 || cli_has(c, "format")) return cli_bad(c, "usage", "--copies belongs to --stage loops, and to no --format");
    if (kn_compile_stage(c->ctx, p, NULL, "copies", &text, &n) != KILN_OK) return cli_fail(c);
    return write_text(c, text, n);
}

static const char *stage_of(const cli *c)
{
    return cli_text(c, "stage", cli_has(c, "after") || cli_has(c, "rules") ? "optimised" : cli_has(c, "copies") ? "loops" : "traced");
}
static bool is_code(const char *stage) { return strcmp(stage, "loops") == 0 || strcmp(stage, "llvm") == 0 || strcmp(stage, "asm") == 0; }

static int print_stage(cli *c, const kiln_prog *p)
{
    const char *stage = stage_of(c);
    bool code_stage = is_code(stage);
    if (cli_has(c, "after") && strcmp(stage, "optimised") != 0) return cli_bad(c, "usage", "--after belongs to --stage optimised");
    if (cli_has(c, "dialect") && code_stage) return cli_bad(c, "usage", "--dialect is that of jaxprs, not of --stage %s", stage);
    if (cli_has(c, "rules")) return print_rules(c, p, stage);
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

static int read_input(cli *c, const char *path, kiln_prog **out)
{
    cli_input in;
    *out = NULL;
    int code = cli_input_read(c, path, &in);
    if (code != CLI_DONE) return code;
    if (in.kind == CLI_GRAPH) code = graph_program(c, &in, out);
    else if (cli_has(c, "program")) code = cli_bad(c, "usage", "--program belongs to graphs; %s is %s", in.name, cli_input_kind_text(in.kind));
    else if (in.kind != CLI_JAXPR && in.kind != CLI_STABLEHLO && in.kind != CLI_HLO) code = cli_input_refuse(c, &in, "programs and graphs");
    else if (kn_prog_parse_packed(c->ctx, &in.packed, in.name, out) != KILN_OK) code = cli_fail(c);
    cli_input_free(c, &in);
    return code;
}

/* The input, transformed as is asked for. */
static int read_transformed(cli *c, const char *path, kiln_prog **out)
{
    int code = read_input(c, path, out);
    return code == CLI_DONE ? cli_transform(c, NULL, 0, out) : code;
}

/* ---- --diff ---- */

/* One of the two at the stage and in the form that is asked for; p is replaced by what `side` refers to, and so is the text. */
static kiln_status side_of(cli *c, kiln_prog **p, const char *stage, kn_text *text, cli_side *side)
{
    const char *format = cli_text(c, "format", "jaxpr");
    if (is_code(stage)) {
        char *s;
        size_t n;
        KILN_TRY(kn_compile_stage(c->ctx, *p, NULL, stage, &s, &n));
        kn_text_addn(text, s, n);
        kiln_text_free(c->ctx, s, n);
    } else if (strcmp(stage, "lowered") == 0 || strcmp(stage, "optimised") == 0) {
        kiln_prog *q;
        KILN_TRY(lowered(c, *p, stage, (kn_opt_options){0}, &q));
        kiln_prog_release(*p);
        *p = q;
    }
    if (!is_code(stage) && strcmp(format, "jaxpr") == 0) {
        side->p = *p;
        return KILN_OK;
    }
    if (!is_code(stage)) KILN_TRY(cli_form_text(c, &(cli_shown){*p, NULL, stage, side->name}, format, text));
    side->text = text->n ? text->s : "";
    side->n = text->n;
    return text->failed ? kn_nomem(c->ctx) : KILN_OK;
}

static int print_difference(cli *c)
{
    static const char *const alone[] = {"signature", "ops", "copies", "residuals", "rules", "brief", "dialect"};
    const char *stage = stage_of(c), *format = cli_text(c, "format", "jaxpr");
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (cli_has(c, alone[i])) return cli_bad(c, "usage", "--diff compares whole programs; --%s does not go with it", alone[i]);
    if (cli_has(c, "after") && strcmp(stage, "optimised") != 0) return cli_bad(c, "usage", "--after belongs to --stage optimised");
    if (cli_to_folder(c)) return cli_bad(c, "usage", "--diff writes one text, not a folder");
    if (strcmp(format, "dot") == 0 || strcmp(format, "svg") == 0 || (is_code(stage) && strcmp(format, "jaxpr") != 0))
        return cli_bad(c, "usage", "--diff compares programs, and texts of --format stablehlo and hlo, or of --stage loops, llvm and asm");
    cli_side side[2] = {{.name = c->operands[0]}, {.name = cli_text(c, "diff", "")}};
    kiln_prog *p[2] = {NULL, NULL};
    kn_text text[2];
    int code = CLI_DONE;
    for (int i = 0; i < 2; i++) kn_text_init(&text[i], &c->ctx->alloc);
    for (int i = 0; i < 2 && code == CLI_DONE; i++) {
        code = read_transformed(c, side[i].name, &p[i]);
        if (code == CLI_DONE && side_of(c, &p[i], stage, &text[i], &side[i]) != KILN_OK) code = cli_fail(c);
    }
    if (code == CLI_DONE) code = cli_difference(c, &side[0], &side[1]);
    for (int i = 0; i < 2; i++) kn_text_fini(&text[i]), kiln_prog_release(p[i]);
    return code;
}

static int run(cli *c)
{
    kiln_prog *p;
    if (cli_has(c, "diff")) return print_difference(c);
    int code = read_transformed(c, c->operands[0], &p);
    if (code != CLI_DONE) return code;
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
    {"dialect", 0, CLI_CHOICE, "new, old", "of jaxprs: that of today's JAX or the older one (as read)", 0, 0},
    {"residuals", 0, CLI_FLAG, NULL, "lists what a reverse derivative keeps of the values: bytes, equation, place, and why", 0, 0},
    {"wrt", 0, CLI_TEXT, "I,J", "with --residuals: the operands to differentiate in (all floats)", 0, 0},
    {"rules", 0, CLI_FLAG, NULL, "of --stage optimised: every rewrite that was done, how often, and at which equations", 0, 0},
    {"diff", 0, CLI_TEXT, "OTHER", "compares with another program, names of values aside: lines of INPUT alone begin with -, of OTHER with +; exit code 1 when they differ", 0, 0},
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
