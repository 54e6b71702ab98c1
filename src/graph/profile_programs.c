/* SPDX-License-Identifier: Apache-2.0 */
/* What is compiled to be timed, and thrown away: a program that only passes the state on, each node's update in a loop of its
 * own, the step with its clock read at the borders of scopes. */
#include "graph/profile.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the floor ---- */

static kiln_status trace_identity(kn_profiler *u, kiln_prog **out)
{
    const kn_plan *p = u->g->plan;
    kiln_trace *t;
    KILN_TRY(kiln_trace_begin(u->ctx, &t));
    uint32_t n = kn_n_state(u->g);
    kiln_val *state = KN_NEWN(&u->work, kiln_val, n);
    for (uint32_t i = 0; state && i < n; i++)
        state[i] = i < p->n_slots ? kiln_input(t, p->slots[i].name, p->slots[i].type)
                                  : kiln_input(t, p->hidden[i - p->n_slots].name, KILN_SCALAR(p->hidden[i - p->n_slots].dtype));
    if (!state) kiln_trace_fail(t, KILN_NOMEM, "out of memory");
    kiln_input(t, "step", KILN_SCALAR(KILN_I64));
    for (uint32_t i = 0; i < u->g->settings.n; i++) kiln_input(t, u->g->settings.v[i].name, u->g->settings.v[i].type);
    for (uint32_t i = 0; state && i < n; i++) kiln_output(t, i < p->n_slots ? p->slots[i].name : p->hidden[i - p->n_slots].name, state[i]);
    return kiln_trace_finish(t, out);
}

/* One warm call, then `n` timed ones into u->ms. */
static kiln_status time_calls(kn_profiler *u, kn_program *p, int64_t n, kn_statistics *out)
{
    KILN_TRY(kn_program_call(u->ctx, p, NULL));
    for (int64_t i = 0; i < n; i++) {
        KILN_TRY(kn_profile_stopped(u));
        int64_t start = kn_clock_ns();
        KILN_TRY(kn_program_call(u->ctx, p, NULL));
        u->ms[i] = (double)(kn_clock_ns() - start) * 1e-6;
    }
    *out = kn_statistics_of(u->ms, (size_t)n);
    return KILN_OK;
}

kiln_status kn_profile_floor(kn_profiler *u)
{
    kiln_prog *prog;
    kn_program p;
    kn_statistics s;
    KILN_TRY(trace_identity(u, &prog));
    KILN_TRY(kn_program_make(u->ctx, prog, &(kn_program_opts){.label = "identity", .often = true, .n_donated = kn_n_state(u->g)}, &p));
    memcpy(p.buffers, u->g->step_program.buffers, p.n_in * sizeof *p.buffers);
    memcpy(p.buffers + p.n_in, p.buffers, p.n_out * sizeof *p.buffers);
    kiln_status status = time_calls(u, &p, u->few, &s);
    kn_program_free(&p);
    u->r->p.floor_ms = status == KILN_OK ? s.mean : 0;
    return status;
}

/* ---- nodes alone ----
 * The state feeds back from update to update. Parameters, timestep and inputs come in pairs, of which the loop always takes the
 * first by an index that depends on the trip: nothing of the update is the same in every trip, so all of it stays in the loop. */

typedef struct alone {
    kn_profiler *u;
    kn_stepping *c;
    uint32_t node, n_inputs;
    kiln_val repetitions;
    kiln_val *settings, *inputs; /* pairs; id 0: not asked for, or nothing drives it */
} alone;

/* Type of what reaches input `k` of a node; false: nothing drives it. */
static bool driven(const kn_plan *p, uint32_t node, uint32_t k, kiln_dtype *dtype, kn_shape *shape)
{
    const kn_node *base = kn_node_base(&p->g->nodes[node]);
    bool check = base->type->inputs_from_checks, any = false;
    *dtype = p->real;
    for (uint32_t i = 0; i < p->n_into[node]; i++) {
        const kn_edge *e = &p->g->edges[p->into[node][i]];
        if (e->target_input != (int)k) continue;
        if (!any || !e->additive || kn_shape_count(&e->shape) > kn_shape_count(shape)) *shape = e->shape;
        if (check && !e->is_flux && e->op == KN_EDGE_NONE) *dtype = p->slots[kn_slot_of(p, e->source, e->source_field)].type.dtype;
        any = true;
        if (e->placed) *shape = kn_node_shape(base, base->type->inputs[k].shape);
    }
    for (uint32_t i = 0; i < p->g->n_inputs; i++)
        if (p->g->inputs[i].target == node && p->g->inputs[i].target_input == (int)k) any = true, *dtype = p->real, *shape = p->g->inputs[i].value.shape;
    if (!any || check) return any;
    kn_shape whole = kn_node_shape(base, base->type->inputs[k].shape);
    if (shape->rank < whole.rank && !base->type->inputs[k].short_shape) *shape = whole;
    return true;
}

