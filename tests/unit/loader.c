/* SPDX-License-Identifier: Apache-2.0 */
/* The loader: what code generation makes runs, whatever else it is given is refused, and pages are never writable and
 * executable at once. */
#include "run/loader.h"
#include "run/stages.h"
#include "testing.h"

#include <elf.h>

static const char text[] = "kiln loops inputs 1 outputs 1\nslot a: f32[100] input 0 slot x: f32[100] output 0\n"
                           "{ loop %1 in 0 .. 100 width 8 { %2 = a[%1] %3 = mul f32 %2, 3.0 %4 = max f32 %3, 1.25 x[%1] = %4 } }\n";

static char *object(kiln_ctx *ctx, size_t *n)
{
    kn_arena arena;
    kn_loops *l;
    kn_resolved r;
    char *s;
    kn_arena_init(&arena, NULL);
    assert_ok(ctx, kn_loops_parse(ctx, &arena, text, sizeof text - 1, "t", &l));
    assert_ok(ctx, kn_compile_resolve(ctx, NULL, &r));
    assert_ok(ctx, kn_loops_stage(ctx, l, &r, "object", &s, n));
    kn_arena_fini(&arena);
    return s;
}

/* The line of /proc/self/maps that holds an address. */
static void protection(const void *p, char out[5])
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512], flags[8];
    out[0] = 0;
    while (f && fgets(line, sizeof line, f)) {
        unsigned long a, b;
        if (sscanf(line, "%lx-%lx %7s", &a, &b, flags) == 3 && (unsigned long)p >= a && (unsigned long)p < b) memcpy(out, flags, 4), out[4] = 0;
    }
    if (f) fclose(f);
}

static void loads(void **state)
{
    kiln_ctx *ctx = *state;
    size_t n;
    char *s = object(ctx, &n), flags[5];
    kn_code code;
    void *entry;
    assert_ok(ctx, kn_code_load(ctx, s, n, "kiln_entry", &code, &entry));
    protection(entry, flags);
    assert_string_equal(flags, "r-xp");
    assert_true(code.data_bytes > 0); /* the 3.0 */
    protection(code.base + code.bytes - 1, flags);
    assert_string_equal(flags, "r--p");
    kiln_entry f;
    memcpy(&f, &entry, sizeof f);
    float a[100], x[100];
    for (int i = 0; i < 100; i++) a[i] = (float)i / 10;
    assert_int_equal(f((void *[]){a, x}, NULL, NULL, NULL), 0);
    for (int i = 0; i < 100; i++) assert_true(x[i] == (a[i] * 3.0f > 1.25f ? a[i] * 3.0f : 1.25f));
    kn_code_free(&code);
    kiln_text_free(ctx, s, n);
}

static void refuses(void **state)
{
    kiln_ctx *ctx = *state;
    size_t n;
    char *s = object(ctx, &n);
    kn_code code;
    void *entry;
    assert_int_equal(kn_code_load(ctx, s, n, "other", &code, &entry), KILN_CORRUPT);
    assert_says(ctx, "without its entry");
    for (size_t k = 0; k < n; k++) { /* cut off anywhere */
        char *exact = malloc(k ? k : 1);
        memcpy(exact, s, k);
        if (kn_code_load(ctx, exact, k, "kiln_entry", &code, &entry) == KILN_OK) kn_code_free(&code);
        free(exact);
    }
    assert_int_equal(kn_code_load(ctx, s, 40, "kiln_entry", &code, &entry), KILN_CORRUPT);
    kiln_text_free(ctx, s, n);
}

/* Bytes changed one by one and many at a time: a status or code, never a crash. */
static void survives_damage(void **state)
{
    kiln_ctx *ctx = *state;
    size_t n, refused = 0;
    char *s = object(ctx, &n), *copy = malloc(n);
    uint64_t seed = 1;
    kn_code code;
    void *entry;
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, s, n);
        for (int k = 0; k <= round % 3; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(seed >> 33) % n;
            if (round % 2) at = at % 64 + (round % 4 == 1 ? 0 : n - 64 > 64 * 8 ? n - 64 * 8 : 0); /* mostly headers */
            copy[at] = (char)(seed >> 20);
        }
        if (kn_code_load(ctx, copy, n, "kiln_entry", &code, &entry) == KILN_OK) kn_code_free(&code);
        else refused++;
    }
    assert_true(refused > 100);
    free(copy);
    kiln_text_free(ctx, s, n);
}

static void names_what_is_missing(void **state)
{
    kiln_ctx *ctx = *state;
    size_t n;
    char *s = object(ctx, &n);
    Elf64_Ehdr h;
    memcpy(&h, s, sizeof h);
    for (size_t i = 0; i < h.e_shnum; i++) {
        Elf64_Shdr x;
        memcpy(&x, s + h.e_shoff + i * sizeof x, sizeof x);
        if (x.sh_type != SHT_SYMTAB) continue;
        for (size_t k = 1; k < x.sh_size / sizeof(Elf64_Sym); k++) {
            Elf64_Sym y;
            memcpy(&y, s + x.sh_offset + k * sizeof y, sizeof y);
            if (ELF64_ST_TYPE(y.st_info) == STT_FUNC) y.st_shndx = SHN_UNDEF;
            memcpy(s + x.sh_offset + k * sizeof y, &y, sizeof y);
        }
    }
    kn_code code;
    void *entry;
    assert_int_equal(kn_code_load(ctx, s, n, "kiln_entry", &code, &entry), KILN_COMPILE);
    assert_says(ctx, "needs a routine 'kiln_entry'");
    kiln_text_free(ctx, s, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loads, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(refuses, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(survives_damage, test_setup, test_teardown),
        cmocka_unit_test_setup_teardown(names_what_is_missing, test_setup, test_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
