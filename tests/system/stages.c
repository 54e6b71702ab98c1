/* SPDX-License-Identifier: Apache-2.0 */
/* Every stage is the program: the text of loops parses back, prints the same and compiles to the very object that the compile made;
 * the object has no undefined symbol, and vectors are written by us. On the example graphs, every primitive and random programs. */
#include "kiln/graph.h"
#include "kiln/trace.h"
#include "random_mix.h"
#include "run/stages.h"
#include "samples.h"

#include <elf.h>

static char folder[200];

static kn_bytes read_dump(kiln_ctx *ctx, const char *ending)
{
    char path[300];
    kn_bytes b;
    DIR *d = opendir(folder);
    assert_non_null(d);
    path[0] = 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t k = strlen(e->d_name), m = strlen(ending);
        if (k > m && strcmp(e->d_name + k - m, ending) == 0) snprintf(path, sizeof path, "%s/%.60s", folder, e->d_name);
    }
    closedir(d);
    if (!path[0]) fail_msg("no file %s in %s", ending, folder);
    assert_ok(ctx, kn_file_read(ctx, path, &b));
    return b;
}

static void empty_folder(void)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[300];
        snprintf(path, sizeof path, "%s/%.60s", folder, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    if (d) closedir(d);
}

static void assert_closed(const char *name, const char *object, size_t n)
{
    const Elf64_Ehdr *h = (const void *)object;
    assert_true(n > sizeof *h && memcmp(object, ELFMAG, SELFMAG) == 0);
    const Elf64_Shdr *s = (const void *)(object + h->e_shoff);
    unsigned defined = 0;
    for (unsigned i = 0; i < h->e_shnum; i++) {
        if (s[i].sh_type != SHT_SYMTAB) continue;
        const Elf64_Sym *sym = (const void *)(object + s[i].sh_offset);
        const char *names = object + s[s[i].sh_link].sh_offset;
        for (size_t k = 1; k < s[i].sh_size / sizeof *sym; k++) {
            if (sym[k].st_shndx == SHN_UNDEF) fail_msg("%s: the object asks for '%s'", name, names + sym[k].st_name);
            defined += strcmp(names + sym[k].st_name, "kiln_entry") == 0;
        }
    }
    assert_int_equal(defined, 1);
}

/* The loops of `text` again, as text and as an object. */
static void from_text(kiln_ctx *ctx, const char *text, size_t n, const kiln_compile_opts *o, char **again, size_t *n_again, char **object,
                      size_t *n_object)
{
    kn_arena arena;
    kn_loops *l;
    kn_resolved r;
    kn_arena_init(&arena, &ctx->alloc);
    assert_ok(ctx, kn_loops_parse(ctx, &arena, text, n, "dump.loops", &l));
    assert_ok(ctx, kn_loops_print(ctx, l, again, n_again));
    assert_ok(ctx, kn_compile_resolve(ctx, o, &r));
    assert_ok(ctx, kn_loops_stage(ctx, l, &r, "object", object, n_object));
    kn_arena_fini(&arena);
}

static void check(kiln_ctx *ctx, const char *name, const kiln_prog *p, const kiln_compile_opts *o)
{
    kiln_exec *f;
    size_t na, nb, ns;
    char *again, *object, *shown;
    snprintf(ctx->dump_dir, sizeof ctx->dump_dir, "%s", folder);
    assert_ok(ctx, kiln_compile(ctx, p, o, &f));
    ctx->dump_dir[0] = 0;
    kiln_exec_release(f);
    kn_bytes text = read_dump(ctx, ".loops"), made = read_dump(ctx, ".o");
    from_text(ctx, text.s, text.n, o, &again, &na, &object, &nb);
    if (na != text.n || memcmp(again, text.s, na) != 0) fail_msg("%s: loops print otherwise after reading:\n%s\n%s", name, text.s, again);
    if (nb != made.n || memcmp(object, made.s, nb) != 0) fail_msg("%s: loops read from their text give another object:\n%s", name, text.s);
    assert_ok(ctx, kn_compile_stage(ctx, p, o, "loops", &shown, &ns));
    if (ns != text.n || memcmp(shown, text.s, ns) != 0) fail_msg("%s: what is shown is not what is compiled:\n%s\n%s", name, shown, text.s);
    assert_closed(name, made.s, made.n);
    kiln_text_free(ctx, again, na);
    kiln_text_free(ctx, object, nb);
    kiln_text_free(ctx, shown, ns);
    kn_bytes_free(ctx, &text);
    kn_bytes_free(ctx, &made);
    empty_folder();
}

static void graphs(void **state)
{
    static const char *const names[] = {"pair", "rods"};
    for (int i = 0; i < 4; i++) {
        char path[600];
        kiln_graph *g;
        kiln_prog *p;
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.ticks = i == 3;
        o.tier = i % 2 ? 2 : 0;
        snprintf(path, sizeof path, KILN_SOURCE_DIR "/examples/graphs/%s.yaml", names[i / 2]);
        assert_ok(*state, kiln_graph_load(*state, path, NULL, &g));
        assert_ok(*state, kiln_graph_program(*state, g, i % 2 == 0, &p));
        check(*state, path, p, &o);
        kiln_prog_release(p);
        kiln_graph_release(g);
    }
}

static void every_primitive(void **state)
{
    uint32_t n;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        sample s;
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.vector_bits = i % 2 ? 128 : 0;
        if (!sample_make(*state, prims[i], 40 + i, 33, &s)) continue;
        check(*state, prims[i]->name, s.p, &o);
        sample_free(&s);
    }
}

static void random_programs(void **state)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        kn_prog *p = NULL;
        kiln_array *in[RP_INPUTS];
        uint32_t nin;
        char name[40];
        snprintf(name, sizeof name, "the program of seed %d", (int)seed);
        assert_ok(*state, random_mix(*state, seed, 30, &p, in, &nin));
        check(*state, name, p, NULL);
        for (uint32_t i = 0; i < nin; i++) kiln_array_release(in[i]);
        kiln_prog_release(p);
    }
}

/* Vector types stand in the code that is handed over: nobody vectorises behind us. */
static void vectors(void **state)
{
    static const struct {
        const char *target, *type;
    } cases[] = {{"x86-64-v4", "<16 x float>"}, {"x86-64-v3", "<8 x float>"}};
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < 2; i++) {
        kiln_trace *t;
        kiln_prog *p;
        char *text;
        size_t n;
        kiln_compile_opts o = KILN_COMPILE_OPTS_INIT;
        o.target = cases[i].target;
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        kiln_val x = kiln_input(t, "x", KILN_VECTOR(KILN_F32, 1000));
        kiln_output(t, "y", kiln_add(t, kiln_mul(t, x, x), kiln_num(t, 0.5)));
        assert_ok(ctx, kiln_trace_finish(t, &p));
        assert_ok(ctx, kn_compile_stage(ctx, p, &o, "llvm", &text, &n));
        char mul[80];
        snprintf(mul, sizeof mul, "fmul %s", cases[i].type);
        if (!strstr(text, mul)) fail_msg("no '%s' in\n%s", mul, text);
        kiln_text_free(ctx, text, n);
        kiln_prog_release(p);
    }
}

static int set_up(void **state)
{
    if (test_setup(state)) return -1;
    snprintf(folder, sizeof folder, "%s", test_path("stages"));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(graphs), cmocka_unit_test(every_primitive), cmocka_unit_test(random_programs),
                                       cmocka_unit_test(vectors)};
    return cmocka_run_group_tests(tests, set_up, test_teardown);
}
