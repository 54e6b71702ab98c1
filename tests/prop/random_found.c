/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that random testing found to fail once, as small as they became: interpreted equals compiled at every width, with
 * few and many elements in registers, fused and unfused, on both tiers. */
#include "donated.h"
#include "prim/sample.h"
#include "same.h"

static const char *const programs[] = {
    /* complex numbers as complex numbers of another width */
    "{ lambda ; a:c64[3,1,2]. let b:c128[3,1] = bitcast_convert_type[new_dtype=complex128] a in (b,) }\n",
    "{ lambda ; a:c128[3,1]. let b:c64[3,1,2] = bitcast_convert_type[new_dtype=complex64] a in (b,) }\n",
    /* one complex number of two: no dimensions to copy */
    "{ lambda ; a:f32[2] b:u16[4]. let c:c64[] = bitcast_convert_type[new_dtype=complex64] a d:c64[] = bitcast_convert_type[new_dtype=complex64] b in (c, d) }\n",
    /* more elements in registers than lanes: a lane goes on with one rounding */
    "{ lambda ; a:f64[64] b:f64[64] c:f64[17]. let\n"
    "    d:f64[] = dot_general[dimension_numbers=(([0], [0]), ([], []))] b a\n"
    "    e:f64[20] = pad[padding_config=((2, 1, 0),)] c d\n"
    "  in (e,) }\n",
    /* the buffer of a carry that is dead was handed on by an update in place, to a value that still is not */
    "let jaxpr = { lambda ; a:f32[20] b:f32[20] c:i32[] d:f32[20] e:f32[20]. let\n"
    "    f:f32[5] = broadcast_in_dim 0.0:f32[]\n"
    "    g:f32[20] = dynamic_update_slice e f c\n"
    "    h:f32[18] = broadcast_in_dim 0.0:f32[]\n"
    "    i:f32[18] = broadcast_in_dim 0.0:f32[]\n"
    "    j:f32[18] = slice[limit_indices=(20,) start_indices=(2,) strides=None] d\n"
    "    k:f32[18] = add i j\n"
    "    l:f32[18] = add h k\n"
    "    m:f32[1] = broadcast_in_dim 0.0:f32[]\n"
    "    n:f32[1] = broadcast_in_dim 0.0:f32[]\n"
    "    o:f32[20] = concatenate[dimension=0] m l n\n"
    "    p:i32[] = add c 1:i32[]\n"
    "  in (p, g, o) } in\n"
    "{ lambda ; q:f32[20] r:f32[20] s:f32[20] t:i32[]. let\n"
    "    _:i32[] _:f32[20] u:f32[20] = while[\n"
    "      body_jaxpr=jaxpr\n"
    "      body_nconsts=2\n"
    "      cond_jaxpr={ lambda ; v:i32[] w:f32[20] x:f32[20]. let y:bool[] = lt v 3:i32[] in (y,) }\n"
    "      cond_nconsts=0\n"
    "    ] r s 0:i32[] s q\n"
    "    z:f32[18] = slice[limit_indices=(18,) start_indices=(0,) strides=None] u\n"
    "    ba:f32[20] = dynamic_update_slice s z t\n"
    "  in (ba,) }\n",
    /* a counter that wraps around below its bound was taken to stay above where it starts */
    "{ lambda ; a:f32[64] b:f32[1]. let\n"
    "    c:i32[] d:f32[1] = while[\n"
    "      body_jaxpr={ lambda ; e:f32[64] f:i32[] g:f32[1]. let\n"
    "          h:f32[1] = dynamic_slice[slice_sizes=(1,)] e f\n"
    "          i:f32[1] = add g h\n"
    "          j:bool[] = lt f 0:i32[]\n"
    "          k:f32[] = convert_element_type[new_dtype=float32 weak_type=False] j\n"
    "          l:f32[1] = broadcast_in_dim[broadcast_dimensions=() shape=(1,) sharding=None] k\n"
    "          m:f32[1] = add i l\n"
    "          n:i32[] = add f 2147483647:i32[]\n"
    "        in (n, m) }\n"
    "      body_nconsts=1\n"
    "      cond_jaxpr={ lambda ; o:i32[] p:f32[1]. let q:bool[] = lt o 5:i32[] in (q,) }\n"
    "      cond_nconsts=0\n"
    "    ] a 1:i32[] b\n"
    "  in (c, d) }\n",
    /* outputs that a loop left in each other's memory were brought home one after the other */
    "{ lambda ; a:i32[] b:f32[1,17] c:f32[3,17]. let\n"
    "    d:i32[] e:f32[3,17] f:f32[3,17] = while[\n"
    "      body_jaxpr={ lambda ; g:f32[3,17] h:i32[] i:f32[3,17] j:f32[3,17]. let k:i32[] = add h 1:i32[] in (k, j, g) }\n"
    "      body_nconsts=1\n"
    "      cond_jaxpr={ lambda ; l:i32[] m:f32[3,17] n:f32[3,17]. let o:bool[] = lt l 4:i32[] in (o,) }\n"
    "      cond_nconsts=0\n"
    "    ] c 0:i32[] c c\n"
    "    p:f32[3,17] = dynamic_update_slice f b d 0:i32[]\n"
    "  in (p, e) }\n",
    /* a loop carried on in the memory of a donated input, which is that of an output, and was still needed */
    "{ lambda ; a:f32[64] b:f32[64] c:f32[20] d:i32[]. let\n"
    "    e:i32[] f:f32[64] = while[\n"
    "      body_jaxpr={ lambda ; g:f32[64] h:i32[] i:f32[64]. let j:f32[64] = mul g 0.625:f32[] k:i32[] = add h 1:i32[] in (k, j) }\n"
    "      body_nconsts=1\n"
    "      cond_jaxpr={ lambda ; l:i32[] m:f32[64]. let n:bool[] = lt l 2:i32[] in (n,) }\n"
    "      cond_nconsts=0\n"
    "    ] b 0:i32[] a\n"
    "    o:f32[19] = slice[limit_indices=(60,) start_indices=(41,) strides=None] f\n"
    "    p:f32[64] = dynamic_update_slice b o e\n"
    "  in (p,) }\n",
};

