/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and copies. An address is the slot's pointer, a scalar index and a constant, which the machine adds up in one
 * operand; only the alignment of an element is assumed. In lanes: consecutive elements are one vector, descending ones a
 * reversed vector, consecutive ones that stop at a border (an index clamped by a constant) a masked vector and the border's
 * element, others are gathered and scattered. */
#include "llvm/emit.h"

kn_ll kn_slot_pointer(kn_emit *e, uint32_t slot)
{
    const kn_slot *s = &e->l->slots.v[slot];
    if (e->ptr[slot]) return e->ptr[slot];
    LLVMTypeRef byte = LLVMInt8TypeInContext(e->c);
    switch (s->kind) {
    case KN_SLOT_INPUT: return e->ptr[slot] = kn_entry_load(e, e->buffers, sizeof(void *) * (uint64_t)s->index);
    case KN_SLOT_OUTPUT:
        return e->ptr[slot] = kn_entry_load(e, e->buffers, sizeof(void *) * ((uint64_t)e->l->n_inputs + s->index));
    case KN_SLOT_CONST:
        if (!e->consts) e->consts = kn_entry_load(e, e->table, 0);
        return e->ptr[slot] = kn_entry_load(e, e->consts, sizeof(void *) * (uint64_t)s->index);
    case KN_SLOT_SIZE: return e->ptr[slot] = kn_entry_load(e, e->buffers, sizeof(void *) * ((uint64_t)e->l->n_inputs + e->l->n_outputs));
    default: break;
    }
    if (s->per) return e->ptr[slot] = kn_entry_scratch(e, s);
    /* Not kept: where it is used, the offset becomes part of the address. */
    return kn_moved(e, s->part ? e->part : e->scratch, byte, kn_int(e, 64, s->offset));
}

kn_ll kn_moved(kn_emit *e, kn_ll p, LLVMTypeRef t, kn_ll n)
{
    bool none = LLVMIsAConstantInt(n) && LLVMConstIntGetZExtValue(n) == 0;
    return none ? p : LLVMBuildGEP2(e->b, t, p, &n, 1, "");
}

/* root + base * the size of t; elements around one place share it, within a block. */
static kn_ll place_of(kn_emit *e, kn_ll root, kn_ll base, LLVMTypeRef t, unsigned bytes)
{
    kn_bb here = kn_here(e);
    for (unsigned i = 0; i < KN_PLACES; i++) {
        const kn_place_known *k = &e->places[i];
        if (k->block == here && k->root == root && k->base == base && k->bytes == bytes) return k->p;
    }
    kn_ll p = kn_moved(e, root, t, base);
    e->places[e->next_place++ % KN_PLACES] = (kn_place_known){here, root, base, p, bytes};
    return p;
}

/* Of the element base + offset, where base may be NULL. */
kn_ll kn_address(kn_emit *e, const kn_linst *in, kn_ll base, int64_t offset)
{
    unsigned bytes = kn_bytes(in->dtype);
    uint64_t moved = (uint64_t)offset * bytes;
    bool scratch = !e->ptr[in->slot] && e->l->slots.v[in->slot].kind == KN_SLOT_SCRATCH && !e->l->slots.v[in->slot].per;
    kn_ll p = !scratch ? kn_slot_pointer(e, in->slot) : e->l->slots.v[in->slot].part ? e->part : e->scratch;
    if (scratch) moved += e->l->slots.v[in->slot].offset;
    if (base) p = place_of(e, p, base, kn_memory_type(e, in->dtype, 0), bytes);
    return kn_moved(e, p, LLVMInt8TypeInContext(e->c), kn_int(e, 64, moved));
}

/* Of the element, in lanes that of lane 0, moved by `more` elements. */
static kn_ll address(kn_emit *e, const kn_linst *in, int64_t more)
{
    return kn_address(e, in, e->val[in->a].base, (int64_t)((uint64_t)e->val[in->a].offset + (uint64_t)more));
}

/* An index that was 32 bits wide before it became an i64 is one register for all lanes. */
static kn_ll addresses(kn_emit *e, const kn_linst *in)
{
    const kn_linst *index = &e->l->inst.v[in->a];
    bool narrow = index->op == KN_L_SOP && index->sop == KN_S_convert && (index->from == KILN_I32 || (index->from == KILN_U32 && e->l->slots.v[in->slot].elements <= INT32_MAX));
    return kn_moved(e, kn_slot_pointer(e, in->slot), kn_memory_type(e, in->dtype, 0), kn_vector_of(e, narrow ? index->a : in->a));
}

static kn_ll reversed(kn_emit *e, kn_ll v) { return v ? kn_slice(e, v, e->w - 1, e->w, (unsigned)-1) : NULL; }

