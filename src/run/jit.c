/* SPDX-License-Identifier: Apache-2.0 */
/* Functions kept by what they were called with. Three kinds of entries stand in one store:
 *
 *   call    callback, user data, argument types, static values, word, options  ->  an executable and the trace that it came from
 *   trace   callback, user data, types of the body's arguments, static values  ->  a program
 *   code    a program and options                                              ->  an executable
 *
 * Calls leave first, the least recently used one at first; traces and code leave when no call needs them. `lock` guards the lists and
 * is held for look-ups only; `making` is held while a program is made, by one thread at a time, which may make another one on the way
 * (a body that calls kiln_jit). */
#include "kiln/jit.h"

#include "run/exec.h"
#include "run/jit_key.h"
#include "trace/trace.h"
#include "transform/words.h"

#include <math.h>
#include <pthread.h>

typedef struct trace_entry {
    kn_key key;
    kiln_prog *p;
    uint64_t bytes, uses, number; /* number: how many traces there were before */
    struct trace_entry *next;
} trace_entry;

typedef struct code_entry {
    kn_key key; /* of the options */
    kn_hash hash;
    kiln_prog *p;
    kiln_exec *f;
    uint64_t bytes, uses;
    struct code_entry *next;
} code_entry;

typedef struct call_entry {
    kn_key key;
    uint64_t hash;
    trace_entry *trace; /* NULL: being made */
    code_entry *code;
    struct call_entry *next;         /* of the bucket */
    struct call_entry *newer, *older; /* by last use */
} call_entry;

enum { BUCKETS = 256, WHY = 512 };

struct kiln_jit_store {
    kn_alloc alloc;
    pthread_mutex_t lock, making;
    size_t max_bytes;
    call_entry *buckets[BUCKETS], *newest, *oldest;
    trace_entry *traces;
    code_entry *codes;
    kiln_jit_counts n;
    char why[WHY];
};

/* ---- the lists; the lock is held ---- */

static void unlink_use(kiln_jit_store *s, call_entry *c)
{
    *(c->newer ? &c->newer->older : &s->newest) = c->older;
    *(c->older ? &c->older->newer : &s->oldest) = c->newer;
    c->newer = c->older = NULL;
}
static void link_use(kiln_jit_store *s, call_entry *c)
{
    c->older = s->newest;
    *(s->newest ? &s->newest->newer : &s->oldest) = c;
    s->newest = c;
}

static call_entry *find_call(kiln_jit_store *s, const kn_key *key, uint64_t hash)
{
    for (call_entry *c = s->buckets[hash % BUCKETS]; c; c = c->next)
        if (c->hash == hash && kn_key_equal(&c->key, key)) return c;
    return NULL;
}

static void drop_trace(kiln_jit_store *s, trace_entry *t)
{
    if (!t || --t->uses) return;
    trace_entry **at = &s->traces;
    while (*at != t) at = &(*at)->next;
    *at = t->next;
    s->n.bytes -= t->bytes;
    kiln_prog_release(t->p);
    kn_key_free(&s->alloc, &t->key);
    kn_free(&s->alloc, t, sizeof *t);
}
static void drop_code(kiln_jit_store *s, code_entry *c)
{
    if (!c || --c->uses) return;
    code_entry **at = &s->codes;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    s->n.bytes -= c->bytes;
    s->n.programs--;
    kiln_prog_release(c->p);
    kiln_exec_release(c->f);
    kn_key_free(&s->alloc, &c->key);
    kn_free(&s->alloc, c, sizeof *c);
}
static void drop_call(kiln_jit_store *s, call_entry *c)
{
    call_entry **at = &s->buckets[c->hash % BUCKETS];
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    if (c->trace) {
        unlink_use(s, c);
        s->n.bytes -= sizeof *c + c->key.n;
    }
    drop_trace(s, c->trace);
    drop_code(s, c->code);
    kn_key_free(&s->alloc, &c->key);
    kn_free(&s->alloc, c, sizeof *c);
}

static void evict(kiln_jit_store *s, const call_entry *keep)
{
    while (s->max_bytes && s->n.bytes > s->max_bytes && s->oldest && s->oldest != keep) {
        drop_call(s, s->oldest);
        s->n.evictions++;
    }
}

/* ---- the store ---- */

