/* SPDX-License-Identifier: Apache-2.0 */
#include "array/size.h"
#include "cli/values.h"

#include "array/text.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

void cli_values_free(kiln_array **values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(values[i]);
}

/* ---- reading ---- */

static bool ends_with(const char *s, const char *tail)
{
    size_t n = strlen(s), k = strlen(tail);
    return n >= k && strcmp(s + n - k, tail) == 0;
}

/* A shape and a colon, which no existing file is called. Whether the element type is known is for the reader to say. */
static bool is_text(const char *s)
{
    size_t n = strcspn(s, "[/");
    return s[n] == '[' && (strstr(s + n, "]:") || kiln_dtype_from_name(s, n, &(kiln_dtype){0})) && access(s, F_OK) != 0;
}

/* What a type that NumPy has not travels as in its files. */
static kiln_dtype carrier(kiln_dtype d)
{
    switch (d) {
    case KILN_BF16: return KILN_U16;
    case KILN_I2:
    case KILN_I4: return KILN_I8;
    case KILN_U2:
    case KILN_U4: return KILN_U8;
    default: return kiln_dtype_kind(d) == '8' ? KILN_U8 : d;
    }
}

/* Are all bytes values of that type, negative ones with their sign or without the upper bits? Of 8 and 16 bits there are no others. */
static bool all_fit(kiln_dtype d, const kiln_array *a)
{
    const unsigned char *v = kiln_array_read(a);
    int bits = d == KILN_I2 || d == KILN_U2 ? 2 : d == KILN_I4 || d == KILN_U4 || d == KILN_F4E2M1FN ? 4 : d == KILN_F6E2M3FN || d == KILN_F6E3M2FN ? 6 : 8;
    int low = d == KILN_I2 || d == KILN_I4 ? -(1 << (bits - 1)) : 0;
    for (size_t i = 0; bits < 8 && i < kiln_array_bytes(a); i++) {
        int x = low ? (signed char)v[i] : v[i];
        if (x < low || x >= 1 << bits) return false;
    }
    return true;
}

/* Takes such elements for what the program wants. */
static kiln_status adapt(kiln_ctx *ctx, kiln_type want, kiln_array **a)
{
    kiln_type t = kiln_array_type(*a);
    if (want.dtype == t.dtype || t.dtype != carrier(want.dtype) || !all_fit(want.dtype, *a)) return KILN_OK;
    kiln_array *b;
    t.dtype = want.dtype;
    KILN_TRY(kiln_array_create(ctx, t, &b));
    memcpy(kiln_array_data(b), kiln_array_read(*a), kiln_array_bytes(b));
    if (want.dtype == KILN_I2 || want.dtype == KILN_I4) /* in memory without the sign in the upper bits */
        for (int64_t k = 0; k < kiln_type_size(t); k++) kn_scalar_store(t.dtype, kiln_array_data(b), k, kn_scalar_load(t.dtype, kiln_array_read(*a), k));
    kiln_array_release(*a);
    *a = b;
    return KILN_OK;
}

static int check_type(cli *c, const kiln_prog *p, uint32_t i, const char *from, kiln_array **a)
{
    kiln_type want = kiln_prog_input_type(p, i);
    if (adapt(c->ctx, want, a) != KILN_OK) return cli_fail(c);
    int64_t n = -1; /* that all inputs have the same is said where they are used */
    if (kn_type_fits(kiln_array_type(*a), want, &n)) return CLI_DONE;
    return cli_bad(c, "type", "input %u (%s) of the program is %s, %s holds %s", i, kiln_prog_input_name(p, i), kn_type_show(want).s, from,
                   kn_type_show(kiln_array_type(*a)).s);
}

/* Tokens hold nothing, and are not asked for. */
static bool is_token(const kiln_prog *p, uint32_t i) { return kiln_prog_input_type(p, i).dtype == KILN_TOKEN; }

static int make_token(cli *c, kiln_array **out) { return kiln_array_create(c->ctx, KILN_SCALAR(KILN_TOKEN), out) == KILN_OK ? CLI_DONE : cli_fail(c); }

