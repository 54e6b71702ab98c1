/* SPDX-License-Identifier: Apache-2.0 */
/* Nests that write rows of arrays, and pieces of nests: how many there are, how much scratch they need, and that the bits are those of
 * the interpreter at every width of vectors, with inputs donated and not. */
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "loop/loop.h"
#include "run/stages.h"
#include "donated.h"
#include "same.h"
#include "testing.h"

#include <math.h>

enum { MOST = 8 };

typedef struct facts {
    uint64_t nests, copies, scratch;
    unsigned loops, ahead, behind; /* loops: statements of the text, pieces of nests included */
} facts;

static kiln_prog *made(kiln_ctx *ctx, const char *text, const char *word)
{
    kiln_prog *p, *q;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    if (!word) return p;
    assert_ok(ctx, kiln_prog_transform(ctx, p, word, NULL, 0, &q));
    kiln_prog_release(p);
    return q;
}

static unsigned times_in(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *s = text; (s = strstr(s, what)); s++) n++;
    return n;
}

static void fill(kiln_array *a, uint32_t k)
{
    for (int64_t i = 0; i < kiln_type_size(a->type); i++) {
        kn_scalar v = {.i = i % 3};
        if (kiln_dtype_kind(a->type.dtype) == 'f') v.f = i % 11 == 5 ? -0.0 : 0.7 * sin(1.3 * (double)i + (double)k);
        kn_scalar_store(a->type.dtype, a->data, i, v);
    }
}

static void same_bits(kiln_ctx *ctx, const kiln_prog *p)
{
    static const unsigned bits[] = {64, 128, 256, 512};
    kiln_array *in[MOST], *want[MOST], *got[MOST];
    uint32_t nin = kiln_prog_n_inputs(p), nout = kiln_prog_n_outputs(p);
    for (uint32_t i = 0; i < nin; i++) {
        assert_ok(ctx, kiln_array_create(ctx, kiln_prog_input_type(p, i), &in[i]));
        fill(in[i], i);
    }
    assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
    for (unsigned k = 0; k < 2 * sizeof bits / sizeof *bits; k++) {
        bool donated[MOST], kept = false;
        uint32_t mask = k % 2 ? 255 : 0;
        kiln_exec *f;
        for (uint32_t i = 0; i < MOST; i++) donated[i] = k % 2, got[i] = NULL;
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.vector_bits = bits[k / 2];
        o.donated = donated;
        assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
        assert_ok(ctx, call_donated(ctx, p, f, mask, in, got, &kept));
        assert_true(kept);
        for (uint32_t i = 0; i < nout; i++) {
            int64_t at = 0;
            if (!same_array(want[i], got[i], &at)) fail_msg("vectors of %u bits: result %u differs at %lld", o.vector_bits, i, (long long)at);
            kiln_array_release(got[i]);
        }
        kiln_exec_release(f);
    }
    for (uint32_t i = 0; i < nout; i++) kiln_array_release(want[i]);
    for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
}

/* The text of loops is read, and printed as it was. */
static void read_again(kiln_ctx *ctx, const char *text, size_t n)
{
    kn_arena arena;
    kn_loops *l;
    char *again;
    size_t m;
    kn_arena_init(&arena, &ctx->alloc);
    assert_ok(ctx, kn_loops_parse(ctx, &arena, text, n, "text", &l));
    assert_ok(ctx, kn_loops_verify(ctx, l));
    assert_ok(ctx, kn_loops_print(ctx, l, &again, &m));
    assert_string_equal(again, text);
    kiln_text_free(ctx, again, m);
    kn_arena_fini(&arena);
}

