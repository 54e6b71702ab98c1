/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays turned along dimensions: read once, at another index, and written where they belong. The interpreter's bits, the loops that are
 * expected, and those that may be split. */
#include "beside.h"

#define SLICE(out, from, to, of) out " = slice[limit_indices=" to " start_indices=" from " strides=None] " of " "
/* b is a of f32[40,24], turned: rows from k on first; columns from k on first. */
#define ROWS(b, k, rest, a) \
    SLICE(b "1:f32[" rest ",24]", "(" k ", 0)", "(40, 24)", a) SLICE(b "2:f32[" k ",24]", "(0, 0)", "(" k ", 24)", a) \
    b ":f32[40,24] = concatenate[dimension=0] " b "1 " b "2 "
#define COLUMNS(b, k, rest, a) \
    SLICE(b "1:f32[40," rest "]", "(0, " k ")", "(40, 24)", a) SLICE(b "2:f32[40," k "]", "(0, 0)", "(40, " k ")", a) \
    b ":f32[40,24] = concatenate[dimension=1] " b "1 " b "2 "
#define PROGRAM(body, results) "{ lambda ; x:f32[40,24] y:f32[40,24]. let " body " in (" results ",) }"

static void rolls(void **state)
{
    static const struct {
        const char *text, *loop; /* a loop that there is; NULL: any */
        bool scratch;
    } programs[] = {
        {PROGRAM(ROWS("b", "1", "39", "x"), "b"), "in 0 .. 40 {", false},
        {PROGRAM(ROWS("b", "39", "1", "x"), "b"), "in 0 .. 40 {", false},
        {PROGRAM("z:f32[40,24] = mul x y " ROWS("b", "7", "33", "z"), "b"), "in 0 .. 40 {", false},
        {PROGRAM("z:f32[40,24] = mul x y " COLUMNS("b", "23", "1", "z"), "b"), NULL, false},
        /* both dimensions, nothing in between is stored */
        {PROGRAM("z:f32[40,24] = mul x y u:f32[40,24] = add z x v:f32[40,24] = sub u y w:f32[40,24] = mul v v r:f32[40,24] = sub w z "
                 ROWS("b", "39", "1", "r") COLUMNS("c", "1", "23", "b"), "c"), "in 0 .. 40 {", false},
        {PROGRAM(ROWS("b", "39", "1", "x") ROWS("c", "3", "37", "b"), "c"), NULL, false},
        /* other borders in the same nest: a neighbour that is not turned, two distances, a margin */
        {PROGRAM(ROWS("b", "1", "39", "x") "c:f32[40,24] = add b y", "c"), "in 0 .. 40 {", false},
        {PROGRAM(ROWS("b", "1", "39", "x") ROWS("c", "39", "1", "x") "d:f32[40,24] = add b c", "d"), "in 1 .. 39 {", false},
        {PROGRAM(ROWS("b", "1", "39", "x") SLICE("c:f32[37,24]", "(3, 0)", "(40, 24)", "y") "d:f32[40,24] = pad[padding_config=((3, 0, 0), (0, 0, 0))] c 1.5:f32[] "
                 "e:f32[40,24] = add b d", "e"), NULL, false},
        {PROGRAM("p:f32[43,24] = pad[padding_config=((3, 0, 0), (0, 0, 0))] x 1.5:f32[] q:f32[40,24] = slice[limit_indices=(40, 24) start_indices=(0, 0) strides=None] p "
                 ROWS("b", "1", "39", "q"), "b"), NULL, false},
        /* the slices read by others too, and no roll: overlapping, of two arrays */
        {PROGRAM(ROWS("b", "1", "39", "x") "c:f32[39,24] = mul b1 b1", "b, c"), NULL, false},
        {PROGRAM(SLICE("b1:f32[39,24]", "(1, 0)", "(40, 24)", "x") SLICE("b2:f32[1,24]", "(1, 0)", "(2, 24)", "x") "b:f32[40,24] = concatenate[dimension=0] b1 b2", "b"), NULL, false},
        {PROGRAM(SLICE("b1:f32[39,24]", "(1, 0)", "(40, 24)", "x") SLICE("b2:f32[1,24]", "(0, 0)", "(1, 24)", "y") "b:f32[40,24] = concatenate[dimension=0] b1 b2", "b"), NULL, false},
        /* a loop that turns its state, and one whose state changes in place while what is turned is still to be read */
        {"{ lambda ; x:f32[40,24]. let _:i32[] y:f32[40,24] = while[cond_nconsts=0 cond_jaxpr={ lambda ; k:i32[] a:f32[40,24]. let p:bool[] = lt k 9:i32[] in (p,) } "
         "body_nconsts=0 body_jaxpr={ lambda ; k:i32[] a:f32[40,24]. let n:i32[] = add k 1:i32[] " ROWS("b", "39", "1", "a") COLUMNS("c", "1", "23", "b")
         "d:f32[40,24] = mul c 0.5:f32[] in (n, d) }] 0:i32[] x in (y,) }", "in 0 .. 40 {", true},
        {"{ lambda ; x:f32[40,24] u:f32[1,24]. let _:i32[] y:f32[40,24] z:f32[40,24] = while[cond_nconsts=0 cond_jaxpr={ lambda ; k:i32[] a:f32[40,24] s:f32[40,24]. let p:bool[] = lt k 9:i32[] in (p,) } "
         "body_nconsts=1 body_jaxpr={ lambda ; u:f32[1,24] k:i32[] a:f32[40,24] s:f32[40,24]. let n:i32[] = add k 1:i32[] " ROWS("b", "39", "1", "a")
         "c:f32[40,24] = dynamic_update_slice a u k 0:i32[] d:f32[40,24] = add s b in (n, c, d) }] u 0:i32[] x x in (y, z) }", NULL, true},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        check_beside(*state, programs[i].text, 997);
        char *made = stage_beside(*state, programs[i].text, "loops");
        if (programs[i].loop && !strstr(made, programs[i].loop)) fail_msg("no loop %s:\n%s", programs[i].loop, made);
        if (!programs[i].scratch && !strstr(made, "constants 0 scratch 0\n")) fail_msg("something is stored:\n%s\n%s", programs[i].text, made);
        free(made);
    }
}