static int read_archive(cli *c, const kiln_prog *p, const char *path, kiln_array **out)
{
    kiln_npz *z;
    if (kiln_npz_open(c->ctx, path, &z) != KILN_OK) return cli_fail(c);
    int code = CLI_DONE;
    for (uint32_t i = 0; code == CLI_DONE && i < kiln_prog_n_inputs(p); i++) {
        const char *name = kiln_prog_input_name(p, i);
        int64_t k = kiln_npz_find(z, name);
        if (is_token(p, i)) code = make_token(c, &out[i]);
        else if (k < 0) code = cli_bad(c, "missing-input", "%s has no array '%s' for input %u of the program", path, name, i);
        else if (kiln_npz_read(c->ctx, z, (uint32_t)k, &out[i]) != KILN_OK) code = cli_fail(c);
        else code = check_type(c, p, i, path, &out[i]);
    }
    kiln_npz_close(z);
    return code;
}

static kiln_status load(cli *c, const char *from, kiln_array **out)
{
    return is_text(from) ? kiln_array_parse(c->ctx, from, out) : kiln_array_load(c->ctx, from, out);
}

static int read_each(cli *c, const kiln_prog *p, char **from, int n, kiln_array **out)
{
    uint32_t all = kiln_prog_n_inputs(p), want = 0;
    int code = CLI_DONE;
    for (uint32_t i = 0; i < all; i++) want += !is_token(p, i);
    if ((uint32_t)n != want) return cli_bad(c, "missing-input", "the program takes %u inputs, %d are given (kiln show --signature lists them)", want, n);
    for (uint32_t i = 0; code == CLI_DONE && i < all; i++) {
        if (is_token(p, i)) code = make_token(c, &out[i]);
        else if (load(c, *from, &out[i]) != KILN_OK) code = cli_fail(c);
        else code = check_type(c, p, i, is_text(*from) ? "the text" : *from, &out[i]), from++;
    }
    return code;
}

int cli_values_read(cli *c, const kiln_prog *p, char **from, int n, kiln_array **out)
{
    uint32_t want = kiln_prog_n_inputs(p);
    for (uint32_t i = 0; i < want; i++) out[i] = NULL;
    int code = n == 1 && ends_with(from[0], ".npz") ? read_archive(c, p, from[0], out) : read_each(c, p, from, n, out);
    if (code == CLI_DONE) return code;
    for (uint32_t i = 0; i < want; i++) {
        kiln_array_release(out[i]);
        out[i] = NULL;
    }
    return code;
}

int cli_values_load(cli *c, char **from, int n, kiln_array ***out, uint32_t *n_out)
{
    bool archive = n == 1 && ends_with(from[0], ".npz");
    kiln_npz *z = NULL;
    *n_out = 0;
    if (archive && kiln_npz_open(c->ctx, from[0], &z) != KILN_OK) return cli_fail(c);
    uint32_t count = archive ? kiln_npz_count(z) : (uint32_t)n;
    int code = (*out = calloc((size_t)count + 1, sizeof **out)) ? CLI_DONE : cli_broken(c, "out of memory");
    for (uint32_t i = 0; code == CLI_DONE && i < count; i++, ++*n_out) {
        kiln_array **a = &(*out)[i];
        kiln_status status = archive ? kiln_npz_read(c->ctx, z, i, a) : load(c, from[i], a);
        if (status != KILN_OK) code = cli_fail(c);
    }
    if (archive) kiln_npz_close(z);
    return code;
}

/* ---- writing ---- */

static void name_of(uint32_t i, char out[16]) { snprintf(out, 16, "out%u", i); }

static int print_short(const kiln_prog *p, kiln_array *const *values)
{
    enum { MOST = 12 };
    for (uint32_t i = 0; i < kiln_prog_n_outputs(p); i++) {
        char text[2048];
        kiln_array_format(values[i], MOST, text, sizeof text);
        printf("out%u %s\n", i, text);
    }
    return CLI_DONE;
}

static int write_folder(cli *c, const char *path, uint32_t n, kiln_array *const *values)
{
    if (kn_folder_make(c->ctx, path) != KILN_OK) return cli_fail(c);
    for (uint32_t i = 0; i < n; i++) {
        char name[16], file[4096];
        name_of(i, name);
        snprintf(file, sizeof file, "%s%s.npy", path, name);
        if (kiln_array_save(c->ctx, file, values[i]) != KILN_OK) return cli_fail(c);
    }
    return CLI_DONE;
}

static int write_archive(cli *c, const char *path, uint32_t n, kiln_array *const *values)
{
    char (*text)[16] = calloc(n ? n : 1, sizeof *text);
    const char **names = calloc(n ? n : 1, sizeof *names);
    int code = CLI_DONE;
    if (!text || !names) code = cli_broken(c, "out of memory");
    for (uint32_t i = 0; code == CLI_DONE && i < n; i++) {
        name_of(i, text[i]);
        names[i] = text[i];
    }
    if (code == CLI_DONE && kiln_npz_save(c->ctx, path, n, names, values) != KILN_OK) code = cli_fail(c);
    free(text);
    free(names);
    return code;
}

