/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies, functions, equations: the frame of the export. */
#include "hlo/export.h"

#include "prim/control.h"

void kn_xfail(kn_export *x, kiln_status s)
{
    if (x->status == KILN_OK) x->status = s;
}

/* ---- values ---- */

const kn_mtype *kn_xtype(kn_export *x, kiln_type t)
{
    kn_mtype *own = KN_NEW(x->arena, kn_mtype);
    static const kn_mtype none = {.kind = KN_MT_OTHER, .text = {"", 0}};
    KN_XCHECK(x, own);
    if (!own) return &none;
    *own = (kn_mtype){.kind = KN_MT_TENSOR, .known = true, .type = t, .text = {"", 0}};
    if (!kn_mlir_dtype(t.dtype) && (t.dtype != KILN_TOKEN || t.rank))
        kn_xfail(x, kn_fail(x->ctx, KILN_UNSUPPORTED, "StableHLO has no element type for %s; accepted: numbers and bools", kn_type_show(t).s));
    if (kn_type_copy(x->ctx, x->arena, t, &own->type) != KILN_OK) kn_xfail(x, KILN_NOMEM);
    return own;
}

static uint32_t new_value(kn_export *x, kiln_type t)
{
    kn_mvalue v = {.type = kn_xtype(x, t), .at = x->at, .name = {"", 0}};
    KN_XCHECK(x, kn_push(x->arena, &x->values, v));
    return x->values.n ? x->values.n - 1 : 0;
}

kiln_type kn_xtype_of(const kn_export *x, uint32_t value)
{
    return value < x->values.n ? x->values.v[value].type->type : KILN_SCALAR(KILN_F32);
}

static void append(kn_export *x, kn_mop *op)
{
    if (x->last) x->last->next = op;
    else x->block->ops = op;
    x->last = op;
    x->block->nops++;
}

kn_mop *kn_xop(kn_export *x, const char *name, const uint32_t *in, uint32_t nin, const kiln_type *out, uint32_t nout)
{
    kn_mop *op = x->status == KILN_OK ? KN_NEW(x->arena, kn_mop) : NULL;
    uint32_t *own = op ? kn_arena_copy(x->arena, in, nin * sizeof *in) : NULL;
    if (x->status == KILN_OK) KN_XCHECK(x, op && own);
    if (x->status != KILN_OK) {
        x->nowhere = (kn_mop){.name = {"", 0}};
        return &x->nowhere;
    }
    *op = (kn_mop){.name = kn_xspan(name), .in = own, .nin = nin, .nout = nout, .loc = x->loc, .at = x->at, .line = x->line};
    op->out = x->values.n;
    for (uint32_t i = 0; i < nout; i++) new_value(x, out[i]);
    append(x, op);
    return op;
}

uint32_t kn_xop1(kn_export *x, const char *name, const uint32_t *in, uint32_t nin, kiln_type out) { return kn_xop(x, name, in, nin, &out, 1)->out; }

void kn_xset1(kn_export *x, const kn_eqn *e, uint32_t k, uint32_t value)
{
    if (x->status == KILN_OK) x->frame->vars[e->out[k]] = value + 1;
}
void kn_xset(kn_export *x, const kn_eqn *e, const kn_mop *op)
{
    for (uint32_t i = 0; i < e->nout; i++) kn_xset1(x, e, i, op->out + i);
}

bool kn_xends_of(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, uint32_t captured, kn_xends *n)
{
    n->nin = e->nin - captured;
    n->in = KN_NEWN(x->arena, uint32_t, n->nin);
    n->out = KN_NEWN(x->arena, kiln_type, e->nout);
    KN_XCHECK(x, n->in && n->out);
    for (uint32_t i = 0; i < captured; i++) kn_xatom(x, e->in[i]); /* literals among them stand before the operation */
    if (x->status != KILN_OK) return false;
    for (uint32_t i = 0; i < n->nin; i++) n->in[i] = kn_xatom(x, e->in[captured + i]);
    for (uint32_t i = 0; i < e->nout; i++) n->out[i] = j->vars[e->out[i]].type;
    return x->status == KILN_OK;
}

void kn_xplain(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_xrow *row)
{
    kn_xends n;
    if (kn_xends_of(x, j, e, 0, &n)) kn_xset(x, e, kn_xop(x, row->name, n.in, n.nin, n.out, e->nout));
}

