/* SPDX-License-Identifier: Apache-2.0 */
/* Integers of a compile. Target, tier, fast modes and cache are pinned, so that the same sources give the same integers on any machine. */
#include "base/ctx.h"
#include "cli/cli.h"

#include "hlo/hlo.h"
#include "kiln/graph.h"
#include "lower/lower.h"
#include "opt/opt.h"

#include <jansson.h>

static const char pinned_target[] = "x86-64-v3";
enum { PINNED_TIER = 2 };

/* A context of its own for each input, whatever options and environment say. */
static int pinned_context(cli *c, kiln_ctx **out)
{
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.fast = "none";
    o.target = pinned_target;
    o.tier = PINNED_TIER;
    o.tier_set = true;
    o.threads = 1;
    o.dump_dir = cli_text(c, "dump", NULL);
    if (kiln_ctx_create(&o, out) != KILN_OK) return cli_broken(c, "out of memory");
    return kiln_cache_enable(*out, "none") == KILN_OK ? CLI_DONE : cli_broken(c, "out of memory");
}

/* ---- lowered operations by kind ---- */

static void count_body(void *ud, const kn_jaxpr *j)
{
    json_t *ops = ud;
    for (uint32_t k = 0; k < j->neqns; k++) {
        const char *name = j->eqns[k].prim->name;
        json_t *n = json_object_get(ops, name);
        json_object_set_new(ops, name, json_integer(json_integer_value(n) + 1));
        kn_eqn_bodies(&j->eqns[k], count_body, ops);
    }
}

static kiln_status count_ops(kiln_ctx *ctx, const kiln_prog *p, json_t *into)
{
    kiln_prog *lowered, *optimised;
    json_t *ops = json_object();
    KILN_TRY(kn_lower(ctx, p, &lowered));
    kiln_status status = kn_optimise(ctx, lowered, NULL, &optimised);
    kiln_prog_release(lowered);
    if (status == KILN_OK) {
        count_body(ops, optimised->main);
        kiln_prog_release(optimised);
    }
    json_object_set_new(into, "ops", ops);
    return status;
}

/* ---- one input ---- */

static void take_counters(const kiln_ctx *ctx, json_t *into)
{
#define TAKE(name) json_object_set_new(into, #name, json_integer((json_int_t)ctx->counters.name));
    KN_COUNTER_LIST(TAKE)
#undef TAKE
}

static kiln_status count_program(kiln_ctx *ctx, const cli_input *in, json_t *into)
{
    kiln_prog *p;
    kiln_exec *f = NULL;
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    o.label = "counts";
    KILN_TRY(kn_prog_parse_packed(ctx, &in->packed, in->name, &p));
    kiln_status status = kiln_compile(ctx, p, &o, &f);
    if (status == KILN_OK) {
        take_counters(ctx, into);
        status = count_ops(ctx, p, into);
    }
    kiln_exec_release(f);
    kiln_prog_release(p);
    return status;
}

/* A graph runs a few steps in one piece: what it traced and compiled by then, and its calls. */
static kiln_status count_graph(kiln_ctx *ctx, const cli_input *in, json_t *into)
{
    enum { STEPS = 10 };
    kiln_graph *g;
    kiln_graph_result *r = NULL;
    kiln_prog *p = NULL;
    kiln_graph_opts o = KILN_GRAPH_OPTS_INIT;
    kiln_graph_run_opts ro = KILN_GRAPH_RUN_OPTS_INIT;
    o.text = in->packed.text.s;
    ro.steps = ro.chunk_steps = STEPS;
    KILN_TRY(kiln_graph_load(ctx, in->name, &o, &g));
    kiln_status status = kiln_graph_run(ctx, g, &ro, &r);
    if (status == KILN_OK) {
        take_counters(ctx, into);
        json_object_set_new(into, "entry_calls", json_integer((json_int_t)kiln_graph_result_calls(r)));
        status = kiln_graph_program(ctx, g, true, &p);
    }
    if (status == KILN_OK) status = count_ops(ctx, p, into);
    kiln_prog_release(p);
    kiln_graph_result_release(r);
    kiln_graph_release(g);
    return status;
}