int cli_values_write(cli *c, const kiln_prog *p, const char *path, kiln_array *const *values)
{
    uint32_t n = kiln_prog_n_outputs(p);
    if (!path) return print_short(p, values);
    if (ends_with(path, "/")) return write_folder(c, path, n, values);
    if (ends_with(path, ".npz")) return write_archive(c, path, n, values);
    if (!ends_with(path, ".npy")) return cli_bad(c, "usage", "-o takes NAME.npz, NAME.npy or a folder FOLDER/, found '%s'", path);
    if (n != 1) return cli_bad(c, "usage", "%s holds one array, the program has %u results: -o NAME.npz or FOLDER/", path, n);
    return kiln_array_save(c->ctx, path, values[0]) == KILN_OK ? CLI_DONE : cli_fail(c);
}

/* ---- comparing ---- */

static bool close_to(double got, double want, double rtol, double atol)
{
    if (isnan(want)) return isnan(got);
    if (isinf(want) || isinf(got)) return got == want;
    return fabs(got - want) <= atol + rtol * fabs(want);
}

static bool element_fits(kiln_dtype d, kn_scalar g, kn_scalar w, double rtol, double atol)
{
    switch (kiln_dtype_kind(d)) {
    case 'f': return close_to(g.f, w.f, rtol, atol);
    case 'c':
        if (isnan(w.c[0]) || isnan(w.c[1])) return isnan(g.c[0]) == isnan(w.c[0]) && isnan(g.c[1]) == isnan(w.c[1]);
        if (isinf(w.c[0]) || isinf(w.c[1])) return g.c[0] == w.c[0] && g.c[1] == w.c[1];
        return hypot(g.c[0] - w.c[0], g.c[1] - w.c[1]) <= atol + rtol * hypot(w.c[0], w.c[1]);
    default: return kn_scalar_same(d, g, w);
    }
}

/* Says what differs, once per array; true when nothing does. */
static bool compare(const char *name, const kiln_array *got, const kiln_array *want, double rtol, double atol)
{
    kiln_type t = kiln_array_type(got);
    kiln_dtype d = t.dtype;
    if (!kiln_type_equal(t, kiln_array_type(want))) {
        printf("%s: type %s, expected %s\n", name, kn_type_show(t).s, kn_type_show(kiln_array_type(want)).s);
        return false;
    }
    int64_t n = kiln_type_size(t), differ = 0, first = 0;
    for (int64_t k = 0; k < n; k++) {
        if (element_fits(d, kn_scalar_load(d, kiln_array_read(got), k), kn_scalar_load(d, kiln_array_read(want), k), rtol, atol)) continue;
        if (differ++ == 0) first = k;
    }
    if (!differ) return true;
    kn_text text;
    kn_text_init(&text, NULL);
    kn_scalar_print(d, kn_scalar_load(d, kiln_array_read(got), first), &text);
    kn_text_add(&text, ", expected ");
    kn_scalar_print(d, kn_scalar_load(d, kiln_array_read(want), first), &text);
    printf("%s: %lld of %lld elements differ, first at %lld: %s\n", name, (long long)differ, (long long)n, (long long)first, text.s ? text.s : "");
    kn_text_fini(&text);
    return false;
}

int cli_values_expect(cli *c, const kiln_prog *p, const char *path, kiln_array *const *values, double rtol, double atol)
{
    kiln_npz *z;
    if (kiln_npz_open(c->ctx, path, &z) != KILN_OK) return cli_fail(c);
    int code = CLI_DONE;
    uint32_t n = kiln_prog_n_outputs(p), good = 0;
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        kiln_array *want = NULL;
        name_of(i, name);
        int64_t k = kiln_npz_find(z, name);
        if (k < 0) code = cli_bad(c, "missing-input", "%s has no array '%s' to compare with", path, name);
        else if (kiln_npz_read(c->ctx, z, (uint32_t)k, &want) != KILN_OK || adapt(c->ctx, kiln_prog_output_type(p, i), &want) != KILN_OK) code = cli_fail(c);
        else good += compare(name, values[i], want, rtol, atol);
        kiln_array_release(want);
        if (code != CLI_DONE) break;
    }
    kiln_npz_close(z);
    if (code != CLI_DONE) return code;
    printf("%u passed, %u failed\n", good, n - good);
    return good == n ? CLI_DONE : CLI_NO;
}
