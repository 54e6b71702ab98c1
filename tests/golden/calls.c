/* SPDX-License-Identifier: Apache-2.0 */
/* The custom calls that docs/jax.md names are those that the reader knows, and those that it refuses by name. */
#include "hlo/import.h"
#include "hlo/lapack.h"
#include "testing.h"

enum { MOST = 128 };

typedef struct list {
    char name[MOST][64];
    bool seen[MOST];
    uint32_t n;
} list;

static void put(list *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (strcmp(l->name[i], name) == 0) return;
    assert_true(l->n < MOST);
    snprintf(l->name[l->n++], sizeof l->name[0], "%s", name);
}

static void put_lapack(list *l, const char *routine)
{
    char name[64];
    snprintf(name, sizeof name, "lapack_*%s_ffi", routine);
    put(l, name);
}

/* Known and refused ones of the tables. */
static void tables(list *known, list *refused)
{
    uint32_t n;
    const kn_hcall_row *rows = kn_hcall_rows(&n);
    for (uint32_t i = 0; i < n; i++) put(rows[i].reason ? refused : known, rows[i].name);
    const kn_lapack_target *t = kn_lapack_targets(&n);
    for (uint32_t i = 0; i < n; i++) {
        put_lapack(known, t[i].name);
        put_lapack(known, t[i].complex_name);
    }
}

/* Every `name` between the two places of the page is one of the list; all of the list stand there. */
static void compare(const char *from, const char *to, list *l)
{
    int bad = 0;
    for (const char *p = from; (p = strchr(p, '`')) && p < to;) {
        const char *end = strchr(p + 1, '`');
        assert_non_null(end);
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(end - p - 1), p + 1);
        bool found = strlen(name) <= 1; /* a letter */
        for (uint32_t i = 0; i < l->n; i++)
            if (strcmp(l->name[i], name) == 0) l->seen[i] = found = true;
        if (!found) print_error("docs/jax.md names %s, which is not in the table\n", name), bad++;
        p = end + 1;
    }
    for (uint32_t i = 0; i < l->n; i++)
        if (!l->seen[i]) print_error("docs/jax.md does not name %s\n", l->name[i]), bad++;
    assert_int_equal(bad, 0);
}

static void page(void **state)
{
    static list known, refused;
    kn_bytes b;
    tables(&known, &refused);
    assert_ok(*state, kn_file_read(*state, KILN_SOURCE_DIR "/docs/jax.md", &b));
    const char *begin = strstr(b.s, "| target |"), *middle = begin ? strstr(begin, "refused by name:") : NULL, *end = middle ? strstr(middle, ". Threefry") : NULL;
    assert_non_null(end);
    compare(begin, middle, &known);
    compare(middle, end, &refused);
    kn_bytes_free(*state, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(page)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
