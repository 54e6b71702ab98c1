/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of an array that are replaced by what is made of them: in place where each element of the update reads the one that it replaces,
 * stored first where it reads others. The interpreter's bits. */
#include "beside.h"

/* Ten trips; a is the array, k counts, u is the window. */
#define LOOP(body) \
    "{ lambda ; x:f32[40,20] y:f32[1,20]. let _:i32[] z:f32[40,20] = while[cond_nconsts=0 cond_jaxpr={ lambda ; k:i32[] a:f32[40,20]. let p:bool[] = lt k 10:i32[] in (p,) } " \
    "body_nconsts=1 body_jaxpr={ lambda ; y:f32[1,20] k:i32[] a:f32[40,20]. let n:i32[] = add k 1:i32[] s:i32[] = mul k 3:i32[] t:i32[] = add s 1:i32[] " body \
    " b:f32[40,20] = dynamic_update_slice a w s 0:i32[] in (n, b) }] y 0:i32[] x in (z,) }"
#define WINDOW(at, column) "dynamic_slice[slice_sizes=(1, 20)] a " at " " column

static void windows(void **state)
{
    static const struct {
        const char *text;
        bool stored;
    } programs[] = {
        {LOOP("u:f32[1,20] = " WINDOW("s", "0:i32[]") " w:f32[1,20] = add u y"), false},
        {LOOP("u:f32[1,20] = " WINDOW("s", "0:i32[]") " v:f32[1,20] = mul u y w:f32[1,20] = add v u"), false},
        {LOOP("u:f32[1,20] = " WINDOW("t", "0:i32[]") " w:f32[1,20] = add u y"), true},
        {LOOP("u:f32[1,20] = " WINDOW("s", "0:i32[]") " r:f32[1,20] = rev[dimensions=(1,)] u w:f32[1,20] = add r y"), true},
        {LOOP("u:f32[1,20] = " WINDOW("s", "0:i32[]") " v:f32[1,20] = " WINDOW("t", "0:i32[]") " w:f32[1,20] = add u v"), true},
        {LOOP("u:f32[1,20] = " WINDOW("s", "0:i32[]") " c:f32[1,5] = slice[limit_indices=(1, 5) start_indices=(0, 0) strides=None] u "
              "d:f32[1,15] = slice[limit_indices=(1, 20) start_indices=(0, 5) strides=None] u e:f32[1,20] = concatenate[dimension=1] d c w:f32[1,20] = add u e"), true},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        check_beside(*state, programs[i].text, 997);
        char *made = stage_beside(*state, programs[i].text, "loops");
        if ((strstr(made, "constants 0 scratch 0\n") == NULL) != programs[i].stored) fail_msg("%s\n%s", programs[i].text, made);
        free(made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
