/* SPDX-License-Identifier: Apache-2.0 */
/* What is short: bodies of while loops that are taken several times for each look at the stop flag, and rests of loops in lanes that are
 * shorter vectors. The interpreter's bits, and the code that is expected. */
#include "beside.h"

#define COUNT(carry, from, to, body) \
    "{ lambda ; x:f32[64]. let n:" carry "[] y:f32[] = while[cond_nconsts=0 cond_jaxpr={ lambda ; k:" carry "[] a:f32[]. let p:bool[] = lt k " to ":" carry \
    "[] in (p,) } body_nconsts=1 body_jaxpr={ lambda ; x:f32[64] k:" carry "[] a:f32[]. let n:" carry "[] = add k 1:" carry "[] b:f32[1] = " \
    "dynamic_slice[slice_sizes=(1,)] x k c:f32[] = reshape[dimensions=None new_sizes=() sharding=None] b " body " in (n, d) }] x " from ":" carry \
    "[] 0.5:f32[] in (n, y) }"

static uint32_t count(const char *text, const char *what)
{
    uint32_t n = 0;
    for (const char *p = text; (p = strstr(p, what)); p++) n++;
    return n;
}

static void turns(void **state)
{
    static const struct {
        const char *text;
        uint32_t bodies; /* by their divisions */
    } programs[] = {
        {COUNT("i32", "0", "63", "d:f32[] = div a c"), 5},
        {COUNT("i32", "0", "64", "d:f32[] = div a c"), 5},
        {COUNT("i64", "0", "65", "d:f32[] = div a c"), 5},
        {COUNT("i32", "60", "62", "d:f32[] = div a c"), 5},
        {COUNT("i32", "-3", "6", "d:f32[] = div a c"), 5},
        {COUNT("i32", "-7", "-3", "d:f32[] = div a c"), 1}, /* a limit that no counter comes near */
        {COUNT("i8", "0", "63", "d:f32[] = div a c"), 1},
        {COUNT("i32", "0", "63", "e:f32[] = div a c; d:f32[] = sin e"), 1}, /* waits for a call */
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        check_beside(*state, programs[i].text, 997);
        char *made = stage_beside(*state, programs[i].text, "llvm");
        if (count(made, "fdiv") != programs[i].bodies) fail_msg("%u bodies, not %u:\n%s\n%s", count(made, "fdiv"), programs[i].bodies, programs[i].text, made);
        free(made);
    }
}

static void rests(void **state)
{
    static const struct {
        const char *text;
        bool masks;
    } programs[] = {
        {"{ lambda ; x:f32[100]. let y:f32[100] = mul x x in (y,) }", false},
        {"{ lambda ; x:f32[104]. let y:f32[104] = sin x in (y,) }", false},
        {"{ lambda ; x:f64[98]. let y:f64[98] = rev[dimensions=(0,)] x z:f64[98] = mul x y in (z,) }", false},
        {"{ lambda ; x:f32[97]. let y:f32[97] = mul x x in (y,) }", true},
        {"{ lambda ; x:f32[99]. let y:f32[99] = mul x x in (y,) }", true},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        check_beside(*state, programs[i].text, 997);
        char *made = stage_beside(*state, programs[i].text, "llvm");
        if ((count(made, "llvm.masked") > 0) != programs[i].masks) fail_msg("%s:\n%s", programs[i].text, made);
        free(made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(turns), cmocka_unit_test(rests)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