static kiln_array *numbers(kiln_ctx *ctx, kiln_type t, uint32_t salt)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    char kind = kiln_dtype_kind(t.dtype);
    for (int64_t k = 0; k < kiln_type_size(t); k++) {
        uint64_t n = ((uint64_t)k * 16 + salt + 1) * 0x9e3779b97f4a7c15u;
        n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9u;
        kn_scalar v = kind == 'f' ? (kn_scalar){.f = (double)(int64_t)n * 0x1p-63} : kind == 'b' ? (kn_scalar){.b = n >> 63} : (kn_scalar){.i = (int64_t)(n >> 61)};
        if (salt >= 1000 && k % 32) v = (kn_scalar){.u = 0}; /* few, so that each rounding shows */
        kn_scalar_store(t.dtype, a->data, k, v);
    }
    return a;
}

enum { SETS = 16, MOST = 32 };
typedef struct found_case {
    kiln_prog *p;
    kiln_array *in[SETS][MOST], *want[SETS][MOST];
    uint32_t nin, nout;
} found_case;

static void check(kiln_ctx *ctx, const found_case *c, kiln_compile_opts *o, uint32_t mask)
{
    kiln_exec *f;
    int64_t at;
    bool donated[MOST], kept;
    for (uint32_t i = 0; i < MOST; i++) donated[i] = may_give(mask, i);
    o->donated = donated;
    assert_ok(ctx, kiln_compile(ctx, c->p, o, &f));
    for (uint32_t s = 0; s < SETS; s++) {
        kiln_array *got[MOST] = {0};
        assert_ok(ctx, call_donated(ctx, c->p, f, mask, c->in[s], got, &kept));
        assert_true(kept);
        for (uint32_t i = 0; i < c->nout; i++) {
            if (!same_array(c->want[s][i], got[i], &at))
                fail_msg("output %u differs at element %lld (%u-bit vectors, registers %d, tier %d, no_fusion %d, donated %02x)", i,
                         (long long)at, o->vector_bits, o->register_elements, o->tier, o->no_fusion, mask);
            kiln_array_release(got[i]);
        }
    }
    kiln_exec_release(f);
}

static void check_program(kiln_ctx *ctx, const char *text)
{
    static const unsigned bits[] = {64, 128, 256, 512};
    static const int registers[] = {0, 16, 64};
    static found_case c;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "found.jaxpr", &c.p));
    c.nin = kiln_prog_n_inputs(c.p), c.nout = kiln_prog_n_outputs(c.p);
    for (uint32_t s = 0; s < SETS; s++) {
        for (uint32_t k = 0; k < c.nin; k++) c.in[s][k] = numbers(ctx, kiln_prog_input_type(c.p, k), (s % 2 ? 1000 : 0) + s * 50 + k);
        assert_ok(ctx, kiln_prog_eval(ctx, c.p, c.in[s], c.want[s]));
    }
    for (uint32_t n = 0; n < 4 * 3 * 4; n++) {
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.vector_bits = bits[n % 4];
        o.register_elements = registers[n / 4 % 3];
        o.tier = n / 12 % 2 ? 2 : 0;
        o.no_fusion = n / 24;
        static const uint32_t masks[] = {0, 0xff, 0x55, 0x1};
        check(ctx, &c, &o, masks[n / 4 % 4]);
    }
    for (uint32_t s = 0; s < SETS; s++) {
        for (uint32_t k = 0; k < c.nin; k++) kiln_array_release(c.in[s][k]);
        for (uint32_t k = 0; k < c.nout; k++) kiln_array_release(c.want[s][k]);
    }
    kiln_prog_release(c.p);
}

static void found(void **state)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) check_program(*state, programs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(found)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