kiln_status kiln_jit_store_create(kiln_ctx *ctx, size_t max_bytes, kiln_jit_store **out)
{
    pthread_mutexattr_t again;
    KILN_TRY_MEM(ctx, *out = kn_new(&ctx->alloc, sizeof **out));
    (*out)->alloc = ctx->alloc;
    (*out)->max_bytes = max_bytes;
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&(*out)->making, &again);
    pthread_mutexattr_destroy(&again);
    pthread_mutex_init(&(*out)->lock, NULL);
    return KILN_OK;
}

void kiln_jit_store_clear(kiln_jit_store *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->oldest) drop_call(s, s->oldest);
    s->why[0] = 0;
    pthread_mutex_unlock(&s->lock);
}

void kiln_jit_store_release(kiln_jit_store *s)
{
    if (!s) return;
    kiln_jit_store_clear(s);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->making);
    kn_alloc alloc = s->alloc;
    kn_free(&alloc, s, sizeof *s);
}

void kiln_jit_store_counts(kiln_jit_store *s, kiln_jit_counts *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->n;
    pthread_mutex_unlock(&s->lock);
}

size_t kiln_why_retrace(kiln_jit_store *s, char *out, size_t out_bytes)
{
    pthread_mutex_lock(&s->lock);
    size_t n = strlen(s->why);
    if (out_bytes) {
        size_t k = n < out_bytes - 1 ? n : out_bytes - 1;
        memcpy(out, s->why, k);
        out[k] = 0;
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* ---- making a program ---- */

typedef struct making {
    kiln_ctx *ctx;
    kiln_jit_store *s;
    const kiln_fn *f;
    const kiln_arg *args;
    uint32_t n_args;
    const kiln_type *types, *inner; /* of the call, of the body: arguments that are not static */
    uint32_t n_types, n_inner;
} making;

static kiln_status record(const making *m, kiln_prog **out)
{
    kiln_trace *t;
    KILN_TRY(kiln_trace_begin(m->ctx, &t));
    size_t room = ((size_t)m->n_inner + m->f->n_out) * sizeof(kiln_val) + 1, blank_bytes = (size_t)m->n_args * sizeof(kiln_arg) + 1;
    kiln_val *in = kn_new(&m->ctx->alloc, room);
    kiln_arg *blank = kn_new(&m->ctx->alloc, blank_bytes);
    if (!in || !blank) {
        kiln_trace_cancel(t);
        kn_free(&m->ctx->alloc, in, room);
        kn_free(&m->ctx->alloc, blank, blank_bytes);
        return kn_nomem(m->ctx);
    }
    uint32_t k = 0;
    for (uint32_t i = 0; i < m->n_args; i++) {
        blank[i] = m->args[i];
        blank[i].array = NULL;
        blank[i].number = 0;
        if (m->args[i].kind != KILN_ARG_IS_STATIC && k < m->n_inner) in[k] = kiln_input_at(t, m->args[i].name, m->inner[k], "", 0), k++;
    }
    m->f->body(t, m->f->user, blank, in, in + m->n_inner);
    for (uint32_t i = 0; i < m->f->n_out; i++) kiln_output_at(t, "", in[m->n_inner + i], "", 0);
    kn_free(&m->ctx->alloc, in, room);
    kn_free(&m->ctx->alloc, blank, blank_bytes);
    return kiln_trace_finish(t, out);
}

/* The trace whose key differs least; among equal ones the last. */
static void explain(kiln_jit_store *s, const making *m, const kn_key *key)
{
    const trace_entry *best = NULL;
    unsigned least = 0;
    for (const trace_entry *t = s->traces; t; t = t->next) {
        unsigned d = kn_key_distance(&t->key, key);
        if (d == KN_KEY_OTHER || (best && (d > least || (d == least && t->number < best->number)))) continue;
        best = t, least = d;
    }
    kn_key_explain(best ? &best->key : NULL, key, m->f->name ? m->f->name : "the function", m->args, m->n_args, s->why, sizeof s->why);
}

/* The program of the body. Called with `making` held; `lock` is taken for the lists. */
static kiln_status trace_for(const making *m, trace_entry **out)
{
    kiln_jit_store *s = m->s;
    kn_key key;
    kiln_prog *p;
    KILN_TRY(kn_key_of_trace(m->ctx, &s->alloc, m->f, m->args, m->n_args, m->inner, m->n_inner, &key));
    pthread_mutex_lock(&s->lock);
    trace_entry *t = s->traces;
    while (t && !kn_key_equal(&t->key, &key)) t = t->next;
    if (t) t->uses++;
    else explain(s, m, &key), s->n.traces++;
    pthread_mutex_unlock(&s->lock);
    *out = t;
    if (t) {
        kn_key_free(&s->alloc, &key);
        return KILN_OK;
    }
    kiln_status status = record(m, &p);
    if (status == KILN_OK && !(t = kn_new(&s->alloc, sizeof *t))) {
        kiln_prog_release(p);
        status = kn_nomem(m->ctx);
    }
    if (status != KILN_OK) {
        kn_key_free(&s->alloc, &key);
        return status;
    }
    pthread_mutex_lock(&s->lock);
    *t = (trace_entry){.key = key, .p = p, .bytes = sizeof *t + key.n + p->arena.bytes, .uses = 1, .number = s->n.traces, .next = s->traces};
    s->traces = t;
    s->n.bytes += t->bytes;
    pthread_mutex_unlock(&s->lock);
    *out = t;
    return KILN_OK;
}

/* Code of a program, which is retained. */
static kiln_status code_for(const making *m, kiln_prog *p, code_entry **out)
{
    kiln_jit_store *s = m->s;
    kn_key key;
    kiln_exec *f;
    kn_hash hash = kn_jaxpr_hash(p->main);
    KILN_TRY(kn_key_of_options(m->ctx, &s->alloc, m->f->opts, &key));
    pthread_mutex_lock(&s->lock);
    code_entry *c = s->codes;
    while (c && !(c->hash.lo == hash.lo && c->hash.hi == hash.hi && kn_key_equal(&c->key, &key) && kn_jaxpr_equal(c->p->main, p->main))) c = c->next;
    if (c) c->uses++;
    else s->n.compiles++;
    pthread_mutex_unlock(&s->lock);
    *out = c;
    if (c) {
        kn_key_free(&s->alloc, &key);
        return KILN_OK;
    }
    kiln_status status = kiln_compile(m->ctx, p, m->f->opts, &f);
    if (status == KILN_OK && !(c = kn_new(&s->alloc, sizeof *c))) {
        kiln_exec_release(f);
        status = kn_nomem(m->ctx);
    }
    if (status != KILN_OK) {
        kn_key_free(&s->alloc, &key);
        return status;
    }
    pthread_mutex_lock(&s->lock);
    *c = (code_entry){.key = key, .hash = hash, .p = kiln_prog_retain(p), .f = f, .uses = 1, .next = s->codes};
    c->bytes = sizeof *c + key.n + p->arena.bytes + f->info.code_bytes + f->arena.bytes;
    s->codes = c;
    s->n.bytes += c->bytes;
    s->n.programs++;
    pthread_mutex_unlock(&s->lock);
    *out = c;
    return KILN_OK;
}

/* The program behind the word. */
static kiln_status transformed(const making *m, kiln_prog *p, kiln_prog **out)
{
    if (m->f->transform) return kiln_prog_transform(m->ctx, p, m->f->transform, m->types, m->n_types, out);
    *out = kiln_prog_retain(p);
    return KILN_OK;
}

static kiln_status make(const making *m, trace_entry **trace, code_entry **code)
{
    kiln_prog *p;
    KILN_TRY(trace_for(m, trace));
    if (!code) return KILN_OK;
    KILN_TRY(transformed(m, (*trace)->p, &p));
    kiln_status status = code_for(m, p, code);
    kiln_prog_release(p);
    return status;
}

/* What an entry holds, for its user to release: a call's code, or, of an entry without code, the trace. */
static void take(const call_entry *c, kiln_exec **f, kiln_prog **p)
{
    if (f) *f = kiln_exec_retain(c->code->f);
    else *p = kiln_prog_retain(c->trace->p);
}

/* Makes what a call needs, unless another thread has done so meanwhile: code, or, where f is NULL, a trace. `key` becomes the entry's. */
static kiln_status made(const making *m, kn_key *key, uint64_t hash, kiln_exec **f, kiln_prog **p)
{
    kiln_jit_store *s = m->s;
    trace_entry *trace = NULL;
    code_entry *code = NULL;
    pthread_mutex_lock(&s->lock);
    call_entry *c = find_call(s, key, hash);
    if (c && c->trace) take(c, f, p);
    call_entry *own = c ? NULL : kn_new(&s->alloc, sizeof *own);
    if (own) {
        *own = (call_entry){.key = *key, .hash = hash, .next = s->buckets[hash % BUCKETS]};
        s->buckets[hash % BUCKETS] = own;
        key->v = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    if (c && c->trace) return KILN_OK;
    if (c)
        return kn_fail(m->ctx, KILN_INVALID, "%s calls itself with arguments of the same types while it is traced", m->f->name ? m->f->name : "a function");
    if (!own) return kn_nomem(m->ctx);
    kiln_status status = make(m, &trace, f ? &code : NULL);
    pthread_mutex_lock(&s->lock);
    if (status == KILN_OK) {
        own->trace = trace;
        own->code = code;
        s->n.bytes += sizeof *own + own->key.n;
        link_use(s, own);
        take(own, f, p);
        evict(s, own);
    } else {
        drop_trace(s, trace);
        drop_call(s, own);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

static const char *called(const kiln_fn *f) { return f->name ? f->name : "jit"; }

static kiln_status types_of(const kiln_fn *f, making *m, kn_prog *room)
{
    kiln_type *t = KN_NEWN(&room->arena, kiln_type, m->n_args + 1);
    KILN_TRY_MEM(m->ctx, t);
    m->types = t;
    for (uint32_t i = 0; i < m->n_args; i++) {
        const kiln_arg *a = &m->args[i];
        if (a->kind == KILN_ARG_IS_STATIC) continue;
        if (a->kind == KILN_ARG_IS_ARRAY && !a->array) return kn_fail(m->ctx, KILN_INVALID, "%s: argument %u holds no array", called(f), i);
        if (a->kind == KILN_ARG_IS_NUMBER && a->dtype != KILN_F32 && a->dtype != KILN_I32 && a->dtype != KILN_BOOL)
            return kn_fail(m->ctx, KILN_DTYPE, "%s: argument %u is a number of type %s; accepted: f32, i32, bool", called(f), i, kiln_dtype_name(a->dtype));
        int64_t dims[KN_RANK_LIMIT];
        KILN_TRY(kn_type_copy(m->ctx, &room->arena, kn_arg_type(a, dims), &t[m->n_types++]));
    }
    m->n_inner = f->transform && f->n_in ? f->n_in : m->n_types;
    if (m->n_inner > m->n_types)
        return kn_fail(m->ctx, KILN_INVALID, "%s: n_in is %u, but there are %u arguments that are not static", called(f), f->n_in, m->n_types);
    if (f->transform) return kn_words_inner(m->ctx, room, f->transform, m->types, m->n_types, &m->inner);
    m->inner = m->types;
    return KILN_OK;
}

kiln_status kiln_jit_exec(kiln_ctx *ctx, kiln_jit_store *s, const kiln_fn *f, const kiln_arg *args, uint32_t n_args, kiln_exec **out)
{
    making m = {.ctx = ctx, .s = s, .f = f, .args = args, .n_args = n_args};
    kn_key key;
    *out = NULL;
    KILN_TRY(kn_key_of_call(ctx, &s->alloc, f, args, n_args, &key));
    uint64_t hash = kn_key_hash(&key);
    pthread_mutex_lock(&s->lock);
    call_entry *c = find_call(s, &key, hash);
    if (c && c->trace) {
        *out = kiln_exec_retain(c->code->f);
        unlink_use(s, c);
        link_use(s, c);
    }
    s->n.calls++;
    pthread_mutex_unlock(&s->lock);
    kiln_status status = KILN_OK;
    kn_prog *room = NULL;
    if (!*out) {
        status = kn_prog_new(ctx, NULL, &room);
        if (status == KILN_OK) status = types_of(f, &m, room);
        if (status == KILN_OK) {
            pthread_mutex_lock(&s->making);
            status = made(&m, &key, hash, out, NULL);
            pthread_mutex_unlock(&s->making);
        }
        kiln_prog_release(room);
    }
    kn_key_free(&s->alloc, &key);
    return status;
}

/* ---- inside a trace ---- */

/* The function's program for values of these types. */
static kiln_status program_of(making *m, kiln_prog **out)
{
    kn_key key;
    kn_prog *room;
    kiln_prog *p = NULL;
    kiln_jit_store *s = m->s;
    KILN_TRY(kn_prog_new(m->ctx, NULL, &room));
    m->inner = m->types;
    m->n_inner = m->f->transform && m->f->n_in ? m->f->n_in : m->n_types;
    kiln_status status = m->n_inner > m->n_types ? kn_fail(m->ctx, KILN_INVALID, "%s: n_in is %u, but there are %u values", called(m->f), m->f->n_in, m->n_types)
                         : m->f->transform ? kn_words_inner(m->ctx, room, m->f->transform, m->types, m->n_types, &m->inner)
                                           : KILN_OK;
    if (status == KILN_OK) status = kn_key_of_trace(m->ctx, &s->alloc, m->f, m->args, m->n_args, m->inner, m->n_inner, &key);
    if (status == KILN_OK) {
        pthread_mutex_lock(&s->making);
        status = made(m, &key, kn_key_hash(&key), NULL, &p);
        pthread_mutex_unlock(&s->making);
        kn_key_free(&s->alloc, &key);
    }
    if (status == KILN_OK) {
        status = transformed(m, p, out);
        kiln_prog_release(p);
    }
    kiln_prog_release(room);
    return status;
}

void kiln_jit_inside_at(kiln_trace *t, kiln_jit_store *s, const kiln_fn *f, const kiln_arg *args, uint32_t n_args, const kiln_val *in, kiln_val *out,
                        const char *file, int line)
{
    kn_site site = {file, line};
    making m = {.ctx = t->ctx, .s = s, .f = f, .args = args, .n_args = n_args};
    for (uint32_t i = 0; i < n_args; i++) m.n_types += args[i].kind != KILN_ARG_IS_STATIC;
    kiln_type *types = KN_NEWN(&t->arena, kiln_type, m.n_types + 1);
    kiln_val *v = KN_NEWN(&t->arena, kiln_val, m.n_types + 1);
    kn_atom *operands = KN_NEWN(&t->arena, kn_atom, m.n_types + 1);
    if (!types || !v || !operands) {
        kn_tstatus(t, kn_nomem(t->ctx), site);
        return;
    }
    if (!kn_tvals_usable(t, called(f), in, m.n_types, site)) return;
    for (uint32_t i = 0; i < m.n_types; i++) {
        v[i] = kn_tval_of(t, in[i])->kind == KN_T_NUMBER ? kn_tval_adopt(t, called(f), in[i], KILN_F32, site) : in[i];
        if (t->failed) return;
        types[i] = kn_tval_of(t, v[i])->type;
        if (!kn_tatom(t, t->frame, v[i], &operands[i])) return;
    }
    m.types = types;
    kiln_prog *p;
    const kn_jaxpr *body;
    kn_tstatus(t, program_of(&m, &p), site);
    if (t->failed) return;
    kn_tstatus(t, kn_jaxpr_copy(t->ctx, t->prog, p->main, &body), site);
    kiln_prog_release(p);
    if (t->failed) return;
    kn_named params[] = {{"name", KN_TEXT(called(f))}, {"jaxpr", KN_JAXPR(body)}};
    kn_temit_atoms(t, "jit", params, 2, operands, m.n_types, out, body->nout, site);
}

/* A number argument as an array, of a type that types_of let through. */
static kiln_status number_array(kiln_ctx *ctx, const kiln_fn *f, uint32_t i, const kiln_arg *a, kiln_array **out)
{
    bool whole = a->dtype == KILN_I32;
    if (whole && !(a->number >= INT32_MIN && a->number <= INT32_MAX && a->number == floor(a->number)))
        return kn_fail(ctx, KILN_INVALID, "%s: argument %u is %.17g; accepted: integers of 32 bits", called(f), i, a->number);
    KILN_TRY(kiln_array_create(ctx, KILN_SCALAR(a->dtype), out));
    kn_scalar v = {.f = a->number};
    if (a->dtype == KILN_BOOL) v = (kn_scalar){.b = a->number != 0};
    else if (whole) v = (kn_scalar){.i = (int64_t)a->number};
    kn_scalar_store(a->dtype, (*out)->data, 0, v);
    return KILN_OK;
}

kiln_status kiln_jit(kiln_ctx *ctx, kiln_jit_store *s, const kiln_fn *f, const kiln_arg *args, uint32_t n_args, kiln_array **out)
{
    kiln_exec *e;
    size_t bytes = (size_t)n_args * sizeof(kiln_array *) + 1;
    KILN_TRY(kiln_jit_exec(ctx, s, f, args, n_args, &e));
    kiln_array **in = kn_new(&ctx->alloc, bytes);
    kiln_status status = in ? KILN_OK : kn_nomem(ctx);
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_args && status == KILN_OK; i++) {
        if (args[i].kind == KILN_ARG_IS_STATIC) continue;
        if (args[i].kind == KILN_ARG_IS_ARRAY) in[n] = kiln_array_retain(args[i].array);
        else status = number_array(ctx, f, i, &args[i], &in[n]);
        n += status == KILN_OK;
    }
    if (status == KILN_OK) status = kiln_exec_call(ctx, e, in, out);
    for (uint32_t i = 0; i < n; i++) kiln_array_release(in[i]);
    kn_free(&ctx->alloc, in, bytes);
    kiln_exec_release(e);
    return status;
}
