/* SPDX-License-Identifier: Apache-2.0 */
/* The shared transform cases: every word of every program gives the wanted values, interpreted and compiled to the same bits; refusals;
 * how many equations of which primitives the programs hold, nested ones expanded, and their gradients. */
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "ir/prim.h"
#include "same.h"
#include "testing.h"

#include <jansson.h>
#include <math.h>

static const char folder[] = KILN_CASES "/transforms";
enum { MOST = 64, MOST_PRIMS = 64 };

/* Values that cannot be: d log(x) = 1/x is 3.3e307 at 3e-308, and d sqrt(x) is 2.9e153, both numbers; the case has NaN there, which is what a
 * difference with the step 1e-60 gives, that leaves the domain. tests/unit/subnormal.c holds what is right. */
static const struct {
    const char *name, *word;
} impossible[] = {{"el_subnormal", "jvp"}};

/* ---- reading ---- */

static json_t *field(json_t *d, const char *name) { return json_object_get(d, name); }

static double number(json_t *v)
{
    if (json_is_number(v)) return json_number_value(v);
    if (json_is_boolean(v)) return json_is_true(v);
    const char *s = json_string_value(v);
    assert_non_null(s);
    return strcmp(s, "nan") == 0 ? (double)NAN : strcmp(s, "inf") == 0 ? (double)INFINITY : -(double)INFINITY;
}

static kiln_array *array_of(kiln_ctx *ctx, json_t *d)
{
    static const struct {
        const char *name;
        kiln_dtype dtype;
    } types[] = {{"float64", KILN_F64}, {"int32", KILN_I32}, {"complex128", KILN_C128}, {"bool", KILN_BOOL}};
    const char *name = json_string_value(field(d, "dtype"));
    json_t *shape = field(d, "shape"), *data = field(d, "data"), *fill = field(d, "fill");
    int64_t dims[KN_RANK_LIMIT];
    kiln_type t = {KILN_BOOL, (uint32_t)json_array_size(shape), dims};
    kiln_array *a;
    bool known = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0) t.dtype = types[i].dtype, known = true;
    if (!known) fail_msg("element type %s", name);
    for (uint32_t i = 0; i < t.rank; i++) dims[i] = json_integer_value(json_array_get(shape, i));
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    for (int64_t k = 0; k < kiln_type_size(t); k++) {
        json_t *v = fill ? fill : data ? json_array_get(data, (size_t)k) : NULL;
        kn_scalar s = {.f = v && !json_is_array(v) ? number(v) : (double)k};
        if (kiln_dtype_kind(t.dtype) == 'c') s = json_is_array(v) ? (kn_scalar){.c = {number(json_array_get(v, 0)), number(json_array_get(v, 1))}} : (kn_scalar){.c = {s.f, 0}};
        else if (t.dtype == KILN_BOOL) s = (kn_scalar){.b = s.f != 0};
        else if (t.dtype == KILN_I32) s = (kn_scalar){.i = (int64_t)s.f};
        kn_scalar_store(t.dtype, a->data, k, s);
    }
    return a;
}

/* The arrays of a list behind what stands in v; NULL lists are empty. */
static uint32_t arrays_of(kiln_ctx *ctx, json_t *list, kiln_array **v, uint32_t n)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        assert_true(n < MOST);
        v[n++] = array_of(ctx, json_array_get(list, i));
    }
    return n;
}
static void release(kiln_array **v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(v[i]);
}

static const kiln_prog *parsed(kiln_ctx *ctx, json_t *rule, const char *part)
{
    const char *text = json_string_value(field(rule, part));
    kiln_prog *p = NULL;
    if (text) assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), part, &p));
    return p;
}

/* With the rules that d holds for it, unless d is NULL. */
static kiln_prog *program_of(kiln_ctx *ctx, const char *name, json_t *d)
{
    char path[1024];
    kiln_prog *p, *q;
    kiln_custom_rule rules[8];
    uint32_t n = 0;
    const char *rule_name;
    json_t *rule;
    snprintf(path, sizeof path, "%s/%s.jaxpr", folder, name);
    assert_ok(ctx, kiln_prog_load(ctx, path, &p));
    json_object_foreach(field(d, "rules"), rule_name, rule)
    {
        assert_true(n < 8);
        rules[n++] = (kiln_custom_rule){rule_name, parsed(ctx, rule, "jvp"), parsed(ctx, rule, "fwd"), parsed(ctx, rule, "bwd"),
                                        (uint32_t)json_integer_value(field(rule, "residuals"))};
    }
    if (!n) return p;
    assert_ok(ctx, kiln_prog_with_rules(ctx, p, rules, n, &q));
    for (uint32_t i = 0; i < n; i++) {
        const kiln_prog *own[] = {rules[i].jvp, rules[i].fwd, rules[i].bwd};
        for (int k = 0; k < 3; k++)
            if (own[k]) kiln_prog_release((kiln_prog *)(uintptr_t)own[k]);
    }
    kiln_prog_release(p);
    return q;
}

/* ---- comparing ---- */