static kiln_val pair_input(kn_stepping *c, const char *name, kiln_dtype dtype, uint32_t rank, const int64_t *dims)
{
    int64_t pair[KN_MAX_RANK + 2] = {2};
    if (rank) memcpy(pair + 1, dims, rank * sizeof *dims);
    return kiln_input(c->t, name, (kiln_type){dtype, rank + 1, pair});
}

/* One of a pair. */
static kiln_val take_one(kn_stepping *c, kiln_val pair, kiln_val which)
{
    kiln_trace *t = c->t;
    kiln_type x = kiln_val_type(t, pair);
    int64_t sizes[KN_MAX_RANK + 2] = {1};
    kiln_val start[KN_MAX_RANK + 2] = {which};
    for (uint32_t i = 1; i < x.rank; i++) sizes[i] = x.dims[i], start[i] = kiln_int(t, KILN_I64, 0);
    return kiln_reshape(t, kiln_dynamic_slice(t, pair, start, sizes), x.rank - 1, sizes + 1);
}

static kiln_val goes_on(kiln_trace *t, void *user, const kiln_val *carry) { return kiln_lt(t, carry[0], ((alone *)user)->repetitions); }

static void repeat(kiln_trace *t, void *user, const kiln_val *carry, kiln_val *next)
{
    alone *a = user;
    kn_stepping c = *a->c;
    kiln_val *settings = KN_STEP_ARRAY(&c, kiln_val, c.s->n), *in = KN_STEP_ARRAY(&c, kiln_val, a->n_inputs);
    if (!settings || !in) return;
    kiln_val which = kiln_convert(t, kiln_ge(t, carry[0], a->repetitions), KILN_I64); /* 0 */
    for (uint32_t i = 0; i < c.s->n; i++)
        if (a->settings[i].id) settings[i] = take_one(&c, a->settings[i], which);
    for (uint32_t i = 0; i < a->n_inputs; i++)
        if (a->inputs[i].id) in[i] = take_one(&c, a->inputs[i], which);
    c.settings = settings;
    next[0] = kiln_add(t, carry[0], kiln_int(t, KILN_I64, 1));
    kn_update(&c, a->node, carry + 1, in, next + 1);
}

static void pair_inputs(alone *a)
{
    kn_stepping *c = a->c;
    const kn_node_type *type = kn_type_at(c->p, a->node);
    for (int k = 0; k < type->n_params; k++) {
        int32_t s = c->s->param[a->node][k];
        if (s >= 0) a->settings[s] = (kiln_val){1}; /* asked for */
    }
    a->settings[c->s->timestep[a->node]] = (kiln_val){1};
    for (uint32_t i = 0; i < c->s->n; i++)
        if (a->settings[i].id) a->settings[i] = pair_input(c, c->s->v[i].name, c->s->v[i].type.dtype, c->s->v[i].type.rank, c->s->v[i].type.dims);
    for (uint32_t i = 0; i < a->n_inputs; i++) {
        kiln_dtype dtype;
        kn_shape shape;
        if (driven(c->p, a->node, i, &dtype, &shape)) a->inputs[i] = pair_input(c, "", dtype, (uint32_t)shape.rank, shape.dim);
    }
}