static kn_ll load(kn_emit *e, LLVMTypeRef t, kn_ll p, unsigned align)
{
    kn_ll x = LLVMBuildLoad2(e->b, t, p, "");
    LLVMSetAlignment(x, align);
    return x;
}

static void store(kn_emit *e, kn_ll x, kn_ll p, unsigned align) { LLVMSetAlignment(LLVMBuildStore(e->b, x, p), align); }

kn_ll kn_vector_load(kn_emit *e, kiln_dtype d, kn_ll p, kn_ll mask)
{
    LLVMTypeRef t = kn_memory_type(e, d, e->w), overload[] = {t, LLVMTypeOf(p)};
    if (!mask) return load(e, t, p, kn_bytes(d));
    kn_ll args[] = {p, kn_int(e, 32, kn_bytes(d)), mask, LLVMConstNull(t)};
    return kn_intrinsic(e, "llvm.masked.load", overload, 2, args, 4);
}

static void vector_store(kn_emit *e, kiln_dtype d, kn_ll x, kn_ll p, kn_ll mask)
{
    LLVMTypeRef overload[] = {LLVMTypeOf(x), LLVMTypeOf(p)};
    kn_ll args[] = {x, p, kn_int(e, 32, kn_bytes(d)), mask};
    if (mask) kn_intrinsic(e, "llvm.masked.store", overload, 2, args, 4);
    else store(e, x, p, kn_bytes(d));
}

static kn_ll all_lanes(kn_emit *e) { return e->mask ? e->mask : kn_const_splat(e, kn_int(e, 1, 1), e->w); }

static kn_ll gather(kn_emit *e, const kn_linst *in)
{
    kn_ll p = addresses(e, in);
    LLVMTypeRef t = kn_memory_type(e, in->dtype, e->w), overload[] = {t, LLVMTypeOf(p)};
    kn_ll args[] = {p, kn_int(e, 32, kn_bytes(in->dtype)), all_lanes(e), LLVMConstNull(t)};
    return kn_intrinsic(e, "llvm.masked.gather", overload, 2, args, 4);
}

static void scatter(kn_emit *e, const kn_linst *in, kn_ll x)
{
    kn_ll p = addresses(e, in);
    LLVMTypeRef overload[] = {LLVMTypeOf(x), LLVMTypeOf(p)};
    kn_ll args[] = {x, p, kn_int(e, 32, kn_bytes(in->dtype)), all_lanes(e)};
    kn_intrinsic(e, "llvm.masked.scatter", overload, 2, args, 4);
}

/* index = min(max(lin, lo), hi) + more.., lin rising by one from lane to lane; either border may be missing. */
typedef struct clamped {
    kn_lv lin, lo, hi;  /* 0: none */
    kn_lv more[4];      /* the same in all lanes */
    unsigned n;
} clamped;

static const kn_linst *index_op(const kn_emit *e, kn_lv v, kn_sop op)
{
    const kn_linst *in = &e->l->inst.v[v];
    return in->op == KN_L_SOP && in->sop == op && in->from == KILN_I64 ? in : NULL;
}

static bool is_border(const kn_emit *e, kn_lv v) { return e->l->inst.v[v].op == KN_L_CONST; }
static bool rises(const kn_emit *e, kn_lv v) { return kn_in_lanes(e, v) && e->val[v].linear && e->val[v].stride == 1; }

static bool find_clamped(const kn_emit *e, kn_lv v, clamped *c)
{
    const kn_linst *sum, *in;
    *c = (clamped){.lin = v};
    for (; c->n < sizeof c->more / sizeof *c->more && (sum = index_op(e, c->lin, KN_S_add)); c->n++) {
        bool same = !kn_in_lanes(e, sum->b);
        if (!same && kn_in_lanes(e, sum->a)) break;
        c->more[c->n] = same ? sum->b : sum->a;
        c->lin = same ? sum->a : sum->b;
    }
    if ((in = index_op(e, c->lin, KN_S_min)) && is_border(e, in->b)) c->hi = in->b, c->lin = in->a;
    if ((in = index_op(e, c->lin, KN_S_max)) && is_border(e, in->b)) c->lo = in->b, c->lin = in->a;
    return (c->lo || c->hi) && rises(e, c->lin);
}

static kn_ll border_element(kn_emit *e, const kn_linst *in, kn_lv border, kn_ll more)
{
    kn_ll at = LLVMBuildAdd(e->b, kn_scalar_of(e, border), more, "");
    LLVMTypeRef t = kn_memory_type(e, in->dtype, 0);
    return kn_splat(e, load(e, t, kn_moved(e, kn_slot_pointer(e, in->slot), t, at), kn_bytes(in->dtype)), e->w);
}