static bool near(double got, double want, double rtol, double atol)
{
    if (isnan(want) || isinf(want)) return isnan(want) ? isnan(got) : got == want;
    return fabs(got - want) <= atol + rtol * fabs(want);
}

static bool close_arrays(const kiln_array *got, const kiln_array *want, double rtol, double atol, char *why, size_t room)
{
    kiln_dtype d = want->type.dtype;
    if (!kiln_type_equal(got->type, want->type)) {
        snprintf(why, room, "%s for %s", kn_type_show(got->type).s, kn_type_show(want->type).s);
        return false;
    }
    for (int64_t k = 0; k < kiln_type_size(want->type); k++) {
        kn_scalar g = kn_scalar_load(d, got->data, k), w = kn_scalar_load(d, want->data, k);
        bool good;
        if (kiln_dtype_kind(d) == 'f') good = near(g.f, w.f, rtol, atol);
        else if (kiln_dtype_kind(d) == 'c') good = hypot(g.c[0] - w.c[0], g.c[1] - w.c[1]) <= atol + rtol * hypot(w.c[0], w.c[1]) || (near(g.c[0], w.c[0], rtol, atol) && near(g.c[1], w.c[1], rtol, atol));
        else good = d == KILN_BOOL ? g.b == w.b : g.i == w.i;
        if (good) continue;
        snprintf(why, room, "element %lld is %.17g, not %.17g", (long long)k, kiln_dtype_kind(d) == 'f' ? g.f : g.c[0], kiln_dtype_kind(d) == 'f' ? w.f : w.c[0]);
        return false;
    }
    return true;
}

/* Interpreted and compiled, to the same bits; a complaint in `why`. */
static bool runs(kiln_ctx *ctx, const kiln_prog *p, kiln_array *const *in, kiln_array *const *want, uint32_t n, double rtol, double atol, char *why, size_t room)
{
    kiln_array *a[MOST] = {NULL}, *b[MOST] = {NULL};
    kiln_exec *f = NULL;
    uint32_t nout = kiln_prog_n_outputs(p);
    bool good = nout == n && nout <= MOST;
    if (!good) snprintf(why, room, "%u results for %u", nout, n);
    if (good && (kiln_prog_eval(ctx, p, in, a) != KILN_OK || kiln_compile(ctx, p, NULL, &f) != KILN_OK || kiln_exec_call(ctx, f, in, b) != KILN_OK)) {
        snprintf(why, room, "%s", kiln_ctx_error(ctx)->message);
        good = false;
    }
    for (uint32_t k = 0; k < n && good; k++) {
        good = same_array(a[k], b[k], NULL);
        if (!good) snprintf(why, room, "result %u: compiled and interpreted differ", k);
        good = good && close_arrays(a[k], want[k], rtol, atol, why, room);
    }
    release(a, nout <= MOST ? nout : 0);
    release(b, nout <= MOST ? nout : 0);
    kiln_exec_release(f);
    return good;
}

static double tolerance(json_t *d, const char *word, const char *name)
{
    json_t *own = field(field(field(d, "tolerances"), word), name);
    return number(own ? own : field(d, name));
}

static bool unit(kiln_ctx *ctx, const kiln_prog *p, json_t *d, const char *word, json_t *want, char *why, size_t room)
{
    kiln_array *in[MOST], *out[MOST];
    kiln_type types[MOST];
    kiln_prog *q = NULL;
    bool whole = json_is_array(want), self = strcmp(word, "eval") == 0;
    uint32_t nin = arrays_of(ctx, !whole && field(want, "inputs") ? field(want, "inputs") : field(d, "inputs"), in, 0);
    if (!whole) nin = arrays_of(ctx, field(want, "cotangents"), in, arrays_of(ctx, field(want, "tangents"), in, nin));
    uint32_t nout = arrays_of(ctx, whole ? want : field(want, "out"), out, 0);
    if (!whole) nout = arrays_of(ctx, field(want, "tangent_out"), out, nout);
    for (uint32_t i = 0; i < nin; i++) types[i] = in[i]->type;
    bool good = self || kiln_prog_transform(ctx, p, word, types, nin, &q) == KILN_OK;
    if (!good) snprintf(why, room, "%s", kiln_ctx_error(ctx)->message);
    good = good && runs(ctx, self ? p : q, in, out, nout, tolerance(d, word, "rtol"), tolerance(d, word, "atol"), why, room);
    kiln_prog_release(q);
    release(in, nin);
    release(out, nout);
    return good;
}

/* ---- counting ---- */

typedef struct counts {
    const char *name[MOST_PRIMS];
    uint64_t of[MOST_PRIMS], all;
    uint32_t n;
} counts;

static void count(void *ud, const kn_jaxpr *j)
{
    counts *c = ud;
    for (uint32_t k = 0; k < j->neqns; k++) {
        const char *name = j->eqns[k].prim->name;
        uint32_t i = 0;
        while (i < c->n && strcmp(c->name[i], name) != 0) i++;
        assert_true(i < MOST_PRIMS);
        if (i == c->n) c->name[c->n++] = name;
        c->of[i]++, c->all++;
        kn_eqn_bodies(&j->eqns[k], count, c);
    }
}
static uint64_t count_of(const counts *c, const char *name)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->name[i], name) == 0) return c->of[i];
    return 0;
}

