/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients by one divisor and square roots of straight code: the interpreter's bits, and which of them are vectors. */
#include "beside.h"

static const struct {
    const char *text;
    uint32_t vectors, scalars;
} programs[] = {
    /* the second numerator is made after the first quotient is used */
    {"{ lambda ; a:f64[] b:f64[] s:f64[]. let c:f64[] = div a s; d:f64[] = add c b; e:f64[] = mul b b; f:f64[] = div e s in (d, f) }", 1, 0},
    {"{ lambda ; a:f64[] b:f64[] s:f64[]. let c:f64[] = div a s; d:f64[] = div b s; e:f64[] = div s b in (c, d, e) }", 1, 1},
    /* what needs the first one does not stand beside it */
    {"{ lambda ; a:f64[] s:f64[]. let c:f64[] = div a s; d:f64[] = div c s in (c, d) }", 0, 2},
    {"{ lambda ; a:f64[] s:f64[]. let c:f64[] = div a s; d:f64[] = mul c c; e:f64[] = div d s in (c, e) }", 0, 2},
    /* the third stands beside the first, the second beside nothing */
    {"{ lambda ; a:f64[] b:f64[] s:f64[]. let c:f64[] = div a s; d:f64[] = div c s; e:f64[] = div b s in (c, d, e) }", 1, 1},
    /* a loop in between gives the numerator */
    {"{ lambda ; a:f64[] b:f64[40] s:f64[]. let c:f64[] = div a s; d:f64[] = reduce_sum[axes=(0,) out_sharding=None] b; e:f64[] = div d s in (c, e) }", 0, 2},
    {"{ lambda ; a:f64[] s:f64[]. let c:f64[] = div a s; k:i32[] d:f64[] = while[cond_nconsts=0 cond_jaxpr={ lambda ; k:i32[] x:f64[]. let p:bool[] = lt k 5:i32[] in (p,) } body_nconsts=0 body_jaxpr={ lambda ; k:i32[] x:f64[]. let n:i32[] = add k 1:i32[]; y:f64[] = mul x x in (n, y) }] 0:i32[] c; e:f64[] = div d s in (c, e) }", 0, 2},
    /* two and two; four floats, and three of them */
    {"{ lambda ; a:f64[4] s:f64[]. let b:f64[4] = div a s in (b,) }", 2, 0},
    {"{ lambda ; a:f32[7] s:f32[]. let b:f32[7] = div a s in (b,) }", 2, 0},
    {"{ lambda ; a:f64[2] b:f64[]. let c:f64[2] = sqrt a; d:f64[] = mul b b; e:f64[] = sqrt d; f:f64[] = add d 1.0:f64[]; g:f64[] = sqrt f in (c, e, g) }", 2, 0},
    {"{ lambda ; a:f32[3]. let b:f32[3] = sqrt a in (b,) }", 1, 0},
};

static uint32_t count(const char *text, const char *what)
{
    uint32_t n = 0;
    for (const char *p = text; (p = strstr(p, what)); p++) n++;
    return n;
}

static void side_by_side(void **state)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        kiln_prog *p;
        char *made;
        size_t n;
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.tier = 2;
        for (uint32_t infinite = 2; infinite < 100; infinite *= 3) check_beside(*state, programs[i].text, infinite);
        assert_ok(*state, kiln_prog_parse(*state, programs[i].text, strlen(programs[i].text), "abreast", &p));
        assert_ok(*state, kn_compile_stage(*state, p, &o, "llvm", &made, &n));
        uint32_t vectors = count(made, "fdiv <") + count(made, "> @llvm.sqrt.v"), scalars = count(made, "fdiv double") + count(made, "fdiv float");
        vectors -= count(made, "declare <2 x double> @llvm.sqrt") + count(made, "declare <4 x float> @llvm.sqrt");
        if (vectors != programs[i].vectors || scalars != programs[i].scalars)
            fail_msg("%u vectors and %u scalars in\n%s\n%s", vectors, scalars, programs[i].text, made);
        kiln_text_free(*state, made, n);
        kiln_prog_release(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(side_by_side)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