static kn_ll lanes_that(kn_emit *e, LLVMIntPredicate p, kn_lv lin, kn_lv border)
{
    kn_ll distance = LLVMBuildSub(e->b, kn_scalar_of(e, border), e->val[lin].s, "");
    return LLVMBuildICmp(e->b, p, kn_iota(e, 64, e->w, 1), kn_splat(e, distance, e->w), "");
}

static kn_ll load_clamped_near(kn_emit *e, const kn_linst *in, const clamped *c)
{
    int64_t more = 0, one, lo = INT64_MIN, hi = INT64_MAX;
    for (unsigned k = 0; k < c->n; k++) {
        if (!kn_const_index(e, c->more[k], &one)) return NULL;
        more += one;
    }
    if (e->val[c->lin].base) return NULL;
    if (c->lo) kn_const_index(e, c->lo, &lo);
    if (c->hi) kn_const_index(e, c->hi, &hi);
    return kn_emit_neighbours(e, in, &e->val[c->lin], more, lo, hi);
}

static kn_ll load_clamped(kn_emit *e, const kn_linst *in, const clamped *c)
{
    kn_ll more = kn_int(e, 64, 0), mask = e->mask, rest = NULL;
    LLVMTypeRef one = kn_memory_type(e, in->dtype, 0), t = kn_memory_type(e, in->dtype, e->w);
    kn_ll near = load_clamped_near(e, in, c);
    if (near) return near;
    for (unsigned k = 0; k < c->n; k++) more = LLVMBuildAdd(e->b, more, kn_scalar_of(e, c->more[k]), "");
    if (c->lo) {
        kn_ll inside = lanes_that(e, LLVMIntSGE, c->lin, c->lo);
        rest = border_element(e, in, c->lo, more);
        mask = mask ? LLVMBuildAnd(e->b, mask, inside, "") : inside;
    }
    if (c->hi) {
        kn_ll inside = lanes_that(e, LLVMIntSLE, c->lin, c->hi), above = border_element(e, in, c->hi, more);
        rest = rest ? LLVMBuildSelect(e->b, inside, rest, above, "") : above;
        mask = mask ? LLVMBuildAnd(e->b, mask, inside, "") : inside;
    }
    kn_ll first = LLVMBuildAdd(e->b, e->val[c->lin].s, more, ""), p = kn_moved(e, kn_slot_pointer(e, in->slot), one, first);
    LLVMTypeRef overload[] = {t, LLVMTypeOf(p)};
    kn_ll args[] = {p, kn_int(e, 32, kn_bytes(in->dtype)), mask, rest};
    return kn_intrinsic(e, "llvm.masked.load", overload, 2, args, 4);
}

/* The lines of a vector so many elements from here, which are written or read soon. */
static void fetch_lines(kn_emit *e, const kn_linst *in, int64_t away, bool write)
{
    enum { LINE = 64 };
    for (unsigned at = 0; at < e->w; at += LINE / kn_bytes(in->dtype)) {
        kn_ll p = address(e, in, away + at);
        LLVMTypeRef overload = LLVMTypeOf(p);
        kn_ll args[] = {p, kn_int(e, 32, write), kn_int(e, 32, 3), kn_int(e, 32, 1)};
        kn_intrinsic(e, "llvm.prefetch", &overload, 1, args, 4);
    }
}

void kn_emit_load(kn_emit *e, kn_lv v, const kn_linst *in)
{
    clamped c;
    const kn_val *index = &e->val[in->a];
    bool lanes = kn_in_lanes(e, in->a);
    kn_ll x;
    if (!lanes) x = load(e, kn_memory_type(e, in->dtype, 0), address(e, in, 0), kn_bytes(in->dtype));
    else if (index->linear && index->stride == 1) {
        x = (x = kn_emit_neighbours(e, in, index, 0, INT64_MIN, INT64_MAX)) ? x : kn_vector_load(e, in->dtype, address(e, in, 0), e->mask);
        if (in->index) fetch_lines(e, in, -(int64_t)(int32_t)in->index, false);
    }
    else if (index->linear && index->stride == -1)
        x = reversed(e, kn_vector_load(e, in->dtype, address(e, in, 1 - (int64_t)e->w), reversed(e, e->mask)));
    else if (find_clamped(e, in->a, &c)) x = load_clamped(e, in, &c);
    else x = gather(e, in);
    if (in->dtype == KILN_BOOL) x = LLVMBuildICmp(e->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
    else if (kn_bits(in->dtype) < 8) x = LLVMBuildTrunc(e->b, x, kn_type(e, in->dtype, lanes ? e->w : 0), "");
    kn_set(e, v, x, lanes);
}

void kn_emit_store(kn_emit *e, const kn_linst *in)
{
    const kn_val *index = &e->val[in->a];
    bool lanes = kn_in_lanes(e, in->a);
    kn_ll x = kn_value_of(e, in->b, lanes);
    if (kn_bits(in->dtype) < 8) x = LLVMBuildZExt(e->b, x, kn_memory_type(e, in->dtype, lanes ? e->w : 0), "");
    if (!lanes) store(e, x, address(e, in, 0), kn_bytes(in->dtype));
    else if (index->linear && index->stride == 1) {
        vector_store(e, in->dtype, x, address(e, in, 0), e->mask);
        if (in->index) fetch_lines(e, in, in->index, true);
    } else if (index->linear && index->stride == -1)
        vector_store(e, in->dtype, reversed(e, x), address(e, in, 1 - (int64_t)e->w), reversed(e, e->mask));
    else scatter(e, in, x);
}

/* ---- copies ---- */

/* Bytes from q to p, by vectors and then by ever smaller pieces. */
static void copy_inline(kn_emit *e, kn_ll p, kn_ll q, uint64_t bytes, unsigned align)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(e->c);
    uint64_t at = 0;
    for (unsigned piece = e->vector_bytes; piece; piece /= 2)
        for (; bytes - at >= piece; at += piece) {
            LLVMTypeRef t = piece > 8 ? LLVMVectorType(LLVMInt64TypeInContext(e->c), piece / 8) : LLVMIntTypeInContext(e->c, piece * 8);
            unsigned a = piece < align ? piece : align;
            kn_ll offset = kn_int(e, 64, at);
            store(e, load(e, t, kn_moved(e, q, byte, offset), a), kn_moved(e, p, byte, offset), a);
        }
}