static kiln_status trace_alone(alone *a, kiln_prog **out)
{
    const kn_plan *p = a->u->g->plan;
    uint32_t n = 1 + (uint32_t)kn_type_at(p, a->node)->n_state;
    kiln_trace *t;
    KILN_TRY(kiln_trace_begin(a->u->ctx, &t));
    kn_stepping c = {.ctx = a->u->ctx, .t = t, .arena = &a->u->work, .p = p, .s = &a->u->g->settings};
    a->c = &c;
    a->n_inputs = kn_input_count(&p->g->nodes[a->node]);
    a->settings = KN_STEP_ARRAY(&c, kiln_val, c.s->n), a->inputs = KN_STEP_ARRAY(&c, kiln_val, a->n_inputs);
    kiln_val *init = KN_STEP_ARRAY(&c, kiln_val, n), *end = KN_STEP_ARRAY(&c, kiln_val, n);
    if (kiln_trace_ok(t)) {
        a->repetitions = kiln_input(t, "repetitions", KILN_SCALAR(KILN_I64));
        for (uint32_t i = 1; i < n; i++) {
            const kn_slot *s = &p->slots[p->first_slot[a->node] + i - 1];
            init[i] = kiln_input(t, s->name, s->type);
        }
        pair_inputs(a);
        init[0] = kiln_int(t, KILN_I64, 0);
        kiln_while(t, goes_on, repeat, a, init, n, end);
        for (uint32_t i = 0; i < n; i++) kiln_output(t, i ? p->slots[p->first_slot[a->node] + i - 1].name : "done", end[i]);
    }
    return kiln_trace_finish(t, out);
}

static size_t bytes_of(kiln_type t) { return kiln_dtype_bytes(t.dtype) * (size_t)kiln_type_size(t); }

/* The state as the graph has it, parameters twice, inputs zero. */
static kiln_status fill_alone(alone *a, kn_program *p, int64_t *repetitions)
{
    const kiln_graph *g = a->u->g;
    uint32_t n = (uint32_t)kn_type_at(g->plan, a->node)->n_state, at = 0;
    p->buffers[at++] = repetitions;
    for (uint32_t i = 0; i < n; i++) p->buffers[at++] = kiln_array_data(g->state[g->plan->first_slot[a->node] + i]);
    for (uint32_t i = 0; at < p->n_in; i++) {
        bool setting = i < g->settings.n;
        if (setting && !a->settings[i].id) continue;
        size_t bytes = bytes_of(kiln_prog_input_type(p->prog, at));
        char *b = kn_arena_new(&a->u->work, bytes + 1);
        KILN_TRY_MEM(a->u->ctx, b);
        if (setting)
            for (int half = 0; half < 2; half++) memcpy(b + (size_t)half * (bytes / 2), kiln_array_read(g->setting[i]), bytes / 2);
        if (setting || a->inputs[i - g->settings.n].id) p->buffers[at++] = b;
    }
    for (uint32_t i = 0; i < p->n_out; i++)
        KILN_TRY_MEM(a->u->ctx, p->buffers[p->n_in + i] = kn_arena_new(&a->u->work, bytes_of(kiln_prog_output_type(p->prog, i)) + 1));
    return KILN_OK;
}

/* As many updates in one call as take long against the call and the clock, but not so many that the state leaves the range in
 * which a simulation keeps it. */
static kiln_status time_alone(kn_profiler *u, kn_program *p, int64_t *repetitions, double *ms)
{
    enum { LONG_NS = 20000, MOST = 4096, TRIES = 3 };
    for (*repetitions = 1; *repetitions < MOST; *repetitions *= 2) {
        int64_t least = INT64_MAX;
        for (int i = 0; i < TRIES; i++) {
            KILN_TRY(kn_profile_stopped(u));
            int64_t start = kn_clock_ns(), spent;
            KILN_TRY(kn_program_call(u->ctx, p, NULL));
            spent = kn_clock_ns() - start;
            least = spent < least ? spent : least;
        }
        if (least >= LONG_NS) break;
    }
    kn_statistics s;
    KILN_TRY(time_calls(u, p, u->few, &s));
    *ms = s.median / (double)*repetitions; /* a call that the system interrupts says nothing about the node */
    return KILN_OK;
}

static kiln_status profile_node(kn_profiler *u, uint32_t node)
{
    alone a = {.u = u, .node = node};
    char label[200];
    kiln_prog *prog;
    kn_program p;
    int64_t repetitions = 1;
    snprintf(label, sizeof label, "node:%.180s", u->g->model->nodes[node].name);
    KILN_TRY(trace_alone(&a, &prog));
    KILN_TRY(kn_program_make(u->ctx, prog, &(kn_program_opts){.label = label, .often = true}, &p));
    kiln_status status = fill_alone(&a, &p, &repetitions);
    if (status == KILN_OK) status = time_alone(u, &p, &repetitions, &u->r->nodes[node].alone_ms);
    kn_program_free(&p);
    return status;
}

kiln_status kn_profile_nodes(kn_profiler *u)
{
    for (uint32_t i = 0; i < u->r->p.n_nodes; i++) {
        KILN_TRY_NOTE(u->ctx, profile_node(u, i), "while node '%s' was timed alone", u->r->nodes[i].name);
        u->r->p.sum_alone_ms += u->r->nodes[i].alone_ms;
    }
    return KILN_OK;
}