/* Rows that are written elsewhere are as independent as others. */
static void threads(void **state)
{
    char *made = stage_beside(*state, "{ lambda ; x:f32[4000,1024]. let a:f32[3999,1024] = slice[limit_indices=(4000, 1024) start_indices=(1, 0) strides=None] x "
                                      "b:f32[1,1024] = slice[limit_indices=(1, 1024) start_indices=(0, 0) strides=None] x "
                                      "c:f32[4000,1024] = concatenate[dimension=0] a b d:f32[4000,1024] = exp c in (d,) }", "loops");
    if (!strstr(made, "in 0 .. 4000 split")) fail_msg("%s", made);
    free(made);
}

/* Parts of one array that are written in neighbouring loops, of what a loop turns and exchanges: one pass over the rows. */
static void one_pass(void **state)
{
    static const char text[] =
        "{ lambda ; x:f32[2,40,80]. let _:i32[] y:f32[2,40,80] = while[cond_nconsts=0 cond_jaxpr={ lambda ; k:i32[] a:f32[2,40,80]. let p:bool[] = lt k 9:i32[] in (p,) } "
        "body_nconsts=0 body_jaxpr={ lambda ; k:i32[] a:f32[2,40,80]. let n:i32[] = add k 1:i32[] o:f32[2,40,80] = rev[dimensions=(0,)] a d:f32[2,40,80] = sub a o "
        "e:f32[1,40,80] = slice[limit_indices=(1, 40, 80) start_indices=(0, 0, 0) strides=None] d f:f32[1,40,80] = slice[limit_indices=(2, 40, 80) start_indices=(1, 0, 0) strides=None] d "
        "e1:f32[1,39,80] = slice[limit_indices=(1, 40, 80) start_indices=(0, 1, 0) strides=None] e e2:f32[1,1,80] = slice[limit_indices=(1, 1, 80) start_indices=(0, 0, 0) strides=None] e "
        "f1:f32[1,1,80] = slice[limit_indices=(1, 40, 80) start_indices=(0, 39, 0) strides=None] f f2:f32[1,39,80] = slice[limit_indices=(1, 39, 80) start_indices=(0, 0, 0) strides=None] f "
        "g:f32[1,40,80] = concatenate[dimension=1] e1 e2 h:f32[1,40,80] = concatenate[dimension=1] f1 f2 i:f32[2,40,80] = concatenate[dimension=0] g h in (n, i) }] 0:i32[] x in (y,) }";
    check_beside(*state, text, 997);
    char *made = stage_beside(*state, text, "loops"), *first = strstr(made, "in 0 .. 40 {");
    if (!first || strstr(first + 1, "in 0 .. 40 {")) fail_msg("%s", made);
    free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rolls), cmocka_unit_test(threads), cmocka_unit_test(one_pass)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
