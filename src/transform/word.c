/* SPDX-License-Identifier: Apache-2.0 */
/* Words: names of transformations with arguments, nested, the outermost first. They are read into a list and applied from its end. */
#include "transform/transform.h"
#include "transform/prog.h"
#include "transform/sparse.h"
#include "transform/words.h"

#include "prims.gen.h"

/* Nested derivatives grow with the power of their depth: of a program of n equations at most MOST_EQUATIONS or MOST_GROWTH n are made. */
enum { MOST_WORDS = 64, MOST_EQUATIONS = 1 << 20, MOST_GROWTH = 64 };

typedef struct word {
    const char *name, *args; /* both end in text; args: what stands between ':' and '(' or the end, or NULL */
    const char *const *arg;
    uint32_t n;
    int *axes, *out_axes; /* vmap; out_axes: NULL: not said */
    uint32_t n_out;
    int64_t lanes; /* vmap: -1: not known */
} word;

typedef kiln_status (*plain_fn)(const kn_rules *r, const kn_jaxpr *j, const kn_jaxpr **out);
typedef kiln_status (*apply_fn)(const kn_rules *r, const kn_jaxpr *j, const word *w, const kn_jaxpr **out);
typedef struct meaning {
    const char *name;
    apply_fn apply; /* NULL: the word takes no arguments, and `plain` is applied */
    plain_fn plain;
} meaning;

/* ---- arguments ---- */

static kiln_status index_of(const kn_rules *r, const word *w, const char *text, uint32_t *out)
{
    uint64_t v = 0;
    const char *s = text;
    for (; *s >= '0' && *s <= '9' && v < UINT32_MAX; s++) v = 10 * v + (uint64_t)(*s - '0');
    if (*s || s == text || v >= UINT32_MAX)
        return kn_fail(r->ctx, KILN_INVALID, "transform: %s takes numbers of operands, found '%s'", w->name, text);
    *out = (uint32_t)v;
    return KILN_OK;
}

/* `aux` behind the numbers (may be NULL: not taken). */
static kiln_status indices(const kn_rules *r, const word *w, bool needed, uint32_t **out, uint32_t *n, bool *aux)
{
    *n = w->n;
    if (aux) *aux = *n && strcmp(w->arg[*n - 1], "aux") == 0;
    if (aux && *aux) --*n;
    if (*n == 0 && needed) return kn_fail(r->ctx, KILN_INVALID, "transform: %s needs operands to differentiate, as in %s:0", w->name, w->name);
    KILN_TRY_MEM(r->ctx, *out = KN_NEWN(&r->prog->arena, uint32_t, *n));
    for (uint32_t i = 0; i < *n; i++) KILN_TRY(index_of(r, w, w->arg[i], &(*out)[i]));
    return KILN_OK;
}

/* ---- the words ---- */

static kiln_status apply_some(const kn_rules *r, const kn_jaxpr *j, const word *w, const kn_jaxpr **out)
{
    uint32_t *k, n;
    KILN_TRY(indices(r, w, false, &k, &n, NULL));
    if (strcmp(w->name, "jvp") == 0) return kn_jvp(r, j, k, n, out);
    if (strcmp(w->name, "vjp") == 0) return kn_vjp(r, j, k, n, out);
    if (strcmp(w->name, "transpose") == 0) return kn_transposed(r, j, k, n, out);
    return kn_linearize(r, j, k, n, out);
}
static kiln_status apply_grad(const kn_rules *r, const kn_jaxpr *j, const word *w, const kn_jaxpr **out)
{
    uint32_t *k, n;
    bool aux;
    KILN_TRY(indices(r, w, true, &k, &n, &aux));
    if (strcmp(w->name, "grad") == 0) return kn_grad(r, j, k, n, aux ? KN_GRAD_AUX : 0, out);
    return kn_grad(r, j, k, n, KN_GRAD_VALUE | KN_GRAD_AUX, out);
}
static kiln_status apply_hvp(const kn_rules *r, const kn_jaxpr *j, const word *w, const kn_jaxpr **out)
{
    uint32_t *k, n;
    KILN_TRY(indices(r, w, true, &k, &n, NULL));
    if (n != 1) return kn_fail(r->ctx, KILN_INVALID, "transform: hvp takes one operand, found '%s'", w->args);
    return kn_hvp(r, j, k[0], out);
}
static kiln_status apply_sparse(const kn_rules *r, const kn_jaxpr *j, const word *w, const kn_jaxpr **out)
{
    uint32_t *k, n;
    KILN_TRY(indices(r, w, true, &k, &n, NULL));
    if (n != 1) return kn_fail(r->ctx, KILN_INVALID, "transform: sparse_jacobian takes one operand, found '%s'", w->args);
    return kn_sparse_jacobian(r, j, k[0], NULL, out);
}
static kiln_status apply_jacobian(const kn_rules *r, const kn_jaxpr *j, const word *w, const kn_jaxpr **out)
{
    uint32_t *k, n;
    KILN_TRY(indices(r, w, true, &k, &n, NULL));
    if (strcmp(w->name, "hessian") == 0) return kn_hessian(r, j, k, n, out);
    return kn_jacobian(r, j, k, n, strcmp(w->name, "jacrev") == 0, out);
}
static kiln_status apply_vmap(const kn_rules *r, const kn_jaxpr *j, const word *w, const kn_jaxpr **out)
{
    uint32_t n = kn_nargs(j);
    if (w->n != n)
        return kn_fail(r->ctx, KILN_INVALID, "transform: vmap:%s names %u operands, the program has %u; one axis or None for each",
                       w->args ? w->args : "", w->n, n);
    if (w->lanes < 0)
        return kn_fail(r->ctx, KILN_INVALID, "transform: how many lanes vmap:%s has does not follow from operands; say it with an axis, as in vmap:0*8",
                       w->args ? w->args : "");
    if (w->out_axes && w->n_out != j->nout)
        return kn_fail(r->ctx, KILN_INVALID, "transform: vmap:%s names %u results, the program has %u; one axis or None for each", w->args, w->n_out, j->nout);
    return kn_vmap(r, j, w->lanes, w->axes, w->out_axes, out);
}
static kiln_status apply_checkpoint(const kn_rules *r, const kn_jaxpr *j, const word *w, const kn_jaxpr **out)
{
    KILN_TRY(kn_checkpoint_named(r, j, w->arg, w->n));
    return kn_checkpoint(r, j, w->arg, w->n, out);
}