/* ---- atoms ---- */

bool kn_xis_wide(const kn_export *x, kn_atom a)
{
    const kn_written *w = x->status == KILN_OK && kn_is_literal(a) ? x->frame->j->written : NULL;
    for (uint32_t i = 0; w && i < w->nwide; i++)
        if (w->wide[i] == kn_literal_index(a)) return true;
    return false;
}

/* The literal of the body around that this one is, where the text says so and both have the same value. */
static const uint32_t *captured_literal(const kn_xframe *f, uint32_t literal, uint32_t *outer)
{
    const kn_written *w = f->j->written;
    for (uint32_t i = 0; w && f->outer && i < w->ncaptures; i++) {
        if (w->captures[i].literal != literal || w->captures[i].outer >= f->outer->j->nlits) continue;
        const kn_lit *a = &f->j->lits[literal], *b = &f->outer->j->lits[w->captures[i].outer];
        if (a->dtype != b->dtype || !kn_scalar_same(a->dtype, a->value, b->value)) return NULL;
        *outer = w->captures[i].outer;
        return &f->outer->lits[*outer];
    }
    return NULL;
}

static uint32_t literal_value(kn_export *x, const kn_xframe *f, uint32_t literal)
{
    const kn_lit *l = &f->j->lits[literal];
    uint32_t outer;
    if (f->lits[literal]) return f->lits[literal] - 1;
    for (const kn_xframe *g = f; g; g = g->outer) { /* through all bodies around */
        const uint32_t *there = captured_literal(g, g == f ? literal : outer, &outer);
        if (!there) break;
        if (*there) return *there - 1;
    }
    uint32_t v = l->dtype == KILN_TOKEN ? kn_xop1(x, "stablehlo.create_token", NULL, 0, KILN_SCALAR(KILN_TOKEN)) : kn_xscalar(x, l->dtype, l->value);
    f->lits[literal] = v + 1;
    return v;
}

uint32_t kn_xatom(kn_export *x, kn_atom a)
{
    if (x->status != KILN_OK) return 0;
    if (kn_is_literal(a)) return literal_value(x, x->frame, kn_literal_index(a));
    uint32_t v = x->frame->vars[a];
    if (!v) kn_xfail(x, kn_fail(x->ctx, KILN_INTERNAL, "a value is used before it is made"));
    return v ? v - 1 : 0;
}

bool kn_xwritten(const kn_export *x, const kn_eqn *e, kn_atom *a)
{
    const kn_jaxpr *j = x->status == KILN_OK ? x->frame->j : NULL;
    const kn_written *w = j ? j->written : NULL;
    if (!w || e < j->eqns || e >= j->eqns + j->neqns) return false;
    uint32_t k = (uint32_t)(e - j->eqns);
    for (uint32_t lo = 0, hi = w->nfirsts; lo < hi;) {
        uint32_t mid = lo + (hi - lo) / 2;
        *a = w->firsts[mid].atom;
        if (w->firsts[mid].eqn < k) lo = mid + 1;
        else if (w->firsts[mid].eqn > k) hi = mid;
        else return true;
    }
    return false;
}

uint32_t kn_xfirst(kn_export *x, const kn_eqn *e, kiln_dtype d, kn_scalar v)
{
    kn_atom a;
    return kn_xwritten(x, e, &a) ? kn_xatom(x, a) : kn_xscalar(x, d, v);
}

/* ---- bodies ---- */