static facts facts_of(kiln_ctx *ctx, const char *text, const char *word)
{
    kiln_prog *p = made(ctx, text, word);
    kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
    kiln_exec *f;
    kiln_exec_info info;
    char *loops;
    size_t n;
    o.vector_bits = 512;
    assert_ok(ctx, kn_compile_stage(ctx, p, &o, "loops", &loops, &n));
    assert_ok(ctx, kiln_compile(ctx, p, &o, &f));
    kiln_exec_info_get(f, &info);
    facts r = {.nests = info.nests, .copies = info.copies, .loops = times_in(loops, "  loop "), .ahead = times_in(loops, " ahead "), .behind = times_in(loops, " behind "), .scratch = info.scratch_bytes};
    read_again(ctx, loops, n);
    kiln_text_free(ctx, loops, n);
    kiln_exec_release(f);
    same_bits(ctx, p);
    kiln_prog_release(p);
    return r;
}

/* A scan over 40 trips; BODY has the carry c and the row y of the stacked results. */
#define SCAN(BODY) \
    "{ lambda ; k:f64[] x:f64[100]. let\n" \
    "    z:f64[100] s:f64[40,100] = scan[\n" \
    "      jaxpr={ lambda ; k:f64[] c:f64[100]. let\n" BODY " }\n" \
    "      length=40 num_carry=1 num_consts=1 reverse=False unroll=1\n" \
    "    ] k x\n" \
    "  in (z, s) }"

/* Each row is one nest with the next carry, and needs no scratch: what is left is the second buffer of the carry. */
static void rows(void **state)
{
    static const struct {
        const char *what, *text;
        unsigned nests;
        uint64_t scratch;
    } table[] = {
        {"a value that the next carry reads", SCAN("a:f64[100] = sin c  b:f64[100] = mul a k  d:f64[100] = rev[dimensions=(0,)] c  n:f64[100] = add a d in (n, a)"), 1, 832},
        {"the next carry itself", SCAN("d:f64[100] = rev[dimensions=(0,)] c  n:f64[100] = mul d k in (n, n)"), 1, 832},
        {"the carry as it was", SCAN("d:f64[100] = rev[dimensions=(0,)] c  n:f64[100] = mul d k in (n, c)"), 1, 832},
        {"what nothing else reads", SCAN("a:f64[100] = mul c k  b:f64[100] = sin a  n:f64[100] = add a 1.0:f64[] in (n, b)"), 1, 0},
    };
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        facts f = facts_of(ctx, table[i].text, NULL);
        if (f.nests != table[i].nests || f.copies || f.scratch != table[i].scratch)
            fail_msg("%s: %llu nests, %llu copies, %llu bytes", table[i].what, (unsigned long long)f.nests, (unsigned long long)f.copies, (unsigned long long)f.scratch);
    }
}