static int count_input(cli *c, const char *path, json_t *all)
{
    cli_input in;
    kiln_ctx *ctx, *own = c->ctx;
    int code = cli_input_read(c, path, &in);
    if (code != CLI_DONE) return code;
    json_t *counts = json_object();
    code = pinned_context(c, &ctx);
    if (code == CLI_DONE) {
        c->ctx = ctx; /* messages are this context's */
        bool program = in.kind == CLI_JAXPR || in.kind == CLI_STABLEHLO || in.kind == CLI_HLO;
        if (!program && in.kind != CLI_GRAPH) code = cli_input_refuse(c, &in, "programs and graphs");
        else if ((in.kind == CLI_GRAPH ? count_graph : count_program)(ctx, &in, counts) != KILN_OK) code = cli_fail(c);
        c->ctx = own;
        kiln_ctx_release(ctx);
    }
    cli_input_free(c, &in);
    json_object_set_new(all, path, counts);
    return code;
}

/* {"input": {"traces": n, ..., "ops": {"add": n, ...}}, ...}; NULL after the message, with the exit code. */
static json_t *collect(cli *c, int *code)
{
    json_t *all = json_object();
    *code = CLI_DONE;
    for (int i = 0; *code == CLI_DONE && i < c->n_operands; i++) *code = count_input(c, c->operands[i], all);
    if (*code == CLI_DONE) return all;
    json_decref(all);
    return NULL;
}

/* ---- the gate ---- */

/* Code differs by a few bytes between versions of the code generator, and the instructions that it runs with it and with the libraries:
 * bands of a tenth and of 2 %. Everything else is exact. */
static bool moved(const char *name, json_int_t was, json_int_t is)
{
    json_int_t band = strcmp(name, "code_bytes") == 0 ? was / 10 : strcmp(name, "instructions") == 0 ? was / 50 : 0;
    return is > was + band || is < was - band;
}

/* What no baseline excuses: a function called lane by lane in a vector loop, and an input of which nothing was counted. */
static int judge(const char *input, const json_t *now)
{
    static const char *const never_zero[] = {"compiles", "equations", "code_bytes", "instructions"};
    json_int_t scalar = json_integer_value(json_object_get(now, "scalar_calls"));
    int n = scalar != 0;
    if (scalar) printf("%s: %lld scalar library calls in vector loops, accepted: 0\n", input, (long long)scalar);
    for (size_t i = 0; i < sizeof never_zero / sizeof *never_zero; i++) {
        const json_t *v = json_object_get(now, never_zero[i]);
        if (v ? json_integer_value(v) > 0 : strcmp(never_zero[i], "instructions") == 0) continue;
        printf("%s: %s: nothing was counted\n", input, never_zero[i]);
        n++;
    }
    return n;
}

/* Prints what moved in `now` against `was`; returns how many. */
static int compare(const char *input, const char *prefix, const json_t *was, const json_t *now)
{
    int n = 0;
    const char *name;
    json_t *v, *keys = json_object();
    json_object_update(keys, (json_t *)(uintptr_t)was); /* jansson's iteration takes no const */
    json_object_update_missing(keys, (json_t *)(uintptr_t)now);
    json_object_foreach(keys, name, v)
    {
        json_t *a = json_object_get(was, name), *b = json_object_get(now, name);
        if (json_is_object(a) || json_is_object(b)) n += compare(input, "ops.", a, b);
        else if (!a || !b || moved(name, json_integer_value(a), json_integer_value(b))) {
            printf("%s: %s%s: %lld, was %lld\n", input, prefix, name, (long long)json_integer_value(b), (long long)json_integer_value(a));
            n++;
        }
    }
    json_decref(keys);
    return n;
}

static int compare_all(cli *c, const json_t *now, const char *baseline)
{
    json_error_t error;
    json_t *was = json_load_file(baseline, JSON_REJECT_DUPLICATES, &error), *v;
    if (!was) return cli_bad(c, "usage", "%s: %s", baseline, error.text);
    int n = 0;
    const char *input;
    json_object_foreach((json_t *)(uintptr_t)now, input, v)
    {
        json_t *old = json_object_get(was, input);
        n += judge(input, v);
        if (!old) printf("%s: not in %s\n", input, baseline), n++;
        else n += compare(input, "", old, v);
    }
    json_object_foreach(was, input, v) if (!json_object_get(now, input)) printf("%s: in %s, but not given\n", input, baseline), n++;
    json_decref(was);
    if (n == 0) printf("no count moved\n");
    else printf("%d moved; if that is meant: --write %s\n", n, baseline);
    return n ? CLI_NO : CLI_DONE;
}