/* The constants that stood before equation k of the text; those of which nothing is said come first. */
static void constants(kn_export *x, uint32_t k)
{
    kn_xframe *f = x->frame;
    const kn_jaxpr *j = f->j;
    const kn_written *w = j->written;
    for (; w && f->constant < w->nconstants && w->constants[f->constant].at <= k; f->constant++) {
        kn_atom a = w->constants[f->constant].atom;
        if (kn_is_literal(a)) {
            uint32_t l = kn_literal_index(a);
            if (!f->lits[l]) f->lits[l] = kn_xscalar(x, j->lits[l].dtype, j->lits[l].value) + 1;
            continue;
        }
        uint32_t c = f->const_of[a];
        if (c && !f->vars[a] && j->consts[c - 1]) f->vars[a] = kn_xarray(x, j->consts[c - 1]) + 1;
    }
    if (k || !j->nconsts) return;
    bool *later = KN_NEWN(x->arena, bool, j->nvars);
    KN_XCHECK(x, later);
    if (!later) return;
    for (uint32_t c = 0; w && c < w->nconstants; c++)
        if (!kn_is_literal(w->constants[c].atom)) later[w->constants[c].atom] = true;
    for (uint32_t i = 0; i < j->nconsts; i++) {
        if (later[j->in[i]] || f->vars[j->in[i]]) continue;
        if (!j->consts[i])
            kn_xfail(x, kn_fail(x->ctx, KILN_UNSUPPORTED, "a constant of the program has no value (its text holds none): StableHLO needs it"));
        else f->vars[j->in[i]] = kn_xarray(x, j->consts[i]) + 1;
    }
}

/* The equation's place and scope, with its primitive's name; NULL: it has neither. */
static const kn_mloc *location(kn_export *x, const kn_eqn *e)
{
    const kn_prog *p = x->prog;
    bool placed = e->loc.line && e->loc.file && e->loc.file != p->own_file && e->loc.file < p->files.n;
    bool scoped = e->scope && e->scope < p->scopes.n;
    if (!placed && !scoped) return NULL;
    uint32_t key[4] = {e->scope, placed ? e->loc.file : 0, placed ? e->loc.line : 0, placed ? e->loc.column : 0};
    kn_mloc *own = KN_NEWN(x->arena, kn_mloc, 2);
    KN_XCHECK(x, own);
    if (!own) return NULL;
    if (placed) own[0] = (kn_mloc){.kind = KN_ML_FILE, .text = kn_xspan(p->files.v[key[1]]), .line = key[2], .column = key[3]};
    if (!scoped) return &own[0];
    char *name = kn_arena_printf(x->arena, "%s/%s", p->scopes.v[key[0]], e->prim->name);
    KN_XCHECK(x, name);
    own[1] = (kn_mloc){.kind = KN_ML_NAME, .text = kn_xspan(name ? name : ""), .child = placed ? &own[0] : NULL};
    return &own[1];
}

static const kn_xrow *find_row(const kn_prim *p)
{
    static const struct {
        const kn_xrow *rows;
        const uint32_t *n;
    } tables[] = {{kn_xrows_element, &kn_xrows_n_element},
                  {kn_xrows_shape, &kn_xrows_n_shape},
                  {kn_xrows_reduce, &kn_xrows_n_reduce},
                  {kn_xrows_control, &kn_xrows_n_control},
                  {kn_xrows_linalg, &kn_xrows_n_linalg}};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (uint32_t i = 0; i < *tables[t].n; i++)
            if (tables[t].rows[i].prim == p) return &tables[t].rows[i];
    return NULL;
}

const char *kn_export_name(const kn_prim *p)
{
    const kn_xrow *row = find_row(p);
    const char *dot = row && row->name ? strchr(row->name, '.') : NULL;
    bool comparison = p == &kn_prim_eq || p == &kn_prim_ne || p == &kn_prim_lt || p == &kn_prim_le || p == &kn_prim_gt || p == &kn_prim_ge;
    if (strncmp(p->name, "reduce_", 7) == 0 || strncmp(p->name, "cum", 3) == 0 || strncmp(p->name, "scatter", 7) == 0) return "reduce";
    if (p == &kn_prim_dot_general) return "dot";
    if (p == &kn_prim_broadcast_in_dim) return "broadcast";
    if (p == &kn_prim_select_n) return "select";
    if (p == &kn_prim_convert_element_type) return "convert";
    return comparison ? "compare" : dot ? dot + 1 : p->name;
}

/* Does a body that HLO cannot write see something around it? Literals are made again inside. */
static bool must_close(const kn_export *x, const kn_jaxpr *j, const kn_eqn *e)
{
    const kn_param *n = x->closed ? kn_param_of(e, "num_consts") : NULL;
    bool two = e->prim == &kn_prim_select_and_scatter;
    int64_t consts = !n ? 0 : n->kind == KN_P_INT ? n->i : n->kind == KN_P_INTS ? n->ints[0] + n->ints[1] : 0;
    if (!two && e->prim != &kn_prim_reduce && e->prim != &kn_prim_reduce_window) return false;
    for (int64_t i = 0; i < consts; i++)
        if (!kn_is_literal(e->in[i]) && (two || kn_type_of(j, e->in[i]).rank)) return true;
    return false;
}

