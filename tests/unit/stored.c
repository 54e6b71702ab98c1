/* SPDX-License-Identifier: Apache-2.0 */
/* What is stored for a reduction that runs through several dimensions: values that need the index, and no constant. */
#include "beside.h"

static void constants(void **state)
{
    static const char text[] =
        "{ lambda ; x:f64[40,50]. let i:i32[40,50] = iota[dimension=0 dtype=int32 shape=(40, 50) sharding=None] "
        "j:i32[40,50] = iota[dimension=1 dtype=int32 shape=(40, 50) sharding=None] m:bool[40,50] = eq i j "
        "k:f64[40,50] = broadcast_in_dim[broadcast_dimensions=() shape=(40, 50) sharding=None] 3.0:f64[] a:f64[40,50] = select_n m x k "
        "b:f64[40,50] = select_n m k x c:f64[40,50] = mul a b s:f64[] = reduce_sum[axes=(0, 1) out_sharding=None] c in (s,) }";
    kiln_prog *p;
    char *loops;
    size_t n;
    check_beside(*state, text, 997);
    assert_ok(*state, kiln_prog_parse(*state, text, strlen(text), "stored", &p));
    assert_ok(*state, kn_compile_stage(*state, p, NULL, "loops", &loops, &n));
    assert_non_null(strstr(loops, "\nslot s2: bool[2000] scratch"));
    assert_null(strstr(loops, "\nslot s3"));
    kiln_text_free(*state, loops, n);
    kiln_prog_release(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(constants)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
