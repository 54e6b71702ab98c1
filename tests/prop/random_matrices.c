/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives that are made of others, of random programs: what each is follows from another one.
 *   - jacfwd and jacrev are one matrix, whose product with a direction linearize gives, and whose product with a cotangent vjp gives
 *   - transpose of linearize is vjp; so is it of linearize in two programs
 *   - sparse_jacobian holds what jacfwd has, and nothing where that is not zero is missing
 *   - hessian is symmetric, and its product with a direction is hvp; grad of grad's product with it
 * Seeds and variables are those of random_derivatives.c. */
#include "random_smooth.h"
#include "seeds.h"
#include "shrink.h"
#include "slopes.h"
#include "timed.h"

#include "kiln/transform.h"

enum { MOST = SLOPE_ARRAYS, SECONDS = 4, LARGE = 4000 };
typedef enum property { MATRIX, TRANSPOSE, SPARSE, SECOND, N_PROPERTIES } property;
static const char *const property_names[] = {"jacfwd and jacrev", "transpose of linearize", "sparse_jacobian", "hessian and hvp"};

typedef struct check {
    kiln_ctx *ctx;
    uint64_t seed;
    int only, found;
    unsigned compared;
    char why[KILN_DIAG_TEXT + 64];
} check;

typedef struct results {
    kiln_prog *p;
    kiln_array *y[MOST];
    uint32_t n;
} results;

static void drop(results *r)
{
    release_arrays(r->y, r->n);
    kiln_prog_release(r->p);
    *r = (results){0};
}

/* A complaint that is none of time or size: every program here has all derivatives. */
static bool refused(check *c, kiln_status s, const char *word)
{
    if (s == KILN_OK || s == KILN_CANCELLED) return false;
    snprintf(c->why, sizeof c->why, "%s: %s", word, kiln_ctx_error(c->ctx)->message);
    return true;
}

/* Makes and evaluates; false where it is too long or wrong (then c->why says it). */
static bool run(check *c, const kiln_prog *p, const char *word, kiln_array *const *in, results *out)
{
    *out = (results){0};
    kiln_status s = kiln_prog_transform(c->ctx, p, word, NULL, 0, &out->p);
    if (s == KILN_OK && (kiln_prog_n_outputs(out->p) > MOST || kiln_prog_n_equations(out->p) > LARGE)) s = KILN_CANCELLED;
    if (s == KILN_OK) {
        out->n = kiln_prog_n_outputs(out->p);
        s = evaluate(c->ctx, SECONDS, out->p, in, out->y);
        if (s != KILN_OK) out->n = 0;
    }
    return !refused(c, s, word) && s == KILN_OK;
}

static bool finite(const kiln_array *a)
{
    for (int64_t i = 0; i < kiln_type_size(a->type); i++)
        if (!(fabs(((double *)a->data)[i]) < 1e100)) return false;
    return true;
}

static bool close_to(check *c, const char *what, uint32_t k, int64_t i, double a, double b, double size)
{
    c->compared++;
    if (fabs(a - b) <= 1e-9 * (1 + size) || !isfinite(a) || !isfinite(b)) return true;
    snprintf(c->why, sizeof c->why, "%s %u, element %lld: %.17g and %.17g", what, k, (long long)i, a, b);
    return false;
}

/* Operands that are f64 arrays, results that are; a direction for each operand, a cotangent for each result. */
typedef struct point {
    uint32_t n, nx, ny, x[MOST], y[MOST];
    kiln_array *in[2 * MOST], *v[MOST], *u[MOST];
    char list[256]; /* "0,2" */
} point;

static void point_make(check *c, const kiln_prog *p, kiln_array *const *in, point *t)
{
    uint64_t state = c->seed * 7919 + 1;
    *t = (point){.n = kiln_prog_n_inputs(p)};
    for (uint32_t i = 0; i < t->n; i++) {
        t->in[i] = in[i];
        if (in[i]->type.dtype != KILN_F64) continue;
        size_t at = strlen(t->list);
        snprintf(t->list + at, sizeof t->list - at, "%s%u", at ? "," : "", i);
        t->v[t->nx] = random_like(c->ctx, in[i]->type, &state);
        t->x[t->nx++] = i;
    }
    for (uint32_t k = 0; k < kiln_prog_n_outputs(p); k++) {
        if (kiln_prog_output_type(p, k).dtype != KILN_F64) continue;
        t->u[t->ny] = random_like(c->ctx, kiln_prog_output_type(p, k), &state);
        t->y[t->ny++] = k;
    }
}