static const meaning words[] = {
    {"checkpoint", apply_checkpoint, NULL},
    {"grad", apply_grad, NULL},
    {"hessian", apply_jacobian, NULL},
    {"hvp", apply_hvp, NULL},
    {"jacfwd", apply_jacobian, NULL},
    {"jacrev", apply_jacobian, NULL},
    {"jvp", apply_some, NULL},
    {"linearize", apply_some, NULL},
    {"sparse_jacobian", apply_sparse, NULL},
    {"sum", NULL, kn_sum_first},
    {"transpose", apply_some, NULL},
    {"value_and_grad", apply_grad, NULL},
    {"vjp", apply_some, NULL},
    {"vmap", apply_vmap, NULL},
};

static kiln_status apply(const kn_rules *r, const kn_jaxpr *j, const word *w, const meaning *means, const kn_jaxpr **out)
{
    if (means->apply) return means->apply(r, j, w, out);
    if (w->n) return kn_fail(r->ctx, KILN_INVALID, "transform: %s takes no arguments, found '%s'", w->name, w->args);
    return means->plain(r, j, out);
}

/* ---- reading ---- */

/* A number of at most 18 digits; false when there is none. */
static bool number(const char **s, int64_t *v)
{
    const char *from = *s;
    for (*v = 0; **s >= '0' && **s <= '9' && *s - from < 18; ++*s) *v = 10 * *v + (**s - '0');
    return *s > from;
}

/* Axes of results: what stands behind `->` of a vmap. */
static kiln_status split_axes(const kn_rules *r, word *w, const char *s)
{
    KILN_TRY_MEM(r->ctx, w->out_axes = KN_NEWN(&r->prog->arena, int, strlen(s) + 1));
    for (;; s++) {
        int64_t axis = KN_NO_AXIS;
        bool none = strncmp(s, "None", 4) == 0;
        if (none) s += 4;
        if ((!none && (!number(&s, &axis) || axis > KN_RANK_LIMIT)) || (*s && *s != ','))
            return kn_fail(r->ctx, KILN_INVALID, "transform: vmap takes axes and None for results, found '%s' in '%s'", s, w->args);
        w->out_axes[w->n_out++] = (int)axis;
        if (!*s) return KILN_OK;
    }
}

static kiln_status split(const kn_rules *r, word *w)
{
    kn_arena *arena = &r->prog->arena;
    KN_VEC(const char *) v = {NULL, 0, 0};
    const char *outs = w->args && strcmp(w->name, "vmap") == 0 ? strstr(w->args, "->") : NULL;
    if (outs) KILN_TRY(split_axes(r, w, outs + 2));
    const char *own = outs ? kn_arena_textn(arena, w->args, (size_t)(outs - w->args)) : w->args;
    KILN_TRY_MEM(r->ctx, own || !w->args);
    for (const char *s = own; s;) {
        const char *comma = strchr(s, ',');
        size_t n = comma ? (size_t)(comma - s) : strlen(s);
        const char *one = kn_arena_textn(arena, s, n);
        KILN_TRY_MEM(r->ctx, one && kn_push(arena, &v, one));
        if (n == 0) return kn_fail(r->ctx, KILN_INVALID, "transform: an argument of %s is empty in '%s:%s'", w->name, w->name, w->args);
        s = comma ? comma + 1 : NULL;
    }
    w->arg = v.v;
    w->n = v.n;
    return KILN_OK;
}

