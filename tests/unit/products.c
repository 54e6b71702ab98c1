/* SPDX-License-Identifier: Apache-2.0 */
/* Products whose operands lie either way in memory: the interpreter's bits, at every width, split over threads and not; rows that are neighbours
 * while k is far apart are copied, and so are large operands; what a later block adds to is fetched in time. */
#include "beside.h"

#define DOT(dims) "dot_general[dimension_numbers=" dims " out_sharding=None precision=None preferred_element_type=None]"

static void product_text(char *text, size_t room, const char *type, int m, int k, int n, bool left, bool right)
{
    snprintf(text, room,
             "{ lambda ; x:%s[%d,%d] w:%s[%d,%d]. let y:%s[%d,%d] = dot_general[dimension_numbers=(([%d], [%d]), ([], [])) out_sharding=None precision=None "
             "preferred_element_type=None] x w in (y,) }",
             type, left ? k : m, left ? m : k, type, right ? n : k, right ? k : n, type, m, n, left ? 0 : 1, right ? 1 : 0);
}

/* Rows: whole tiles, some left over, several chunks; k: within a block, several, a last one that is short. */
static void layouts(void **state)
{
    static const int table[][3] = {{40, 300, 150}, {37, 260, 130}, {70, 130, 270}, {1040, 257, 130}};
    static const char *const types[] = {"f32", "f64", "i32", "bf16"};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (size_t d = 0; d < (i ? 1 : 4); d++)
            for (int way = i ? 1 : 0; way < 4; way += i ? 2 : 1) {
                char text[512];
                product_text(text, sizeof text, types[d], table[i][0], table[i][1], table[i][2], way & 1, way & 2);
                check_beside(*state, text, 997);
            }
}

/* Operands larger than the second cache, rows along k: copied row by row. Whole blocks and tiles, and not; a last panel that is narrower. */
static void large(void **state)
{
    static const int table[][3] = {{520, 512, 130}, {517, 515, 129}};
    static const char *const types[] = {"f32", "bf16"};
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        product_text(text, sizeof text, types[i], table[i][0], table[i][1], table[i][2], false, i == 0);
        check_beside(*state, text, 997);
    }
    check_beside(*state, "{ lambda ; x:f32[520,513] w:f32[513,130] b:f32[130]. let y:f32[520,130] = " DOT("(([1], [0]), ([], []))") " x w "
                         "c:f32[520,130] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(520, 130) sharding=None] b z:f32[520,130] = add y c in (z,) }", 997);
}

static void batches(void **state)
{
    check_beside(*state, "{ lambda ; x:f32[3,290,40] w:f32[3,290,140]. let y:f32[3,40,140] = " DOT("(([1], [1]), ([0], [0]))") " x w in (y,) }", 997);
    check_beside(*state, "{ lambda ; x:f32[290,5,8] w:f32[290,140]. let y:f32[5,8,140] = " DOT("(([0], [0]), ([], []))") " x w in (y,) }", 997);
    check_beside(*state, "{ lambda ; x:f32[17,20,40] w:f32[17,20,140] b:f32[140]. let y:f32[40,140] = " DOT("(([0, 1], [0, 1]), ([], []))") " x w "
                         "c:f32[40,140] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(40, 140) sharding=None] b z:f32[40,140] = add y c in (z,) }", 997);
}

static bool loops_have(kiln_ctx *ctx, int m, int k, int n, bool left, const char *what)
{
    char text[512];
    product_text(text, sizeof text, "f32", m, k, n, left, false);
    char *loops = loops_beside(ctx, text);
    bool found = strstr(loops, what);
    free(loops);
    return found;
}

/* Is there scratch for tiles of the rows, so many elements? */
static bool copies_rows(kiln_ctx *ctx, int m, int k, int n, bool left, int elements)
{
    char slot[32];
    snprintf(slot, sizeof slot, ": f32[%d] ", elements);
    return loops_have(ctx, m, k, n, left, slot);
}

static void copied(void **state)
{
    assert_true(copies_rows(*state, 40, 300, 150, true, 40 * 258));
    assert_true(copies_rows(*state, 1040, 600, 150, true, 260 * 258)); /* four chunks, one block at a time */
    assert_false(copies_rows(*state, 40, 300, 150, false, 40 * 258));  /* k runs through neighbours */
    assert_false(copies_rows(*state, 40, 300, 90, true, 40 * 258));    /* read too seldom */
    assert_false(copies_rows(*state, 40, 200, 150, true, 40 * 202));   /* in the first cache anyway */
    assert_true(copies_rows(*state, 520, 600, 150, false, 260 * 272));  /* rows along k, too many for the second cache */
    assert_false(copies_rows(*state, 440, 590, 150, false, 440 * 272));
}

/* Sums of earlier blocks that no near cache holds are fetched a tile before they are read. */
static void fetched(void **state)
{
    assert_true(loops_have(*state, 520, 300, 300, false, " ahead 3000")); /* 10 rows of 300 */
    assert_false(loops_have(*state, 520, 256, 300, false, " ahead "));    /* one block: they are only written */
    assert_false(loops_have(*state, 520, 300, 200, false, " ahead "));
}

/* Two chunks, one block after the other in each: threads share the panels. */
static void shared(void **state) { assert_true(loops_have(*state, 1024, 1024, 1024, false, " in 0 .. 32 split ")); }

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layouts), cmocka_unit_test(large),   cmocka_unit_test(batches),
                                       cmocka_unit_test(copied),  cmocka_unit_test(fetched), cmocka_unit_test(shared)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