static bool matrices_differ(check *c, const kiln_prog *p, point *t)
{
    char word[300];
    results forward, reverse = {0}, slope = {0}, back = {0};
    bool bad = false;
    snprintf(word, sizeof word, "jacfwd:%s", t->list);
    bool ran = run(c, p, word, t->in, &forward);
    snprintf(word, sizeof word, "jacrev:%s", t->list);
    ran = ran && run(c, p, word, t->in, &reverse);
    for (uint32_t k = 0; k < t->nx; k++) t->in[t->n + k] = t->v[k];
    ran = ran && run(c, p, "linearize", t->in, &slope);
    for (uint32_t k = 0; k < t->ny; k++) t->in[t->n + k] = t->u[k];
    ran = ran && run(c, p, "vjp", t->in, &back);
    for (uint32_t k = 0; k < t->ny && ran && !bad; k++) {
        int64_t rows = kiln_type_size(t->u[k]->type);
        for (int64_t r = 0; r < rows && !bad; r++) {
            double sum = 0, size = 0;
            for (uint32_t i = 0; i < t->nx && !bad; i++) {
                const kiln_array *a = forward.y[k * t->nx + i], *b = reverse.y[k * t->nx + i];
                int64_t columns = kiln_type_size(t->v[i]->type);
                for (int64_t q = 0; q < columns && !bad; q++) {
                    double x = ((double *)a->data)[r * columns + q], v = ((double *)t->v[i]->data)[q];
                    bad = !close_to(c, "jacfwd and jacrev, matrix", k * t->nx + i, r * columns + q, x, ((double *)b->data)[r * columns + q], fabs(x));
                    sum += x * v, size += fabs(x * v);
                }
            }
            if (!bad) bad = !close_to(c, "jacfwd and linearize, result", k, r, sum, ((double *)slope.y[k]->data)[r], size);
        }
    }
    for (uint32_t i = 0; i < t->nx && ran && !bad; i++) {
        int64_t columns = kiln_type_size(t->v[i]->type);
        for (int64_t q = 0; q < columns && !bad; q++) {
            double sum = 0, size = 0;
            for (uint32_t k = 0; k < t->ny; k++)
                for (int64_t r = 0; r < kiln_type_size(t->u[k]->type); r++) {
                    double x = ((double *)reverse.y[k * t->nx + i]->data)[r * columns + q] * ((double *)t->u[k]->data)[r];
                    sum += x, size += fabs(x);
                }
            bad = !close_to(c, "jacrev and vjp, operand", i, q, sum, ((double *)back.y[i]->data)[q], size);
        }
    }
    drop(&forward), drop(&reverse), drop(&slope), drop(&back);
    return bad || c->why[0];
}

static bool transposes_differ(check *c, const kiln_prog *p, point *t)
{
    char word[300] = "transpose:";
    results back, other = {0};
    bool bad = false;
    for (uint32_t k = 0; k < t->nx; k++) {
        size_t at = strlen(word);
        snprintf(word + at, sizeof word - at, "%s%u", k ? "," : "", t->n + k);
    }
    strcat(word, "(linearize)");
    for (uint32_t k = 0; k < t->ny; k++) t->in[t->n + k] = t->u[k];
    bool ran = run(c, p, "vjp", t->in, &back) && run(c, p, word, t->in, &other);
    for (uint32_t i = 0; i < t->nx && ran && !bad; i++)
        for (int64_t q = 0; q < kiln_type_size(t->v[i]->type) && !bad; q++) {
            double x = ((double *)back.y[i]->data)[q];
            bad = !close_to(c, "operand", i, q, x, ((double *)other.y[i]->data)[q], fabs(x));
        }
    drop(&back), drop(&other);
    return bad || c->why[0];
}

static bool sparse_differs(check *c, const kiln_prog *p, point *t)
{
    bool bad = false;
    for (uint32_t i = 0; i < t->nx && !bad; i++) {
        char word[64];
        results dense, sparse = {0};
        snprintf(word, sizeof word, "jacfwd:%u", t->x[i]);
        bool ran = run(c, p, word, t->in, &dense);
        snprintf(word, sizeof word, "sparse_jacobian:%u", t->x[i]);
        ran = ran && run(c, p, word, t->in, &sparse);
        for (uint32_t k = 0; k < t->ny && ran && !bad; k++) {
            const int32_t *starts = sparse.y[3 * k]->data, *columns = sparse.y[3 * k + 1]->data;
            const double *v = sparse.y[3 * k + 2]->data, *d = dense.y[k]->data;
            int64_t width = kiln_type_size(t->v[i]->type), rows = kiln_type_size(t->u[k]->type);
            if (!finite(dense.y[k])) continue;
            for (int64_t r = 0; r < rows && !bad; r++)
                for (int64_t q = 0, e = starts[r]; q < width && !bad; q++) {
                    bool there = e < starts[r + 1] && columns[e] == q;
                    bad = !close_to(c, "result", k, r * width + q, there ? v[e] : 0, d[r * width + q], fabs(d[r * width + q]));
                    e += there;
                }
        }
        drop(&dense), drop(&sparse);
    }
    return bad || c->why[0];
}