static unsigned compare_counts(const char *what, const char *case_name, const kiln_prog *p, json_t *want)
{
    counts c = {.n = 0};
    const char *prim;
    json_t *n;
    unsigned bad = 0;
    count(&c, p->main);
    json_object_foreach(want, prim, n) if ((json_int_t)count_of(&c, prim) != json_integer_value(n))
    {
        print_error("%s: %llu %s in %s, not %lld\n", case_name, (unsigned long long)count_of(&c, prim), prim, what, (long long)json_integer_value(n));
        bad++;
    }
    return bad;
}

static unsigned facts(kiln_ctx *ctx, const char *name, const kiln_prog *p, json_t *d)
{
    json_t *f = field(d, "facts"), *gradient = field(f, "gradient_eqns"), *shared = field(f, "definitions_of_shared_function");
    counts c = {.n = 0};
    unsigned bad = compare_counts("the program", name, p, field(f, "by_primitive"));
    count(&c, p->main);
    if ((json_int_t)c.all != json_integer_value(field(f, "eqns"))) {
        print_error("%s: %llu equations, not %lld\n", name, (unsigned long long)c.all, (long long)json_integer_value(field(f, "eqns")));
        bad++;
    }
    if (gradient) {
        kiln_prog *g;
        assert_ok(ctx, kiln_prog_transform(ctx, p, "grad:0", NULL, 0, &g));
        bad += compare_counts("the gradient", name, g, gradient);
        kiln_prog_release(g);
    }
    if (shared) {
        char *text;
        size_t n;
        json_int_t definitions = 0;
        assert_ok(ctx, kiln_prog_print(ctx, p, 80, &text, &n));
        for (const char *at = text; strncmp(at, "let ", 4) == 0; definitions++) {
            const char *next = strstr(at, "\nlet ");
            at = next ? next + 1 : text + n;
        }
        kiln_text_free(ctx, text, n);
        if (definitions != json_integer_value(shared)) print_error("%s: %lld shared definitions\n", name, (long long)definitions), bad++;
    }
    return bad;
}

/* ---- the folder ---- */

static json_t *case_of(const char *file)
{
    char path[1024];
    const char *dot = strrchr(file, '.');
    if (!dot || strcmp(dot, ".json") != 0) return NULL;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    json_t *d = json_load_file(path, 0, NULL);
    if (field(d, "results")) return d;
    json_decref(d);
    return NULL;
}

static bool is_impossible(const char *name, const char *word)
{
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++)
        if (strcmp(impossible[i].name, name) == 0 && strcmp(impossible[i].word, word) == 0) return true;
    return false;
}

typedef struct sum {
    unsigned cases, words, refusals, bad;
} sum;

static void one_case(kiln_ctx *ctx, json_t *d, bool words, sum *s)
{
    const char *name = json_string_value(field(d, "name")), *word;
    kiln_prog *p = program_of(ctx, name, words ? d : NULL), *q;
    json_t *want;
    char why[KILN_DIAG_TEXT];
    s->cases++;
    if (!words) {
        s->bad += facts(ctx, name, p, d);
        kiln_prog_release(p);
        return;
    }
    json_object_foreach(field(d, "results"), word, want)
    {
        s->words++;
        bool good = unit(ctx, p, d, word, want, why, sizeof why);
        if (good != !is_impossible(name, word)) print_error("%s, %s: %s\n", name, word, good ? "agrees: it is listed as impossible" : why), s->bad++;
    }
    json_object_foreach(field(d, "errors"), word, want)
    {
        kiln_status status = kiln_prog_transform(ctx, p, word, NULL, 0, &q);
        s->refusals++;
        if (status == KILN_OK) print_error("%s, %s is not refused\n", name, word), s->bad++, kiln_prog_release(q);
    }
    kiln_prog_release(p);
}

static sum all_cases(kiln_ctx *ctx, bool words)
{
    sum s = {0};
    struct dirent **list;
    if (!test_is_folder(folder)) {
        print_message("skipped: no %s\n", folder);
        skip();
    }
    int n = scandir(folder, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        json_t *d = case_of(list[i]->d_name);
        if (d) one_case(ctx, d, words, &s);
        json_decref(d);
        free(list[i]);
    }
    if (n >= 0) free(list);
    return s;
}

static void values(void **state)
{
    sum s = all_cases(*state, true);
    print_message("%u words of %u cases, %u refusals\n", s.words, s.cases, s.refusals);
    assert_int_equal(s.bad, 0);
    assert_true(s.cases >= 152 && s.words >= 1084 && s.refusals >= 7);
}

static void equations(void **state)
{
    sum s = all_cases(*state, false);
    assert_int_equal(s.bad, 0);
    assert_true(s.cases >= 152);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(equations)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