/* What may not be written early, or not alone, is right all the same. */
static void other_rows(void **state)
{
    static const char *const table[] = {
        /* two rows of one array, the first value read after the second was written over it */
        "{ lambda ; s:f64[5,70] x:f64[70] i:i32[] j:i32[]. let\n"
        "    a:f64[70] = sin x  b:f64[1,70] = reshape[dimensions=None new_sizes=(1, 70) sharding=None] a\n"
        "    t:f64[5,70] = dynamic_update_slice s b i 0:i32[]\n"
        "    d:f64[70] = cos x  e:f64[1,70] = reshape[dimensions=None new_sizes=(1, 70) sharding=None] d\n"
        "    u:f64[5,70] = dynamic_update_slice t e j 0:i32[]\n"
        "    r:f64[70] = rev[dimensions=(0,)] a  n:f64[70] = mul r d in (u, n) }",
        /* the array is read elsewhere */
        "{ lambda ; s:f64[5,70] x:f64[70] i:i32[]. let\n"
        "    a:f64[70] = sin x  b:f64[1,70] = reshape[dimensions=None new_sizes=(1, 70) sharding=None] a\n"
        "    t:f64[5,70] = dynamic_update_slice s b i 0:i32[]\n"
        "    n:f64[5,70] = add s s in (t, n) }",
        /* the index is known only after the value; a window that is not one piece; rows of two dimensions with a partial one */
        "{ lambda ; s:f64[5,70] x:f64[70] y:f64[2,60] z:f64[6,9,11] w:f64[3,11]. let\n"
        "    a:f64[70] = sin x  m:f64[] = reduce_max[axes=(0,) out_sharding=None] a  i:i32[] = convert_element_type[new_dtype=int32 sharding=None weak_type=False] m\n"
        "    b:f64[1,70] = reshape[dimensions=None new_sizes=(1, 70) sharding=None] a\n"
        "    t:f64[5,70] = dynamic_update_slice s b i 0:i32[]\n"
        "    c:f64[2,60] = exp y  u:f64[5,70] = dynamic_update_slice t c 1:i32[] 3:i32[]\n"
        "    d:f64[3,11] = exp w  e:f64[1,3,11] = reshape[dimensions=None new_sizes=(1, 3, 11) sharding=None] d\n"
        "    v:f64[6,9,11] = dynamic_update_slice z e 2:i32[] 7:i32[] 0:i32[]  q:f64[3,11] = mul d d in (u, v, q) }",
        /* a row that a branch, a loop and a product read */
        SCAN("a:f64[100] = sin c  p:bool[] = gt k 0.0:f64[]  i:i32[] = convert_element_type[new_dtype=int32 sharding=None weak_type=False] p\n"
             "q:f64[100] = cond[branches=({ lambda ; u:f64[100] v:f64[100]. let w:f64[100] = rev[dimensions=(0,)] u in (w,) }\n"
             "                            { lambda ; u:f64[100] v:f64[100]. let w:f64[100] = rev[dimensions=(0,)] u x:f64[100] = add w v in (x,) })] i a c\n"
             "r:f64[100] = scan[jaxpr={ lambda ; g:f64[100] h:f64[100]. let o:f64[100] = mul h g in (o,) } length=3 num_carry=1 num_consts=1 reverse=False unroll=1] a q\n"
             "t:f64[] = dot_general[dimension_numbers=(((0,), (0,)), ((), ())) preferred_element_type=float64] a a\n"
             "n:f64[100] = mul r t in (n, a)"),
    };
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) facts_of(ctx, table[i], NULL);
}

/* A stack that no cache holds is fetched ahead of the stores. */
static void far_rows(void **state)
{
    static const char text[] = "{ lambda ; x:f64[256]. let\n"
                               "    z:f64[256] s:f64[100,256] = scan[\n"
                               "      jaxpr={ lambda ; c:f64[256]. let a:f64[256] = mul c c  n:f64[256] = sub c a in (n, a) }\n"
                               "      length=100 num_carry=1 num_consts=0 reverse=True unroll=1\n"
                               "    ] x\n"
                               "  in (z, s) }";
    facts f = facts_of(*state, text, NULL);
    assert_int_equal(f.nests, 1);
    assert_int_equal(f.ahead, 1);
    assert_int_equal(f.behind, 0);
    f = facts_of(*state, SCAN("a:f64[100] = sin c  n:f64[100] = mul a k in (n, a)"), NULL);
    assert_int_equal(f.ahead, 0);
    /* the way back reads the rows from the last to the first */
    static const char back[] = "{ lambda ; x:f64[256]. let\n"
                               "    z:f64[256] = scan[jaxpr={ lambda ; c:f64[256]. let a:f64[256] = sin c in (a,) }\n"
                               "      length=100 num_carry=1 num_consts=0 reverse=False unroll=1] x\n"
                               "    s:f64[] = reduce_sum[axes=(0,) out_sharding=None] z in (s,) }";
    f = facts_of(*state, back, "grad:0");
    assert_int_equal(f.behind, 1);
}

