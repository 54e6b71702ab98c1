/* SPDX-License-Identifier: Apache-2.0 */
/* Transformations of whole programs: random ones, with loops, branches, calls and checkpoints inside one another.
 *   - jvp is the slope that central differences measure
 *   - <u, J v> = <J' u, v>
 *   - vmap is a loop over the lanes, bit for bit
 *   - the derivative of a checkpoint is the derivative, bit for bit
 *   - a word of each length up to 4 over jvp, vjp, vmap, checkpoint verifies, compiles and gives the interpreter's bits
 * Seeds are fixed, and more come from the commit. A program that fails is made smaller while it fails in the same way, and printed.
 *   KILN_TEST_PROGRAMS=N  programs of each kind of seed (default 12)      KILN_TEST_SEED=S  only the program of this seed */
#include "lanes.h"
#include "random_smooth.h"
#include "shrink.h"
#include "timed.h"
#include "slopes.h"
#include "words.h"

enum { MOST = SLOPE_ARRAYS, LARGE = 6000 };
typedef enum property { SLOPES, TRANSPOSED, LANES, CHECKPOINT, WORDS, N_PROPERTIES } property;

enum { SECONDS = 3 }; /* of the interpreter on one program */

typedef struct check {
    kiln_ctx *ctx;
    uint64_t seed;
    int only; /* a property, or -1 */
    int found;
    unsigned slopes, words; /* how many were measured */
    char why[KILN_DIAG_TEXT + 64];
} check;

typedef struct point {
    kiln_array *x[MOST], *v[MOST], *u[MOST]; /* operands, then tangents in `forward`, cotangents in `back`; of the floats alone */
    kiln_array *forward[2 * MOST], *back[2 * MOST];
    uint32_t n, nv, nu;
} point;

static void point_make(check *c, const kiln_prog *p, kiln_array *const *in, point *t)
{
    uint64_t state = c->seed * 7919 + 1;
    *t = (point){.n = kiln_prog_n_inputs(p)};
    assert_true(t->n <= MOST && kiln_prog_n_outputs(p) <= MOST);
    for (uint32_t i = 0; i < t->n; i++) {
        t->x[i] = t->forward[i] = t->back[i] = in[i];
        if (is_wide(in[i]->type)) t->v[t->nv++] = random_like(c->ctx, in[i]->type, &state);
    }
    for (uint32_t k = 0; k < kiln_prog_n_outputs(p); k++)
        if (is_wide(kiln_prog_output_type(p, k))) t->u[t->nu++] = random_like(c->ctx, kiln_prog_output_type(p, k), &state);
    for (uint32_t i = 0; i < t->nv; i++) t->forward[t->n + i] = t->v[i];
    for (uint32_t k = 0; k < t->nu; k++) t->back[t->n + k] = t->u[k];
}
static void point_drop(point *t)
{
    release_arrays(t->v, t->nv);
    release_arrays(t->u, t->nu);
}

/* A complaint of the library itself: every program here has all derivatives. */
static bool refused(check *c, kiln_status s)
{
    if (s == KILN_OK || s == KILN_CANCELLED) return false;
    snprintf(c->why, sizeof c->why, "%s: %s", kiln_status_name(s), kiln_ctx_error(c->ctx)->message);
    return true;
}

/* <u, J v>, and what it is made of without signs; NaN when it takes too long. */
static bool slope_of(check *c, const kiln_prog *p, point *t, double *slope, double *size)
{
    kiln_prog *f = NULL;
    kiln_array *jv[MOST] = {NULL};
    kiln_status s = kiln_prog_linearize(c->ctx, p, NULL, 0, NULL, &f);
    if (s == KILN_OK) s = evaluate(c->ctx, SECONDS, f, t->forward, jv);
    *slope = *size = s == KILN_OK ? 0 : (double)NAN;
    for (uint32_t k = 0; s == KILN_OK && k < t->nu; k++) {
        *slope += dot(t->u[k], jv[k]);
        for (int64_t i = 0; i < parts(jv[k]); i++) *size += fabs(((double *)jv[k]->data)[i]);
    }
    release_arrays(jv, t->nu);
    kiln_prog_release(f);
    return !refused(c, s);
}

static bool slopes_differ(check *c, const kiln_prog *p, point *t)
{
    double found, size, slope;
    if (!slope_of(c, p, t, &found, &size)) return true;
    if (!isfinite(found) || !slope_along(c->ctx, p, t->x, t->n, t->v, t->u, &slope)) return false;
    c->slopes++;
    if (fabs(found - slope) <= 1e-5 * (1 + fabs(slope))) return false;
    snprintf(c->why, sizeof c->why, "<u, J v> is %.12g, the slope is %.12g", found, slope);
    return true;
}