void kn_xeqn(kn_export *x, const kn_jaxpr *j, const kn_eqn *e)
{
    const kn_xrow *row = find_row(e->prim);
    const kn_mloc *around = x->loc;
    if (x->status != KILN_OK) return;
    if (!x->lowered) x->loc = location(x, e);
    if (row && !must_close(x, j, e)) row->fn(x, j, e, row);
    else if (kn_lower_rule(j, e)) kn_xlowered(x, j, e);
    else kn_xfail(x, kn_fail(x->ctx, KILN_UNSUPPORTED, "StableHLO has no operation for %s", e->prim->name));
    x->loc = around;
}

static bool open_frame(kn_export *x, kn_xframe *f, const kn_jaxpr *j, const kn_xframe *outer)
{
    *f = (kn_xframe){.j = j, .vars = KN_NEWN(x->arena, uint32_t, j->nvars), .lits = KN_NEWN(x->arena, uint32_t, j->nlits),
                     .const_of = KN_NEWN(x->arena, uint32_t, j->nvars), .outer = outer};
    KN_XCHECK(x, f->vars && f->lits && f->const_of);
    for (uint32_t i = 0; x->status == KILN_OK && i < j->nconsts; i++) f->const_of[j->in[i]] = i + 1;
    return x->status == KILN_OK;
}

/* Equations of the frame; the values of its results. */
static void body(kn_export *x, uint32_t *out)
{
    const kn_jaxpr *j = x->frame->j;
    for (uint32_t k = 0; k < j->neqns && x->status == KILN_OK; k++) {
        kn_atom a;
        constants(x, k);
        if (!kn_xwritten(x, &j->eqns[k], &a) || a != KN_NOT_WRITTEN) kn_xeqn(x, j, &j->eqns[k]);
    }
    constants(x, j->neqns);
    for (uint32_t i = 0; i < j->nout && x->status == KILN_OK; i++) out[i] = kn_xatom(x, j->out[i]);
}

void kn_xinline(kn_export *x, const kn_jaxpr *b, const uint32_t *args, uint32_t *out)
{
    kn_xframe f, *around = x->frame;
    if (x->status != KILN_OK || !open_frame(x, &f, b, NULL)) return;
    for (uint32_t i = b->nconsts; i < b->nin; i++) f.vars[b->in[i]] = args[i - b->nconsts] + 1;
    x->frame = &f;
    body(x, out);
    x->frame = around;
}

kn_xopen kn_xopen_region(kn_export *x, kn_mop *op, uint32_t k, uint32_t nregions, const kiln_type *args, uint32_t nargs)
{
    kn_xopen o = {op, k, nregions, KN_NEW(x->arena, kn_mregion), x->block, x->last, x->values.n};
    KN_XCHECK(x, o.region);
    if (x->depth >= KN_XDEEPEST) kn_xfail(x, kn_fail(x->ctx, KILN_UNSUPPORTED, "bodies are nested more than %d deep", KN_XDEEPEST));
    if (x->status != KILN_OK) return o;
    *o.region = (kn_mregion){.args = x->values.n, .nargs = nargs, .first = x->values.n, .at = x->at};
    for (uint32_t i = 0; i < nargs; i++) new_value(x, args[i]);
    x->block = o.region;
    x->last = NULL;
    x->depth++;
    return o;
}

void kn_xclose(kn_export *x, kn_xopen o, const uint32_t *results, uint32_t n)
{
    if (x->status != KILN_OK) return;
    kn_xop(x, o.outer ? "stablehlo.return" : "func.return", results, n, NULL, 0);
    o.region->end = x->values.n;
    kn_mregion *all = KN_NEWN(x->arena, kn_mregion, o.nregions);
    KN_XCHECK(x, all);
    for (uint32_t i = 0; all && i < o.op->nregions; i++) all[i] = o.op->regions[i];
    if (all) all[o.k] = *o.region;
    o.op->regions = all;
    o.op->nregions = all ? o.nregions : 0;
    x->block = o.outer;
    x->last = o.outer_last;
    x->depth--;
}