/* Reductions through megabytes are fetched ahead, in one run or row by row; what a cache holds, or is read from the start again for every row, is not. */
static void streams(void **state)
{
    static const struct {
        const char *text;
        unsigned ahead;
    } table[] = {
        {"{ lambda ; x:f32[2100000]. let s:f32[] = reduce_sum[axes=(0,) out_sharding=None] x in (s,) }", 1},
        {"{ lambda ; x:f32[2000000]. let s:f32[] = reduce_sum[axes=(0,) out_sharding=None] x in (s,) }", 0},
        {"{ lambda ; x:f64[1050000] y:f64[1050000]. let s:f64[] = dot_general[dimension_numbers=(((0,), (0,)), ((), ())) preferred_element_type=float64] x y in (s,) }", 2},
        {"{ lambda ; x:f32[2100,1024]. let s:f32[2100] = reduce_sum[axes=(1,) out_sharding=None] x in (s,) }", 1},
        {"{ lambda ; x:f32[2100,1024] y:f32[1024]. let s:f32[2100] = dot_general[dimension_numbers=(((1,), (0,)), ((), ())) preferred_element_type=float32] x y in (s,) }", 1},
        {"{ lambda ; x:f32[4200,512]. let s:f32[4200] = reduce_sum[axes=(1,) out_sharding=None] x in (s,) }", 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        facts f = facts_of(*state, table[i].text, NULL);
        if (f.ahead != table[i].ahead) fail_msg("%s: %u loads are fetched ahead", table[i].text, f.ahead);
    }
}

/* A step that rolls arrays, each along another axis, behind one another: what is rolled goes to where it belongs by pieces that hold their
 * own seam alone, and is stored nowhere else: 2 loops over what the pieces share, and one over rows with 1 + 1 + 2 + 2 in it each. */
static void pieces(void **state)
{
    static const char text[] =
        "{ lambda ; x:f64[4,16,32]. let\n"
        "    a:f64[1,16,32] = slice[limit_indices=(1, 16, 32) start_indices=(0, 0, 0) strides=None] x\n"
        "    b:f64[1,16,32] = slice[limit_indices=(2, 16, 32) start_indices=(1, 0, 0) strides=None] x\n"
        "    c:f64[1,16,32] = exp a  d:f64[1,16,32] = mul c b\n"
        "    d1:f64[1,1,32] = slice[limit_indices=(1, 16, 32) start_indices=(0, 15, 0) strides=None] d\n"
        "    d2:f64[1,15,32] = slice[limit_indices=(1, 15, 32) start_indices=(0, 0, 0) strides=None] d\n"
        "    e:f64[1,16,32] = concatenate[dimension=1] d1 d2  f:f64[1,16,32] = add c b\n"
        "    f1:f64[1,16,1] = slice[limit_indices=(1, 16, 32) start_indices=(0, 0, 31) strides=None] f\n"
        "    f2:f64[1,16,31] = slice[limit_indices=(1, 16, 31) start_indices=(0, 0, 0) strides=None] f\n"
        "    g:f64[1,16,32] = concatenate[dimension=2] f1 f2  h:f64[1,16,32] = sub c b\n"
        "    h1:f64[1,1,32] = slice[limit_indices=(1, 16, 32) start_indices=(0, 15, 0) strides=None] h\n"
        "    h2:f64[1,15,32] = slice[limit_indices=(1, 15, 32) start_indices=(0, 0, 0) strides=None] h\n"
        "    i:f64[1,16,32] = concatenate[dimension=1] h1 h2\n"
        "    i1:f64[1,16,1] = slice[limit_indices=(1, 16, 32) start_indices=(0, 0, 31) strides=None] i\n"
        "    i2:f64[1,16,31] = slice[limit_indices=(1, 16, 31) start_indices=(0, 0, 0) strides=None] i\n"
        "    k:f64[1,16,32] = concatenate[dimension=2] i1 i2\n"
        "    l:f64[4,16,32] = concatenate[dimension=0] c e g k in (l,) }";
    facts f = facts_of(*state, text, NULL);
    assert_int_equal(f.nests, 2);
    assert_int_equal(f.loops, 12);
}

/* Sums of a few elements, a few of them, are scalars: pairwise distances of three points in a loop need neither loops nor memory. */
static void short_folds(void **state)
{
    static const char text[] =
        "{ lambda ; x:f64[3,2] k:f64[]. let\n"
        "    y:f64[3,2] = scan[\n"
        "      jaxpr={ lambda ; k:f64[] c:f64[3,2]. let\n"
        "          a:f64[3,3,2] = broadcast_in_dim[broadcast_dimensions=(1, 2) shape=(3, 3, 2) sharding=None] c\n"
        "          b:f64[3,3,2] = broadcast_in_dim[broadcast_dimensions=(0, 2) shape=(3, 3, 2) sharding=None] c\n"
        "          d:f64[3,3,2] = sub a b  e:f64[3,3,2] = mul d d  r:f64[3,3] = reduce_sum[axes=(2,) out_sharding=None] e\n"
        "          f:f64[3,3,2] = broadcast_in_dim[broadcast_dimensions=(0, 1) shape=(3, 3, 2) sharding=None] r\n"
        "          g:f64[3,3,2] = mul d f  h:f64[3,2] = reduce_sum[axes=(1,) out_sharding=None] g  l:f64[3,2] = mul h k\n"
        "          n:f64[3,2] = add c l in (n,) }\n"
        "      length=50 num_carry=1 num_consts=1 reverse=False unroll=1\n"
        "    ] k x\n"
        "  in (y,) }";
    facts f = facts_of(*state, text, NULL);
    assert_int_equal(f.nests, 0);
    assert_int_equal(f.loops, 0);
    assert_int_equal(f.scratch, 0);
    /* a long one is left to vectors */
    f = facts_of(*state, "{ lambda ; x:f64[3,40]. let a:f64[3,40] = sin x  b:f64[3] = reduce_sum[axes=(1,) out_sharding=None] a in (b,) }", NULL);
    assert_int_equal(f.nests, 1);
}

/* An index that is divided and joined again is the index: sums over all dimensions of reshaped views read straight on. */
static void joined_indices(void **state)
{
    static const char text[] = "{ lambda ; x:f64[3,8,16]. let\n"
                               "    a:f64[1,8,16] = slice[limit_indices=(2, 8, 16) start_indices=(1, 0, 0) strides=None] x\n"
                               "    b:f64[8,16] = reshape[dimensions=None new_sizes=(8, 16) sharding=None] a\n"
                               "    c:f64[] = reduce_sum[axes=(0, 1) out_sharding=None] b\n"
                               "    d:f64[2,4,16] = reshape[dimensions=None new_sizes=(2, 4, 16) sharding=None] b\n"
                               "    e:f64[] = reduce_sum[axes=(0, 1, 2) out_sharding=None] d in (c, e) }";
    kiln_ctx *ctx = *state;
    kiln_prog *p = made(ctx, text, NULL);
    char *loops;
    size_t n;
    assert_ok(ctx, kn_compile_stage(ctx, p, NULL, "loops", &loops, &n));
    assert_int_equal(times_in(loops, " rem "), 0);
    assert_int_equal(times_in(loops, " div "), 0);
    kiln_text_free(ctx, loops, n);
    same_bits(ctx, p);
    kiln_prog_release(p);
}

/* A loop that makes each element from the one before. */
#define LINE(BODY, START, LIMIT) \
    "{ lambda ; x:f64[300] s:i32[]. let\n" \
    "    _:i32[] y:f64[300] = while[cond_nconsts=0 body_nconsts=0\n" \
    "      cond_jaxpr={ lambda ; k:i32[] a:f64[300]. let p:bool[] = lt k " LIMIT ":i32[] in (p,) }\n" \
    "      body_jaxpr={ lambda ; k:i32[] a:f64[300]. let n:i32[] = add k 1:i32[]\n" BODY " in (n, b) }\n" \
    "    ] " START " x in (y,) }"

/* What one trip stores and the next one loads stays in a register: the array is loaded from once, before the loop. */
static void carried_elements(void **state)
{
    static const char take[] = "d:f64[1] = dynamic_slice[slice_sizes=(1,)] a ", half[] = "  h:f64[1] = mul d 0.5:f64[]  e:f64[1] = sin h\n";
    static const struct {
        const char *from, *more, *to, *start, *limit;
        bool carried;
    } table[] = {
        {"k", "", "n", "0:i32[]", "299", true},
        {"k", "", "n", "7:i32[]", "200", true},
        {"k", "", "k", "0:i32[]", "299", false},   /* another element */
        {"n", "", "k", "0:i32[]", "298", false},
        {"k", "", "n", "s", "299", false},         /* who knows where it starts */
        {"k", "  f:f64[1] = dynamic_slice[slice_sizes=(1,)] a 9:i32[]  e:f64[1] = add f h", "n", "0:i32[]", "299", false}, /* two loads */
        {"k", "", "n", "-3:i32[]", "299", true},   /* clamped alike */
    };
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char body[512], text[2048], *loops;
        size_t n;
        const char *hold = *table[i].more ? "  h:f64[1] = mul d 0.5:f64[]" : half;
        snprintf(body, sizeof body, "%s%s%s%s  b:f64[300] = dynamic_update_slice a e %s", take, table[i].from, hold, table[i].more, table[i].to);
        snprintf(text, sizeof text, LINE("%s", "%s", "%s"), table[i].limit, body, table[i].start);
        kiln_prog *p = made(ctx, text, NULL);
        assert_ok(ctx, kn_compile_stage(ctx, p, NULL, "loops", &loops, &n));
        const char *body_at = strstr(loops, "} do ");
        assert_non_null(body_at);
        if (table[i].carried != !strstr(body_at, "= out0[")) fail_msg("case %zu:\n%s", i, loops);
        read_again(ctx, loops, n);
        kiln_text_free(ctx, loops, n);
        same_bits(ctx, p);
        kiln_prog_release(p);
    }
}