static bool transpose_differs(check *c, const kiln_prog *p, point *t)
{
    double left, size, right = 0;
    kiln_prog *f = NULL;
    kiln_array *ju[MOST] = {NULL};
    if (!slope_of(c, p, t, &left, &size)) return true;
    kiln_status s = kiln_prog_vjp(c->ctx, p, NULL, 0, &f);
    if (s == KILN_OK) s = evaluate(c->ctx, SECONDS, f, t->back, ju);
    for (uint32_t i = 0; s == KILN_OK && i < t->nv; i++) right += dot(t->v[i], ju[i]);
    release_arrays(ju, t->nv);
    kiln_prog_release(f);
    if (s != KILN_OK || !isfinite(left) || !isfinite(right)) return refused(c, s);
    if (fabs(left - right) <= 1e-10 * (1 + size)) return false;
    snprintf(c->why, sizeof c->why, "<u, J v> is %.17g, <J' u, v> is %.17g", left, right);
    return true;
}

static bool lanes_differ(check *c, const kiln_prog *p, point *t)
{
    mapped m;
    kiln_array *all[LANES_OUTPUTS] = {NULL};
    bool bad = false;
    if (!mapped_make(c->ctx, p, t->x, t->n, 1 + (int64_t)(c->seed % 3), c->seed, &m)) return false;
    bool ran = evaluate(c->ctx, SECONDS, m.p, m.in, all) == KILN_OK;
    for (int64_t l = 0; l < m.lanes && ran && !bad; l++) {
        kiln_array *x[MOST], *want[MOST] = {NULL};
        for (uint32_t i = 0; i < t->n; i++) x[i] = mapped_operand(c->ctx, &m, t->x[i], i, l);
        ran = evaluate(c->ctx, SECONDS, p, x, want) == KILN_OK;
        for (uint32_t k = 0; k < kiln_prog_n_outputs(p) && ran; k++) {
            int64_t at = 0;
            kiln_array *got = mapped_result(c->ctx, &m, all[k], k, l, want[k]->type);
            if (!bad && !same_array(got, want[k], &at)) {
                snprintf(c->why, sizeof c->why, "lane %lld, result %u, element %lld", (long long)l, k, (long long)at);
                bad = true;
            }
            kiln_array_release(got);
        }
        release_arrays(want, kiln_prog_n_outputs(p));
        release_arrays(x, t->n);
    }
    release_arrays(all, kiln_prog_n_outputs(p));
    mapped_drop(&m, t->n);
    return bad;
}

static bool checkpoint_differs(check *c, const kiln_prog *p, point *t)
{
    static const char *const words[] = {"vjp", "vjp(checkpoint)", "vjp(checkpoint:dots)"};
    kiln_array *got[3][MOST] = {{NULL}};
    bool ran = true, bad = false;
    for (int w = 0; w < 3 && ran && !bad; w++) {
        kiln_prog *f = NULL;
        kiln_status s = kiln_prog_transform(c->ctx, p, words[w], NULL, 0, &f);
        if (s == KILN_OK) s = evaluate(c->ctx, SECONDS, f, t->back, got[w]);
        kiln_prog_release(f);
        ran = s == KILN_OK;
        bad = refused(c, s);
        for (uint32_t i = 0; w && ran && i < t->nv && !bad; i++) {
            if (same_array(got[w][i], got[0][i], NULL)) continue;
            snprintf(c->why, sizeof c->why, "%s and vjp differ in cotangent %u", words[w], i);
            bad = true;
        }
    }
    for (int w = 0; w < 3; w++) release_arrays(got[w], t->nv);
    return bad;
}

/* One word of each length; those that grow large end early. */
static bool words_fail(check *c, const kiln_prog *p)
{
    uint64_t draw = c->seed * 0x9e3779b97f4a7c15u;
    for (unsigned length = 1; length <= WORD_LENGTH; length++) {
        kiln_prog *q = NULL;
        const kiln_prog *from = p;
        char word[100] = "";
        kiln_status s = KILN_OK;
        for (unsigned k = 0; k < length && s == KILN_OK; k++) {
            unsigned letter = (unsigned)(lane_draw(&draw) % WORD_LETTERS);
            kiln_prog *next = NULL;
            size_t n = strlen(word);
            snprintf(word + n, sizeof word - n, "%s%s", n ? " of that, " : "", word_letters[letter]);
            s = word_apply(c->ctx, from, letter, k + letter, &next);
            kiln_prog_release(q);
            from = q = next;
        }
        bool bad = refused(c, s);
        if (s == KILN_OK && kiln_prog_n_equations(q) < LARGE && kiln_prog_n_outputs(q) < WORD_OUT && kiln_prog_n_inputs(q) < WORD_IN) {
            c->words++;
            limit_begin(10);
            bad = !word_bits(c->ctx, q, c->seed, &too_long, c->why, sizeof c->why);
            limit_end();
        }
        kiln_prog_release(q);
        size_t n = strlen(c->why);
        if (bad) snprintf(c->why + n, sizeof c->why - n, " (%s)", word);
        if (bad) return true;
    }
    return false;
}

