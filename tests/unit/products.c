/* SPDX-License-Identifier: Apache-2.0 */
/* Products whose operands lie either way in memory: the interpreter's bits, at every width, split over threads and not; rows that are neighbours
 * while k is far apart are copied. */
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

static void batches(void **state)
{
    check_beside(*state, "{ lambda ; x:f32[3,290,40] w:f32[3,290,140]. let y:f32[3,40,140] = " DOT("(([1], [1]), ([0], [0]))") " x w in (y,) }", 997);
    check_beside(*state, "{ lambda ; x:f32[290,5,8] w:f32[290,140]. let y:f32[5,8,140] = " DOT("(([0], [0]), ([], []))") " x w in (y,) }", 997);
    check_beside(*state, "{ lambda ; x:f32[17,20,40] w:f32[17,20,140] b:f32[140]. let y:f32[40,140] = " DOT("(([0, 1], [0, 1]), ([], []))") " x w "
                         "c:f32[40,140] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(40, 140) sharding=None] b z:f32[40,140] = add y c in (z,) }", 997);
}

/* Is there scratch for tiles of the rows, so many elements? */
static bool copies_rows(kiln_ctx *ctx, int m, int k, int n, bool left, int elements)
{
    char text[512], slot[32];
    product_text(text, sizeof text, "f32", m, k, n, left, false);
    snprintf(slot, sizeof slot, ": f32[%d] ", elements);
    char *loops = stage_beside(ctx, text, "loops");
    bool found = strstr(loops, slot);
    free(loops);
    return found;
}

static void copied(void **state)
{
    assert_true(copies_rows(*state, 40, 300, 150, true, 40 * 258));
    assert_true(copies_rows(*state, 1040, 600, 150, true, 260 * 258)); /* four chunks, one block at a time */
    assert_false(copies_rows(*state, 40, 300, 150, false, 40 * 258));  /* k runs through neighbours */
    assert_false(copies_rows(*state, 40, 300, 90, true, 40 * 258));    /* read too seldom */
    assert_false(copies_rows(*state, 40, 200, 150, true, 40 * 202));   /* in the first cache anyway */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layouts), cmocka_unit_test(batches), cmocka_unit_test(copied)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