/* ---- ticks ---- */

/* The node whose update a scope belongs to, or -1. */
static int64_t node_of_scope(const kn_graph_model *m, const char *scope)
{
    for (const char *s = scope; s; s = strchr(s, '/')) {
        s += *s == '/';
        if (strncmp(s, "node:", 5) != 0) continue;
        size_t n = strcspn(s + 5, "/");
        for (uint32_t i = 0; i < m->n_nodes; i++)
            if (strlen(m->nodes[i].name) == n && memcmp(m->nodes[i].name, s + 5, n) == 0) return i;
    }
    return -1;
}

static int slowest_first(const void *a, const void *b)
{
    const kiln_profile_scope *x = a, *y = b;
    return x->ms != y->ms ? (x->ms < y->ms) - (x->ms > y->ms) : strcmp(x->name, y->name);
}

/* From the last component that names something: "edge:b.anchor_position", "coupling:a+b/residual". */
static const char *short_scope(const char *scope)
{
    const char *best = scope;
    for (const char *s = scope; s; s = strchr(s, '/')) {
        s += *s == '/';
        if (memchr(s, ':', strcspn(s, "/"))) best = s;
    }
    return *best ? best : "unscoped";
}

static kiln_status add_scope(kn_profiler *u, const char *name, double ms)
{
    kiln_profile_scope *s = u->r->scopes;
    uint32_t k = 0;
    while (k < u->r->p.n_scopes && strcmp(s[k].name, name) != 0) k++;
    if (k == u->r->p.n_scopes) {
        KILN_TRY_MEM(u->ctx, s[k].name = kn_arena_text(&u->r->arena, name));
        u->r->p.n_scopes++;
    }
    s[k].ms += ms;
    return KILN_OK;
}

static kiln_status share_ticks(kn_profiler *u, const kiln_exec *exec, uint32_t n, const uint64_t *ticks)
{
    double ns = (double)(kn_clock_ns() - u->start_ns), all = (double)(kn_clock_ticks() - u->start_ticks);
    double scale = all > 0 ? ns / all * 1e-6 / (double)u->steps : 0; /* ms of a step for one tick */
    KILN_TRY_MEM(u->ctx, u->r->scopes = KN_NEWN(&u->r->arena, kiln_profile_scope, n));
    u->r->p.scopes = u->r->scopes;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = kiln_exec_scope(exec, i);
        int64_t node = node_of_scope(u->g->model, name);
        if (node >= 0) u->r->nodes[node].scope_ms += (double)ticks[i] * scale;
        else if (ticks[i]) KILN_TRY(add_scope(u, short_scope(name), (double)ticks[i] * scale));
    }
    qsort(u->r->scopes, u->r->p.n_scopes, sizeof *u->r->scopes, slowest_first);
    return KILN_OK;
}

/* The same trajectory as the timed steps. */
static kiln_status ticking_steps(kn_profiler *u, kn_program *p)
{
    kiln_exec_info info;
    kiln_exec_info_get(p->exec, &info);
    uint64_t *ticks = KN_NEWN(&u->work, uint64_t, (size_t)info.n_scopes + 1);
    KILN_TRY_MEM(u->ctx, ticks);
    memcpy(p->buffers, u->g->step_program.buffers, (p->n_in + (size_t)p->n_out) * sizeof *p->buffers);
    for (int64_t i = 0; i < u->steps; i++) {
        KILN_TRY(kn_profile_stopped(u));
        int64_t start = kn_clock_ns();
        KILN_TRY(kn_program_call(u->ctx, p, ticks));
        u->ms[i] = (double)(kn_clock_ns() - start) * 1e-6;
        u->g->step++;
    }
    u->r->p.instrumented_ms = kn_statistics_of(u->ms, (size_t)u->steps).mean;
    return share_ticks(u, p->exec, info.n_scopes, ticks);
}

kiln_status kn_profile_scopes(kn_profiler *u)
{
    kn_program p;
    kn_program_opts o = {.label = "step-ticks", .ticks = true, .often = true, .n_donated = kn_n_state(u->g)};
    KILN_TRY(kn_program_make(u->ctx, kiln_prog_retain(u->g->step_program.prog), &o, &p));
    kiln_status status = ticking_steps(u, &p);
    kn_program_free(&p);
    return status;
}