static bool fails(void *ud, const kiln_prog *p, kiln_array *const *in)
{
    check *c = ud;
    point t;
    bool bad = false;
    kiln_array *y[MOST] = {NULL};
    if (kiln_prog_n_inputs(p) > MOST || kiln_prog_n_outputs(p) > MOST || evaluate(c->ctx, SECONDS, p, in, y) != KILN_OK) return false;
    release_arrays(y, kiln_prog_n_outputs(p));
    point_make(c, p, in, &t);
    for (int k = 0; k < N_PROPERTIES && !bad && t.nv && t.nu; k++) {
        if (c->only >= 0 && c->only != k) continue;
        c->found = k;
        switch ((property)k) {
        case SLOPES: bad = slopes_differ(c, p, &t); break;
        case TRANSPOSED: bad = transpose_differs(c, p, &t); break;
        case LANES: bad = lanes_differ(c, p, &t); break;
        case CHECKPOINT: bad = checkpoint_differs(c, p, &t); break;
        case WORDS: bad = words_fail(c, p); break;
        case N_PROPERTIES: break;
        }
    }
    point_drop(&t);
    return bad;
}

static unsigned check_seed(kiln_ctx *ctx, uint64_t seed, unsigned *slopes, unsigned *words)
{
    static const char *const names[] = {"jvp", "transpose", "vmap", "checkpoint", "word"};
    kiln_array *in[RP_INPUTS];
    shrink_case s = {0};
    check c = {.ctx = ctx, .seed = seed, .only = -1};
    assert_ok(ctx, random_smooth(ctx, seed, 5 + (uint32_t)(seed % 9), &s.p, in, &s.nin));
    for (uint32_t i = 0; i < s.nin; i++) s.in[i] = in[i];
    bool bad = fails(&c, s.p, s.in);
    *slopes += c.slopes;
    *words += c.words;
    if (bad) {
        char *text;
        size_t n;
        c.only = c.found;
        shrink_program(ctx, &s, fails, &c);
        fails(&c, s.p, s.in);
        print_error("seed %llu, %s: %s\n", (unsigned long long)seed, names[c.found], c.why);
        if (kiln_prog_print(ctx, s.p, 120, &text, &n) == KILN_OK) {
            print_error("%s", text);
            kiln_text_free(ctx, text, n);
        }
    }
    shrink_release(&s);
    return bad;
}

static void run_seeds(kiln_ctx *ctx, uint64_t first)
{
    const char *only = getenv("KILN_TEST_SEED"), *more = getenv("KILN_TEST_PROGRAMS");
    uint64_t n = only ? 1 : more ? strtoull(more, NULL, 10) : 12;
    unsigned bad = 0, slopes = 0, words = 0;
    if (only) first = strtoull(only, NULL, 10);
    for (uint64_t k = 0; k < n && bad < 5; k++) bad += check_seed(ctx, first + k, &slopes, &words);
    print_message("%llu programs, %u slopes measured, %u words run\n", (unsigned long long)n, slopes, words);
    assert_int_equal(bad, 0);
    if (!only) assert_true(slopes >= n / 2 && words >= 2 * n);
}

static void fixed_seeds(void **state) { run_seeds(*state, 1); }

static void seeds_of_the_commit(void **state)
{
    char line[64] = "";
    FILE *f = popen("git -C '" KILN_SOURCE_DIR "' rev-parse --verify -q HEAD 2>/dev/null", "r");
    if (f && !fgets(line, sizeof line, f)) line[0] = 0;
    if (f) pclose(f);
    line[12] = 0;
    if (!line[0]) {
        print_message("no commit is known here (no git, or no repository): only the fixed seeds ran\n");
        return;
    }
    uint64_t seed = strtoull(line, NULL, 16);
    print_message("commit %s: seeds from %llu\n", line, (unsigned long long)seed);
    run_seeds(*state, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fixed_seeds), cmocka_unit_test(seeds_of_the_commit)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