static LLVMTypeRef copy_type(kn_emit *e)
{
    LLVMTypeRef p = LLVMPointerTypeInContext(e->c, 0), params[] = {p, p, LLVMInt64TypeInContext(e->c)};
    return LLVMFunctionType(LLVMVoidTypeInContext(e->c), params, 3, false);
}

/* One vector from q to p, both moved by `at`. */
static void copy_vector(kn_emit *e, kn_ll p, kn_ll q, kn_ll at)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(e->c), t = LLVMVectorType(LLVMInt64TypeInContext(e->c), e->vector_bytes / 8);
    store(e, load(e, t, kn_moved(e, q, byte, at), 1), kn_moved(e, p, byte, at), 1);
}

/* copy(to, from, bytes): at least a vector, in whole ones, of which the last overlaps the one before it; nothing where both are the same. */
static void fill_copy(kn_emit *e, kn_ll fn)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(e->c);
    kn_bb first = LLVMAppendBasicBlockInContext(e->c, fn, ""), body = LLVMAppendBasicBlockInContext(e->c, fn, "");
    kn_bb last = LLVMAppendBasicBlockInContext(e->c, fn, ""), done = LLVMAppendBasicBlockInContext(e->c, fn, "");
    kn_ll p = LLVMGetParam(fn, 0), q = LLVMGetParam(fn, 1), step = kn_int(e, 64, e->vector_bytes);
    LLVMPositionBuilderAtEnd(e->b, first);
    kn_ll end = LLVMBuildSub(e->b, LLVMGetParam(fn, 2), step, "");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, p, q, ""), done, body);
    LLVMPositionBuilderAtEnd(e->b, body);
    kn_ll at = LLVMBuildPhi(e->b, i64, "");
    copy_vector(e, p, q, at);
    kn_ll next = LLVMBuildAdd(e->b, at, step, "");
    kn_incoming(at, kn_int(e, 64, 0), first);
    kn_incoming(at, next, body);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, next, end, ""), body, last);
    LLVMPositionBuilderAtEnd(e->b, last);
    copy_vector(e, p, q, end);
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, done);
    LLVMBuildRetVoid(e->b);
}

static kn_ll copy_function(kn_emit *e)
{
    kn_ll known = LLVMGetNamedFunction(e->m, "kiln_copy"), fn = e->fn;
    if (known) return known;
    kn_bb here = kn_here(e);
    kn_emit_declare(e, "kiln_copy", copy_type(e));
    known = e->fn;
    LLVMSetLinkage(known, LLVMInternalLinkage);
    fill_copy(e, known);
    LLVMPositionBuilderAtEnd(e->b, here);
    e->fn = fn;
    return known;
}

/* Few pieces are copied even where both are the same. */
void kn_emit_copy(kn_emit *e, const kn_linst *in)
{
    enum { FEW = 2 };
    const kn_slot *s = &e->l->slots.v[in->slot];
    uint64_t bytes = (uint64_t)s->elements * kn_bytes(s->dtype);
    kn_ll args[] = {kn_slot_pointer(e, in->slot), kn_slot_pointer(e, in->slot2), kn_int(e, 64, bytes)};
    if (bytes <= (uint64_t)FEW * e->vector_bytes) copy_inline(e, args[0], args[1], bytes, kn_bytes(s->dtype));
    else LLVMBuildCall2(e->b, copy_type(e), copy_function(e), args, 3, "");
}