/* name (":" args)? ("(" word ")")? */
static kiln_status read_words(const kn_rules *r, const char *text, word *list, uint32_t *n)
{
    kn_arena *arena = &r->prog->arena;
    const char *s = text;
    uint32_t open = 0;
    for (*n = 0;; s++) {
        if (*n == MOST_WORDS) return kn_fail(r->ctx, KILN_INVALID, "transform: more than %d words in '%s'", MOST_WORDS, text);
        word *w = &list[(*n)++];
        size_t len = strcspn(s, ":()");
        *w = (word){.name = kn_arena_textn(arena, s, len)};
        KILN_TRY_MEM(r->ctx, w->name);
        s += len;
        if (len == 0) return kn_fail(r->ctx, KILN_INVALID, "transform: a word is missing at '%s' in '%s'", s, text);
        if (*s == ':') {
            len = strcspn(++s, ":()");
            KILN_TRY_MEM(r->ctx, w->args = kn_arena_textn(arena, s, len));
            s += len;
        }
        KILN_TRY(split(r, w));
        if (*s != '(') break;
        open++;
    }
    for (; open && *s == ')'; s++) open--;
    if (*s || open)
        return kn_fail(r->ctx, KILN_INVALID, "transform: '%s' where %s should stand, in '%s'", *s ? s : "the end", open ? "a ')'" : "the end", text);
    return KILN_OK;
}

/* A number, or n: as many as the program is given when it runs. */
static bool lanes_of(const char **s, int64_t *lanes)
{
    if (**s != 'n') return number(s, lanes);
    ++*s;
    *lanes = KILN_DIM_N;
    return true;
}

/* Axes, None, and numbers of lanes: "0", "None", "0*8", "0*n". */
static kiln_status read_axes(const kn_rules *r, word *w)
{
    KILN_TRY_MEM(r->ctx, w->axes = KN_NEWN(&r->prog->arena, int, w->n + 1));
    w->lanes = -1;
    for (uint32_t i = 0; i < w->n; i++) {
        const char *s = w->arg[i];
        int64_t axis, lanes = -1;
        w->axes[i] = KN_NO_AXIS;
        if (strcmp(s, "None") == 0) continue;
        bool good = number(&s, &axis) && axis <= KN_RANK_LIMIT;
        if (good && *s == '*') s++, good = lanes_of(&s, &lanes) && (w->lanes < 0 || w->lanes == lanes);
        if (!good || *s)
            return kn_fail(r->ctx, KILN_INVALID, "transform: vmap takes axes (with a number of lanes, if need be: 0*8) and None, found '%s'", w->arg[i]);
        w->axes[i] = (int)axis;
        if (lanes >= 0) w->lanes = lanes;
    }
    return KILN_OK;
}

typedef struct request {
    const char *text;
    const kiln_type *operands;
    uint32_t n;
} request;

/* From the outermost word inwards: operands that have lanes say how many, and lose the axis. What a derivative adds comes last. */
static kiln_status count_lanes(const kn_rules *r, const request *q, word *list, uint32_t n, const kiln_type **inner)
{
    kiln_type *t = KN_NEWN(&r->prog->arena, kiln_type, q->n + 1);
    KILN_TRY_MEM(r->ctx, t);
    uint32_t known = q->n;
    if (inner) *inner = t;
    for (uint32_t i = 0; i < q->n; i++) t[i] = q->operands[i];
    for (uint32_t k = 0; k < n; k++) {
        word *w = &list[k];
        if (strcmp(w->name, "transpose") == 0) known = 0; /* operands inside are others */
        if (strcmp(w->name, "vmap") != 0) continue;
        KILN_TRY(read_axes(r, w));
        for (uint32_t i = 0; i < w->n && i < known; i++) {
            uint32_t axis = (uint32_t)w->axes[i];
            int64_t *dims = KN_NEWN(&r->prog->arena, int64_t, t[i].rank + 1);
            KILN_TRY_MEM(r->ctx, dims);
            if (w->axes[i] == KN_NO_AXIS) continue;
            if (axis >= t[i].rank)
                return kn_fail(r->ctx, KILN_SHAPE, "transform: vmap:%s: operand %u is %s, and has no axis %u", w->args, i, kn_type_show(t[i]).s, axis);
            if (w->lanes >= 0 && w->lanes != KILN_DIM_N && w->lanes != t[i].dims[axis])
                return kn_fail(r->ctx, KILN_SHAPE, "transform: vmap:%s: operand %u, %s, has %lld lanes, not %lld as the others", w->args, i,
                               kn_type_show(t[i]).s, (long long)t[i].dims[axis], (long long)w->lanes);
            if (w->lanes != KILN_DIM_N) w->lanes = t[i].dims[axis];
            for (uint32_t d = 0; d + 1 < t[i].rank; d++) dims[d] = t[i].dims[d < axis ? d : d + 1];
            t[i].rank--;
            t[i].dims = dims;
        }
    }
    return KILN_OK;
}