void kn_xregion(kn_export *x, kn_mop *op, uint32_t k, uint32_t nregions, const kn_jaxpr *b, const kn_atom *captured, uint32_t ncaptured)
{
    uint32_t nargs = kn_nargs(b), own = nargs - ncaptured;
    uint32_t *values = KN_NEWN(x->arena, uint32_t, ncaptured), *out = KN_NEWN(x->arena, uint32_t, b->nout);
    kiln_type *types = KN_NEWN(x->arena, kiln_type, own);
    kn_xframe f, *around = x->frame;
    KN_XCHECK(x, values && types && out);
    if (x->status != KILN_OK || !open_frame(x, &f, b, around)) return;
    for (uint32_t i = 0; i < ncaptured; i++) values[i] = kn_xatom(x, captured[i]);
    for (uint32_t i = 0; i < own; i++) types[i] = kn_type_of(b, b->in[b->nconsts + ncaptured + i]);
    kn_xopen o = kn_xopen_region(x, op, k, nregions, types, own);
    if (x->status != KILN_OK) return;
    for (uint32_t i = 0; i < nargs; i++) f.vars[b->in[b->nconsts + i]] = 1 + (i < ncaptured ? values[i] : o.arg + i - ncaptured);
    x->frame = &f;
    body(x, out);
    x->frame = around;
    kn_xclose(x, o, out, b->nout);
}

void kn_xcombine_region(kn_export *x, kn_mop *op, const char *name, kiln_dtype d, kiln_dtype result)
{
    kiln_type scalar = KILN_SCALAR(d);
    kn_xopen o = kn_xopen_region(x, op, 0, 1, (kiln_type[]){scalar, scalar}, 2);
    uint32_t y = kn_xop1(x, name, (uint32_t[]){o.arg, o.arg + 1}, 2, KILN_SCALAR(result));
    kn_xclose(x, o, &y, 1);
}

/* ---- functions ---- */

/* Letters, digits and _ . of a name; what else stands in it becomes _. */
static const char *clean_name(kn_export *x, const char *name)
{
    char *s = kn_arena_text(x->arena, *name ? name : "f");
    KN_XCHECK(x, s);
    if (!s) return "";
    for (char *p = s; *p; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
        bool digit = (*p >= '0' && *p <= '9') || *p == '.';
        if (!letter && !(digit && p > s)) *p = '_';
    }
    return s;
}

/* Names of @main's arguments and results. */
static void name_ends(kn_export *x, kn_mvalue *args, uint32_t nargs, kn_mattr *results, uint32_t nresults)
{
    const kn_prog *p = x->prog;
    for (uint32_t i = 0; p->in_names && x->status == KILN_OK && i < nargs; i++) {
        if (!*p->in_names[i]) continue;
        kn_mloc *l = KN_NEW(x->arena, kn_mloc);
        KN_XCHECK(x, l);
        if (l) *l = (kn_mloc){.kind = KN_ML_NAME, .text = kn_xspan(p->in_names[i])};
        args[i].loc = l;
    }
    for (uint32_t i = 0; p->out_names && x->status == KILN_OK && i < nresults; i++) {
        if (!*p->out_names[i]) continue;
        kn_mfield *field = KN_NEW(x->arena, kn_mfield);
        KN_XCHECK(x, field);
        if (!field) return;
        *field = (kn_mfield){kn_xspan("jax.result_info"), {.kind = KN_MA_STRING, .at = "", .text = kn_xspan(p->out_names[i])}};
        results[i] = (kn_mattr){.kind = KN_MA_DICT, .n = 1, .at = "", .fields = field};
    }
}

kn_export kn_xenter(kn_export *x)
{
    kn_export saved = *x;
    memset(&x->values, 0, sizeof x->values);
    x->block = NULL;
    x->last = NULL;
    x->depth = 0;
    return saved;
}

void kn_xleave(kn_export *x, const kn_export *saved, kn_mfunc *f)
{
    f->values = x->values.v;
    f->nvalues = x->values.n;
    x->values.v = saved->values.v, x->values.n = saved->values.n, x->values.cap = saved->values.cap;
    x->block = saved->block, x->last = saved->last, x->depth = saved->depth, x->frame = saved->frame;
    x->loc = saved->loc, x->at = saved->at, x->line = saved->line;
}