/* Of the sum of the first result. */
static bool seconds_differ(check *c, const kiln_prog *p, point *t)
{
    bool bad = false;
    if (kiln_prog_output_type(p, 0).dtype != KILN_F64) return false;
    for (uint32_t i = 0; i < t->nx && !bad; i++) {
        char word[64];
        results hessian, product = {0}, slope = {0};
        int64_t n = kiln_type_size(t->v[i]->type);
        snprintf(word, sizeof word, "hessian:%u(sum)", t->x[i]);
        bool ran = run(c, p, word, t->in, &hessian);
        t->in[t->n] = t->v[i];
        snprintf(word, sizeof word, "hvp:%u(sum)", t->x[i]);
        ran = ran && run(c, p, word, t->in, &product);
        snprintf(word, sizeof word, "linearize:%u(grad:%u(checkpoint(sum)))", t->x[i], t->x[i]);
        ran = ran && run(c, p, word, t->in, &slope);
        const double *h = ran ? hessian.y[0]->data : NULL;
        for (int64_t r = 0; r < n && ran && !bad; r++) {
            double sum = 0, size = 0;
            for (int64_t q = 0; q < n && !bad; q++) {
                sum += h[r * n + q] * ((double *)t->v[i]->data)[q], size += fabs(h[r * n + q]);
                bad = !close_to(c, "hessian, operand", t->x[i], r * n + q, h[r * n + q], h[q * n + r], fabs(h[r * n + q]));
            }
            bad = bad || !close_to(c, "hessian and hvp, operand", t->x[i], r, sum, ((double *)product.y[0]->data)[r], size);
            bad = bad || !close_to(c, "hvp and linearize of grad, operand", t->x[i], r, ((double *)slope.y[0]->data)[r], ((double *)product.y[0]->data)[r], size);
        }
        drop(&hessian), drop(&product), drop(&slope);
    }
    return bad || c->why[0];
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
    for (int k = 0; k < N_PROPERTIES && !bad && t.nx && t.ny; k++) {
        if (c->only >= 0 && c->only != k) continue;
        c->found = k;
        c->why[0] = 0;
        switch ((property)k) {
        case MATRIX: bad = matrices_differ(c, p, &t); break;
        case TRANSPOSE: bad = transposes_differ(c, p, &t); break;
        case SPARSE: bad = sparse_differs(c, p, &t); break;
        case SECOND: bad = seconds_differ(c, p, &t); break;
        case N_PROPERTIES: break;
        }
    }
    release_arrays(t.v, t.nx);
    release_arrays(t.u, t.ny);
    return bad;
}

static unsigned check_seed(kiln_ctx *ctx, uint64_t seed, unsigned *compared)
{
    kiln_array *in[RP_INPUTS];
    shrink_case s = {0};
    check c = {.ctx = ctx, .seed = seed, .only = -1};
    assert_ok(ctx, random_smooth(ctx, seed, 4 + (uint32_t)(seed % 7), &s.p, in, &s.nin));
    for (uint32_t i = 0; i < s.nin; i++) s.in[i] = in[i];
    bool bad = fails(&c, s.p, s.in);
    *compared += c.compared;
    if (bad) {
        char *text;
        size_t n;
        c.only = c.found;
        shrink_program(ctx, &s, fails, &c);
        fails(&c, s.p, s.in);
        print_error("seed %llu, %s: %s\n", (unsigned long long)seed, property_names[c.found], c.why);
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
    const char *only = getenv("KILN_TEST_SEED");
    uint64_t n = only ? 1 : number_of("KILN_TEST_PROGRAMS", 12);
    unsigned bad = 0, compared = 0;
    if (only) first = number_of("KILN_TEST_SEED", first);
    for (uint64_t k = 0; k < n && bad < 5; k++) bad += check_seed(ctx, first + k, &compared);
    print_message("%llu programs, %u numbers compared\n", (unsigned long long)n, compared);
    assert_int_equal(bad, 0);
    if (!only) assert_true(compared >= 10 * n);
}

static void fixed_seeds(void **state) { run_seeds(*state, 500000); }
static void seeds_of_the_commit(void **state)
{
    uint64_t seed;
    if (commit_seed(&seed)) run_seeds(*state, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fixed_seeds), cmocka_unit_test(seeds_of_the_commit)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