/* Integers that something else has counted, as those that callgrind counts, of inputs that are given. */
static int merge(cli *c, json_t *all, const char *path)
{
    json_error_t error;
    json_t *more = json_load_file(path, JSON_REJECT_DUPLICATES, &error), *v;
    const char *input;
    int code = CLI_DONE;
    if (!more) return cli_bad(c, "usage", "%s: %s", path, error.text);
    json_object_foreach(more, input, v)
    {
        json_t *counts = json_object_get(all, input);
        if (!counts) code = cli_bad(c, "usage", "%s: '%s' is not given; accepted: inputs of this command", path, input);
        else if (!json_is_object(v)) code = cli_bad(c, "usage", "%s: '%s' has no counts; accepted: {\"name\": integer, ...}", path, input);
        if (code != CLI_DONE) break;
        json_object_update(counts, v);
    }
    json_decref(more);
    return code;
}

static void print_table(const json_t *all)
{
    const char *input, *name;
    json_t *counts, *v;
    json_object_foreach((json_t *)(uintptr_t)all, input, counts)
    {
        printf("%s\n", input);
        json_object_foreach(counts, name, v) if (json_is_integer(v)) printf("  %-14s %lld\n", name, (long long)json_integer_value(v));
        printf("  %-14s", "ops");
        json_object_foreach(json_object_get(counts, "ops"), name, v) printf(" %s %lld", name, (long long)json_integer_value(v));
        printf("\n");
    }
}

static int run(cli *c)
{
    const char *json = cli_text(c, "json", NULL), *check = cli_text(c, "check", NULL), *write = cli_text(c, "write", NULL);
    static const char *const settings[] = {"target", "tier", "fast"};
    for (int i = 0; i < 3; i++)
        if (cli_find(c, settings[i]) && !cli_find(c, settings[i])->from_environment)
            return cli_bad(c, "usage", "counts are those of %s at tier %d and of no fast mode: --%s does not change them", pinned_target, PINNED_TIER, settings[i]);
    int code;
    json_t *all = collect(c, &code);
    if (!all) return code;
    if (cli_text(c, "with", NULL)) code = merge(c, all, cli_text(c, "with", NULL));
    if (code != CLI_DONE) {
        json_decref(all);
        return code;
    }
    if (!check && !(json && cli_is_stdout(json)) && !write) print_table(all);
    if (json) code = cli_write_json(c, json, all);
    if (code == CLI_DONE && write) code = cli_write_json(c, write, all);
    if (code == CLI_DONE && check) code = compare_all(c, all, check);
    json_decref(all);
    return code;
}

static const cli_option options[] = {
    {"json", 0, CLI_TEXT, "FILE", "writes the counts as JSON", 0, 0},
    {"check", 0, CLI_TEXT, "BASELINE", "compares with a baseline; exit code 1 with every count that moved", 0, 0},
    {"write", 0, CLI_TEXT, "BASELINE", "writes the baseline", 0, 0},
    {"with", 0, CLI_TEXT, "FILE", "adds integers counted elsewhere: {\"INPUT\": {\"instructions\": N}}", 0, 0},
};

const cli_command cli_counts = {
    .name = "counts",
    .operands = "INPUT...",
    .summary = "counts what a compile makes: integers for gates",
    .about = "Traces, compiles, equations, lowered operations by kind, time loops, nests, copies, calls out, calls of scalar\n"
             "library functions, bytes of code and of temporaries. Target, tier and fast modes are pinned, whatever the environment says. A check fails, too,\n"
             "where nothing was counted and where a vector loop calls a function for one lane after the other.",
    CLI_OPTIONS(options),
    .least = 1,
    .most = -1,
    .cache = CLI_CACHE_NEVER,
    .run = run,
};