static kn_mfunc *function(kn_export *x, const kn_jaxpr *j, const char *name)
{
    uint32_t n = kn_nargs(j);
    kn_mfunc *f = KN_NEW(x->arena, kn_mfunc);
    kiln_type *types = KN_NEWN(x->arena, kiln_type, n);
    const kn_mtype **results = kn_arena_newn(x->arena, j->nout, sizeof *results);
    kn_mattr *attrs = KN_NEWN(x->arena, kn_mattr, n + j->nout); /* UNIT: none */
    uint32_t *out = KN_NEWN(x->arena, uint32_t, j->nout);
    KN_XCHECK(x, f && types && results && attrs && out);
    if (x->status != KILN_OK) return NULL;
    *f = (kn_mfunc){.name = kn_xspan(name), .at = "", .is_private = x->m->funcs.n > 0, .has_body = true, .nargs = n, .nresults = j->nout,
                    .results = results, .arg_attrs = attrs, .result_attrs = attrs + n};
    kn_xfunc known = {j, f};
    kn_xfail(x, kn_mfunc_add(x->m, f));
    KN_XCHECK(x, kn_push(x->arena, &x->funcs, known));
    if (x->status != KILN_OK) return NULL;
    kn_export saved = kn_xenter(x);
    kn_xframe frame;
    if (!x->lowered) x->loc = NULL;
    for (uint32_t i = 0; i < n; i++) types[i] = kn_type_of(j, j->in[j->nconsts + i]);
    kn_mop holder = {.name = {"", 0}};
    kn_xopen o = kn_xopen_region(x, &holder, 0, 1, types, n);
    if (open_frame(x, &frame, j, NULL)) {
        for (uint32_t i = 0; i < n; i++) frame.vars[j->in[j->nconsts + i]] = 1 + o.arg + i;
        x->frame = &frame;
        body(x, out);
        kn_xclose(x, o, out, j->nout);
        for (uint32_t i = 0; i < j->nout; i++) results[i] = kn_xtype(x, kn_type_of(j, j->out[i]));
        if (x->status == KILN_OK) f->body = holder.regions[0];
        if (!f->is_private) name_ends(x, x->values.v, n, attrs + n, j->nout);
    }
    kn_xleave(x, &saved, f);
    return f;
}

const kn_mfunc *kn_xfunction(kn_export *x, const kn_jaxpr *b, const char *name)
{
    if (x->status != KILN_OK) return NULL;
    for (uint32_t i = 0; i < x->funcs.n; i++)
        if (x->funcs.v[i].body == b) return x->funcs.v[i].f;
    name = clean_name(x, name);
    const char *own = name;
    for (uint32_t k = 0; x->status == KILN_OK && kn_mfunc_find(x->m, 0, kn_xspan(own)); k++) {
        own = kn_arena_printf(x->arena, "%s_%u", name, k);
        KN_XCHECK(x, own);
        if (!own) own = "";
    }
    return function(x, b, own);
}

const kn_mfunc *kn_xdecomposition(kn_export *x, const kn_jaxpr *b, const char *name)
{
    if (x->status != KILN_OK) return NULL;
    for (uint32_t i = 0; i < x->decompositions.n; i++)
        if (kn_jaxpr_equal(x->decompositions.v[i].body, b)) return x->decompositions.v[i].f;
    const kn_mfunc *f = kn_xfunction(x, b, name);
    kn_xfunc known = {b, f};
    if (f) KN_XCHECK(x, kn_push(x->arena, &x->decompositions, known));
    return f;
}

void kn_xcall(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, const kn_jaxpr *b, const char *name)
{
    kn_xends n;
    if (!kn_xends_of(x, j, e, 0, &n)) return;
    const kn_mfunc *f = kn_xfunction(x, b, name);
    if (!f) return;
    kn_mop *op = kn_xop(x, "func.call", n.in, n.nin, n.out, e->nout);
    kn_xattr(x, op, "callee", (kn_mattr){.kind = KN_MA_SYMBOL, .at = "", .text = f->name});
    kn_xset(x, e, op);
}

/* ---- what has no operation of its own ---- */