static kiln_status find(const kn_rules *r, const word *w, const meaning **out)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].name, w->name) == 0) {
            *out = &words[i];
            return KILN_OK;
        }
    return kn_fail(r->ctx, KILN_INVALID,
                   "transform: no word '%s'; there are checkpoint, grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, sparse_jacobian, sum, transpose, value_and_grad, vjp, vmap",
                   w->name);
}

static kiln_status check_size(const kn_rules *r, const kn_jaxpr *j, uint32_t done, uint32_t left, uint64_t most)
{
    uint64_t n = kn_jaxpr_count(j);
    if (n <= most) return KILN_OK;
    return kn_fail(r->ctx, KILN_UNSUPPORTED,
                   "transform: the innermost %u words of %u make a program of %llu equations; accepted: %llu. Each derivative of a derivative takes two to "
                   "three times as many; those in some operands, as jvp:0 and hvp:0, take fewer",
                   done, done + left, (unsigned long long)n, (unsigned long long)most);
}

static kiln_status transform(const kn_rules *r, const kn_jaxpr *j, const void *how, const kn_jaxpr **out)
{
    const request *q = how;
    word list[MOST_WORDS];
    const meaning *means[MOST_WORDS];
    uint32_t n;
    KILN_TRY(read_words(r, q->text, list, &n));
    for (uint32_t i = 0; i < n; i++) KILN_TRY(find(r, &list[i], &means[i]));
    KILN_TRY(count_lanes(r, q, list, n, NULL));
    uint64_t few = kn_jaxpr_count(j) * MOST_GROWTH, most = few > MOST_EQUATIONS ? few : MOST_EQUATIONS;
    *out = j;
    for (uint32_t done = 1; n-- > 0; done++) {
        KILN_TRY_NOTE(r->ctx, apply(r, *out, &list[n], means[n], out), "while transforming by %s%s%s", list[n].name, list[n].args ? ":" : "",
                      list[n].args ? list[n].args : "");
        KILN_TRY(kn_trim(r, *out, out));
        KILN_TRY(check_size(r, *out, done, n, most));
    }
    return KILN_OK;
}

typedef struct finder {
    const kn_rules *r;
    kiln_status status;
} finder;
static void find_forward(void *ud, const kn_jaxpr *j)
{
    finder *f = ud;
    for (uint32_t k = 0; k < j->neqns && f->status == KILN_OK; k++) {
        const kn_eqn *e = &j->eqns[k];
        if (e->prim == &kn_prim_custom_lin)
            f->status = kn_fail(f->r->ctx, KILN_INVALID, "custom_vjp '%s' has a reverse derivative only; it cannot be differentiated forwards",
                                kn_param_of(e, "name")->text);
        else kn_eqn_bodies(e, find_forward, f);
    }
}

kiln_status kn_no_forward_left(const kn_rules *r, const kn_jaxpr *j)
{
    finder f = {r, KILN_OK};
    find_forward(&f, j);
    return f.status;
}

static kiln_status transform_whole(const kn_rules *r, const kn_jaxpr *j, const void *how, const kn_jaxpr **out)
{
    KILN_TRY(transform(r, j, how, out));
    return kn_no_forward_left(r, *out);
}

kiln_status kiln_prog_transform(kiln_ctx *ctx, const kiln_prog *p, const char *text, const kiln_type *operands, uint32_t n_operands, kiln_prog **out)
{
    return kn_prog_apply(ctx, p, transform_whole, &(request){text, operands, operands ? n_operands : 0}, out);
}

kiln_status kn_words_inner(kiln_ctx *ctx, kn_prog *room, const char *text, const kiln_type *types, uint32_t n, const kiln_type **out)
{
    word list[MOST_WORDS];
    uint32_t count;
    const kn_rules r = {.ctx = ctx, .prog = room};
    KILN_TRY(read_words(&r, text, list, &count));
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i].name, "transpose") == 0)
            return kn_fail(ctx, KILN_UNSUPPORTED, "transform: what operands a function has does not follow from those of its transpose, in '%s'", text);
    return count_lanes(&r, &(request){text, types, n}, list, count, out);
}