/* The gradient of a rod's steps, its conductivity a number: two nests a step forward and backward together, and the sum. */
static void rod(void **state)
{
    static const char text[] =
        "{ lambda ; u:f64[128] k:f64[]. let\n"
        "    y:f64[128] = scan[\n"
        "      jaxpr={ lambda ; k:f64[] c:f64[128]. let\n"
        "          l:f64[126] = slice[limit_indices=(126,) start_indices=(0,) strides=None] c\n"
        "          m:f64[126] = slice[limit_indices=(127,) start_indices=(1,) strides=None] c\n"
        "          r:f64[126] = slice[limit_indices=(128,) start_indices=(2,) strides=None] c\n"
        "          s:f64[126] = add l r  t:f64[126] = mul m 2.0:f64[]  f:f64[126] = sub s t\n"
        "          p:f64[128] = pad[padding_config=((1, 1, 0),)] f 0.0:f64[]  q:f64[128] = mul k p  n:f64[128] = add c q in (n,) }\n"
        "      length=30 num_carry=1 num_consts=1 reverse=False unroll=1\n"
        "    ] k u\n"
        "    z:f64[128] = mul y y  w:f64[] = reduce_sum[axes=(0,) out_sharding=None] z in (w,) }";
    facts f = facts_of(*state, text, "grad:0,1");
    assert_int_equal(f.nests, 4);
    assert_int_equal(f.copies, 0);
}