static kiln_status lower_eqn(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, bool literals, const kn_jaxpr **out)
{
    kn_prog *p;
    kn_build b;
    KILN_TRY(kn_prog_new(x->ctx, NULL, &p));
    if (!kn_push(x->arena, &x->lowerings, p)) {
        kiln_prog_release(p);
        return kn_nomem(x->ctx);
    }
    kn_build_init(&b, x->ctx, p);
    kn_atom *in = KN_NEWN(x->arena, kn_atom, e->nin), *y = KN_NEWN(x->arena, kn_atom, e->nout);
    KILN_TRY_MEM(x->ctx, in && y);
    for (uint32_t i = 0; i < e->nin; i++) { /* literals that stay visible to the rule are arguments too, which nothing uses */
        KILN_TRY(kn_build_input(&b, kn_type_of(j, e->in[i]), &in[i]));
        if (!literals || !kn_is_literal(e->in[i])) continue;
        const kn_lit *l = &j->lits[kn_literal_index(e->in[i])];
        KILN_TRY(kn_build_literal(&b, l->dtype, l->value, &in[i]));
    }
    KILN_TRY_NOTE(x->ctx, kn_lower_rule(j, e)(NULL, &b, j, e, in, y), "while lowering %s", e->prim->name);
    return kn_build_finish(&b, y, e->nout, out);
}

const kn_jaxpr *kn_xlowering(kn_export *x, const kn_jaxpr *j, const kn_eqn *e, bool literals)
{
    const kn_jaxpr *b = NULL;
    if (x->status == KILN_OK) kn_xfail(x, lower_eqn(x, j, e, literals, &b));
    return x->status == KILN_OK ? b : NULL;
}

void kn_xlowered(kn_export *x, const kn_jaxpr *j, const kn_eqn *e)
{
    enum { MOST = 64 }; /* a rule that gives its own primitive again would not end */
    const kn_jaxpr *b = kn_xlowering(x, j, e, true);
    uint32_t *args = KN_NEWN(x->arena, uint32_t, e->nin), *out = KN_NEWN(x->arena, uint32_t, e->nout);
    KN_XCHECK(x, args && out);
    if (x->lowered > MOST) kn_xfail(x, kn_fail(x->ctx, KILN_INTERNAL, "lowering %s does not end", e->prim->name));
    if (x->status != KILN_OK) return;
    for (uint32_t i = 0; i < e->nin; i++) args[i] = kn_is_literal(e->in[i]) ? 0 : kn_xatom(x, e->in[i]);
    x->lowered++;
    kn_xinline(x, b, args, out);
    x->lowered--;
    for (uint32_t i = 0; i < e->nout; i++) kn_xset1(x, e, i, out[i]);
}

/* ---- the module ---- */

static void module_attributes(kn_export *x)
{
    static const char *const names[] = {"mhlo.num_partitions", "mhlo.num_replicas"};
    kn_mfield *fields = KN_NEWN(x->arena, kn_mfield, 2);
    KN_XCHECK(x, fields);
    for (int i = 0; fields && i < 2; i++) fields[i] = (kn_mfield){kn_xspan(names[i]), kn_xtyped_int(x, KILN_I32, 1)};
    x->m->attrs = (kn_mattr){.kind = KN_MA_DICT, .n = 2, .at = "", .fields = fields};
}

kiln_status kn_export_program(kiln_ctx *ctx, kn_arena *arena, const kn_prog *p, bool hlo, kn_mmodule **out)
{
    kn_export x = {.ctx = ctx, .arena = arena, .prog = p, .at = "", .closed = hlo};
    kn_mmodule *m = KN_NEW(arena, kn_mmodule);
    KILN_TRY_MEM(ctx, m);
    m->src = (kn_source){.ctx = ctx, .file = "", .text = "", .n = 0};
    m->arena = arena;
    m->name = kn_xspan(p->name ? p->name : "jit_main");
    m->nchunks = 1;
    x.m = m;
    module_attributes(&x);
    kn_prog *words = NULL;
    if (x.status == KILN_OK) kn_xfail(&x, kn_xwords(ctx, p, &words));
    if (x.status == KILN_OK) function(&x, words ? words->main : p->main, "main");
    kiln_prog_release(words);
    for (uint32_t i = 0; i < x.lowerings.n; i++) kiln_prog_release(x.lowerings.v[i]);
    *out = m;
    return x.status;
}
