/* SPDX-License-Identifier: Apache-2.0 */
#include "run/jit_key.h"

#include "array/array.h"
#include "run/exec.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <xxhash.h>

/* The order of parts: callback, user data, then arguments, then (of calls) word and options. */
typedef enum tag { TAG_BODY, TAG_USER, TAG_VALUE, TAG_STATIC, TAG_WORD, TAG_OPTIONS } tag;
typedef struct part {
    uint32_t tag, index; /* index: of the argument */
    uint64_t bytes;
} part;

typedef struct maker {
    kiln_ctx *ctx;
    const kn_alloc *alloc;
    kn_key *key;
} maker;

static kiln_status put(const maker *m, const void *p, size_t n)
{
    kn_key *k = m->key;
    if (k->n + n > k->cap) {
        size_t cap = 2 * (k->n + n) + 256;
        unsigned char *v = kn_new(m->alloc, cap);
        KILN_TRY_MEM(m->ctx, v);
        if (k->n) memcpy(v, k->v, k->n);
        kn_free(m->alloc, k->v, k->v ? k->cap : 0);
        k->v = v;
        k->cap = cap;
    }
    if (n) memcpy(k->v + k->n, p, n);
    k->n += n;
    return KILN_OK;
}

static kiln_status put_part(const maker *m, tag t, uint32_t index, const void *p, size_t n)
{
    part head = {.tag = t, .index = index, .bytes = n};
    KILN_TRY(put(m, &head, sizeof head));
    return put(m, p, n);
}

static kiln_status put_type(const maker *m, uint32_t index, kiln_type t)
{
    part head = {.tag = TAG_VALUE, .index = index, .bytes = 2 * sizeof(uint32_t) + t.rank * sizeof(int64_t)};
    uint32_t v[2] = {(uint32_t)t.dtype, t.rank};
    KILN_TRY(put(m, &head, sizeof head));
    KILN_TRY(put(m, v, sizeof v));
    return put(m, t.dims, t.rank * sizeof(int64_t));
}

static kiln_status put_options(const maker *m, const kiln_compile_opts *opts)
{
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    if (opts) memcpy(&o, opts, opts->size && opts->size < sizeof o ? opts->size : sizeof o);
    int64_t numbers[] = {o.tier < 0 ? m->ctx->tier : o.tier, o.vector_bits, o.register_elements, o.no_fusion, o.ticks, o.fast | m->ctx->fast};
    KILN_TRY(put_part(m, TAG_OPTIONS, 0, numbers, sizeof numbers));
    const char *target = o.target ? o.target : m->ctx->target;
    return put_part(m, TAG_OPTIONS, 1, target, strlen(target));
}

static kiln_status put_function(const maker *m, const kiln_fn *f)
{
    uint64_t shape[] = {f->n_out, f->user_bytes};
    KILN_TRY(put_part(m, TAG_BODY, 0, &f->body, sizeof f->body));
    KILN_TRY(put_part(m, TAG_BODY, 1, shape, sizeof shape));
    return f->user_bytes ? put_part(m, TAG_USER, 0, f->user, f->user_bytes) : put_part(m, TAG_USER, 0, &f->user, sizeof f->user);
}

kiln_type kn_arg_type(const kiln_arg *a, int64_t dims[KN_RANK_LIMIT])
{
    if (a->kind == KILN_ARG_IS_NUMBER) return KILN_SCALAR(a->dtype);
    kiln_type t = a->array ? a->array->type : (kiln_type){0};
    if (!a->rows || t.rank == 0 || t.rank > KN_RANK_LIMIT) return t;
    for (uint32_t d = 0; d < t.rank; d++) dims[d] = d ? t.dims[d] : KILN_DIM_N;
    t.dims = dims;
    return t;
}

/* Arguments, those that are not static by `types`, or by their own types where it is NULL. */
static kiln_status put_args(const maker *m, const kiln_arg *args, uint32_t n_args, const kiln_type *types, uint32_t n_types)
{
    uint32_t at = 0;
    int64_t dims[KN_RANK_LIMIT];
    for (uint32_t i = 0; i < n_args; i++) {
        const kiln_arg *a = &args[i];
        if (a->kind == KILN_ARG_IS_STATIC) KILN_TRY(put_part(m, TAG_STATIC, i, a->value, a->bytes));
        else if (types && at < n_types) KILN_TRY(put_type(m, i, types[at++]));
        else if (!types) KILN_TRY(put_type(m, i, kn_arg_type(a, dims)));
    }
    return KILN_OK;
}

static maker start(kiln_ctx *ctx, const kn_alloc *alloc, kn_key *out)
{
    *out = (kn_key){NULL, 0, 0};
    return (maker){ctx, alloc, out};
}
static kiln_status finish(const maker *m, kiln_status status)
{
    if (status != KILN_OK) kn_key_free(m->alloc, m->key);
    return status;
}

static kiln_status call_parts(const maker *m, const kiln_fn *f, const kiln_arg *args, uint32_t n_args)
{
    const char *word = f->transform ? f->transform : "";
    KILN_TRY(put_function(m, f));
    KILN_TRY(put_args(m, args, n_args, NULL, 0));
    KILN_TRY(put_part(m, TAG_WORD, f->n_in, word, strlen(word)));
    return put_options(m, f->opts);
}
kiln_status kn_key_of_call(kiln_ctx *ctx, const kn_alloc *alloc, const kiln_fn *f, const kiln_arg *args, uint32_t n_args, kn_key *out)
{
    maker m = start(ctx, alloc, out);
    return finish(&m, call_parts(&m, f, args, n_args));
}