/* Four arrays that the way back reads rolled, each summed in a product with a saved value: what is rolled is one nest, what is computed
 * of it one, the sums read straight on. Forward: the step, and its four pieces; the sum, its derivative; the way back: the two, four
 * sums, and the next cotangent. */
static void rolled(void **state)
{
    static const char text[] =
        "{ lambda ; x:f64[4,16,32] k:f64[]. let\n"
        "    y:f64[4,16,32] = scan[\n"
        "      jaxpr={ lambda ; k:f64[] c:f64[4,16,32]. let\n"
        "          a0:f64[1,16,32] = slice[limit_indices=(1, 16, 32) start_indices=(0, 0, 0) strides=None] c\n"
        "          a:f64[16,32] = reshape[dimensions=None new_sizes=(16, 32) sharding=None] a0\n"
        "          b0:f64[1,16,32] = slice[limit_indices=(2, 16, 32) start_indices=(1, 0, 0) strides=None] c\n"
        "          b:f64[16,32] = reshape[dimensions=None new_sizes=(16, 32) sharding=None] b0\n"
        "          c0:f64[1,16,32] = slice[limit_indices=(3, 16, 32) start_indices=(2, 0, 0) strides=None] c\n"
        "          d:f64[16,32] = reshape[dimensions=None new_sizes=(16, 32) sharding=None] c0\n"
        "          d0:f64[1,16,32] = slice[limit_indices=(4, 16, 32) start_indices=(3, 0, 0) strides=None] c\n"
        "          e:f64[16,32] = reshape[dimensions=None new_sizes=(16, 32) sharding=None] d0\n"
        "          r:f64[16,32] = add a b  s:f64[16,32] = add d e  t:f64[16,32] = add r s  u:f64[16,32] = div a t  v:f64[16,32] = mul u u\n"
        "          a1:f64[16,32] = sub v a  a2:f64[16,32] = mul k a1  a3:f64[16,32] = add a a2\n"
        "          b1:f64[16,32] = mul v b  b2:f64[16,32] = mul k b1  b3:f64[16,32] = add b b2\n"
        "          c1:f64[16,32] = sub v d  c2:f64[16,32] = mul k c1  c3:f64[16,32] = add d c2\n"
        "          d1:f64[16,32] = mul v e  d2:f64[16,32] = mul k d1  d3:f64[16,32] = add e d2\n"
        "          a4:f64[1,32] = slice[limit_indices=(16, 32) start_indices=(15, 0) strides=None] a3\n"
        "          a5:f64[15,32] = slice[limit_indices=(15, 32) start_indices=(0, 0) strides=None] a3\n"
        "          a6:f64[16,32] = concatenate[dimension=0] a4 a5\n"
        "          b4:f64[16,1] = slice[limit_indices=(16, 32) start_indices=(0, 31) strides=None] b3\n"
        "          b5:f64[16,31] = slice[limit_indices=(16, 31) start_indices=(0, 0) strides=None] b3\n"
        "          b6:f64[16,32] = concatenate[dimension=1] b4 b5\n"
        "          c4:f64[15,32] = slice[limit_indices=(16, 32) start_indices=(1, 0) strides=None] c3\n"
        "          c5:f64[1,32] = slice[limit_indices=(1, 32) start_indices=(0, 0) strides=None] c3\n"
        "          c6:f64[16,32] = concatenate[dimension=0] c4 c5\n"
        "          d4:f64[16,31] = slice[limit_indices=(16, 32) start_indices=(0, 1) strides=None] d3\n"
        "          d5:f64[16,1] = slice[limit_indices=(16, 1) start_indices=(0, 0) strides=None] d3\n"
        "          d6:f64[16,32] = concatenate[dimension=1] d4 d5\n"
        "          a7:f64[1,16,32] = reshape[dimensions=None new_sizes=(1, 16, 32) sharding=None] a6\n"
        "          b7:f64[1,16,32] = reshape[dimensions=None new_sizes=(1, 16, 32) sharding=None] b6\n"
        "          c7:f64[1,16,32] = reshape[dimensions=None new_sizes=(1, 16, 32) sharding=None] c6\n"
        "          d7:f64[1,16,32] = reshape[dimensions=None new_sizes=(1, 16, 32) sharding=None] d6\n"
        "          n:f64[4,16,32] = concatenate[dimension=0] a7 b7 c7 d7 in (n,) }\n"
        "      length=6 num_carry=1 num_consts=1 reverse=False unroll=1\n"
        "    ] k x\n"
        "    z:f64[4,16,32] = mul y y  w:f64[] = reduce_sum[axes=(0, 1, 2) out_sharding=None] z in (w,) }";
    facts f = facts_of(*state, text, "grad:0,1");
    if (f.nests > 10) fail_msg("%llu nests, %u loops", (unsigned long long)f.nests, f.loops);
    assert_int_equal(f.copies, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),   cmocka_unit_test(other_rows),     cmocka_unit_test(far_rows), cmocka_unit_test(streams),
        cmocka_unit_test(pieces), cmocka_unit_test(short_folds), cmocka_unit_test(joined_indices), cmocka_unit_test(rod),
        cmocka_unit_test(rolled),
        cmocka_unit_test(carried_elements),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