static kiln_status trace_parts(const maker *m, const kiln_fn *f, const kiln_arg *args, uint32_t n_args, const kiln_type *inner, uint32_t n_inner)
{
    KILN_TRY(put_function(m, f));
    return put_args(m, args, n_args, inner, n_inner);
}
kiln_status kn_key_of_trace(kiln_ctx *ctx, const kn_alloc *alloc, const kiln_fn *f, const kiln_arg *args, uint32_t n_args, const kiln_type *inner,
                            uint32_t n_inner, kn_key *out)
{
    maker m = start(ctx, alloc, out);
    return finish(&m, trace_parts(&m, f, args, n_args, inner, n_inner));
}

kiln_status kn_key_of_options(kiln_ctx *ctx, const kn_alloc *alloc, const kiln_compile_opts *o, kn_key *out)
{
    maker m = start(ctx, alloc, out);
    return finish(&m, put_options(&m, o));
}

void kn_key_free(const kn_alloc *alloc, kn_key *k)
{
    kn_free(alloc, k->v, k->v ? k->cap : 0);
    k->v = NULL;
}

bool kn_key_equal(const kn_key *a, const kn_key *b) { return a->n == b->n && memcmp(a->v, b->v, a->n) == 0; }
uint64_t kn_key_hash(const kn_key *k) { return XXH3_64bits(k->v, k->n); }

/* ---- comparing ---- */

typedef struct cursor {
    const unsigned char *at, *end;
    part head;
    const unsigned char *p;
} cursor;
static bool next(cursor *c)
{
    if ((size_t)(c->end - c->at) < sizeof c->head) return false;
    memcpy(&c->head, c->at, sizeof c->head);
    c->p = c->at + sizeof c->head;
    c->at = c->p + c->head.bytes;
    return true;
}
static cursor cursor_of(const kn_key *k) { return (cursor){.at = k->v, .end = k->v + k->n}; }
static bool same_part(const cursor *a, const cursor *b)
{
    return a->head.tag == b->head.tag && a->head.bytes == b->head.bytes && memcmp(a->p, b->p, a->head.bytes) == 0;
}

unsigned kn_key_distance(const kn_key *a, const kn_key *b)
{
    cursor x = cursor_of(a), y = cursor_of(b);
    unsigned n = 0;
    for (;;) {
        bool more_x = next(&x), more_y = next(&y);
        if (!more_x && !more_y) return n;
        bool same = more_x && more_y && same_part(&x, &y);
        if (!same && more_x && x.head.tag == TAG_BODY) return KN_KEY_OTHER;
        n += !same;
    }
}

/* ---- words ---- */

typedef struct text {
    char *s;
    size_t n, cap;
    const kiln_arg *args; /* the names of arguments */
    uint32_t n_args;
} text;
static void say(text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(text *t, const char *fmt, ...)
{
    va_list v;
    va_start(v, fmt);
    int k = t->n < t->cap ? vsnprintf(t->s + t->n, t->cap - t->n, fmt, v) : 0;
    va_end(v);
    if (k > 0) t->n += (size_t)k;
    if (t->n >= t->cap) t->n = t->cap - 1;
}

static void say_static(text *t, const cursor *c)
{
    bool words = c->head.bytes > 0;
    for (uint64_t i = 0; i < c->head.bytes; i++) words = words && (isprint(c->p[i]) || (c->p[i] == 0 && i + 1 == c->head.bytes));
    int64_t wide = 0;
    int32_t narrow = 0;
    if (words) say(t, "'%.*s'", (int)(c->head.bytes > 40 ? 40 : c->head.bytes), (const char *)c->p);
    else if (c->head.bytes == sizeof narrow) memcpy(&narrow, c->p, sizeof narrow), say(t, "%d", narrow);
    else if (c->head.bytes == sizeof wide) memcpy(&wide, c->p, sizeof wide), say(t, "%lld", (long long)wide);
    else say(t, "%llu bytes", (unsigned long long)c->head.bytes);
}

static void say_type(text *t, const cursor *c)
{
    uint32_t v[2];
    int64_t dims[KN_RANK_LIMIT];
    memcpy(v, c->p, sizeof v);
    if (v[1] > KN_RANK_LIMIT) return;
    memcpy(dims, c->p + sizeof v, v[1] * sizeof *dims);
    say(t, "%s", kn_type_show((kiln_type){(kiln_dtype)v[0], v[1], dims}).s);
}

static void say_part(text *t, const cursor *c)
{
    if (c->head.tag == TAG_STATIC) say_static(t, c);
    else if (c->head.tag == TAG_VALUE) say_type(t, c);
}

static void say_argument(text *t, uint32_t k)
{
    say(t, "argument %u", k);
    if (k < t->n_args && t->args[k].name) say(t, " (%s)", t->args[k].name);
}

void kn_key_explain(const kn_key *before, const kn_key *now, const char *name, const kiln_arg *args, uint32_t n_args, char *out, size_t out_bytes)
{
    text t = {out, 0, out_bytes, args, n_args};
    say(&t, "%s: ", name);
    if (!before) {
        say(&t, "first call");
        return;
    }
    cursor x = cursor_of(before), y = cursor_of(now);
    size_t start = t.n;
    for (;;) {
        bool more_x = next(&x), more_y = next(&y);
        if (!more_x && !more_y) break;
        if (more_x && more_y && same_part(&x, &y)) continue;
        const cursor *c = more_y ? &y : &x;
        if (t.n > start) say(&t, "; ");
        if (c->head.tag == TAG_USER) {
            say(&t, "the user data differ");
            continue;
        }
        say_argument(&t, c->head.index);
        say(&t, more_y ? more_x ? " is " : " is new: " : " is missing");
        if (more_y) say_part(&t, &y);
        if (more_x && more_y) say(&t, ", before "), say_part(&t, &x);
    }
    if (t.n == start) say(&t, "its entry has left the store");
}
