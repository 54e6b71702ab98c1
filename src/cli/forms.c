/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/forms.h"
#include "hlo/hlo.h"
#include "ir/print.h"

static kiln_status put_jaxpr(cli *c, const cli_shown *s, kn_text *t)
{
    kn_print_style style = {.width = (unsigned)cli_int(c, "width", 80), .old = strcmp(cli_text(c, "dialect", s->p->old_dialect ? "old" : "new"), "old") == 0, .brief = cli_has(c, "brief")};
    kiln_status status = kn_print_jaxpr(c->ctx, s->p->main, style, t);
    kn_text_char(t, '\n');
    return status;
}

static kiln_status put_stablehlo(cli *c, const cli_shown *s, kn_text *t) { return kn_hlo_print_stablehlo(c->ctx, s->p, t); }

static kiln_status put_hlo(cli *c, const cli_shown *s, kn_text *t)
{
    unsigned flags = (s->fused ? KN_HLO_OPTIMISED : 0) | (cli_has(c, "brief") ? KN_HLO_BRIEF : 0);
    return kn_hlo_print_hlo(c->ctx, s->fused ? s->fused : s->p, flags, t);
}

static kiln_status put_dot(cli *c, const cli_shown *s, kn_text *t)
{
    return kn_dot_print(c->ctx, s->fused ? s->fused : s->p, cli_has(c, "brief"), t, NULL);
}

static kiln_status put_svg(cli *c, const cli_shown *s, kn_text *t)
{
    enum { MOST_BOXES = 20000 }; /* Graphviz takes minutes for these, hours for ten times as many */
    kn_text graph;
    uint32_t boxes;
    kn_text_init(&graph, &c->ctx->alloc);
    kiln_status status = kn_dot_print(c->ctx, s->fused ? s->fused : s->p, cli_has(c, "brief"), &graph, &boxes);
    if (status == KILN_OK && boxes > MOST_BOXES)
        status = kn_fail(c->ctx, KILN_UNSUPPORTED, "a picture of %u boxes would take hours (at most %d are drawn): take the graph as text "
                         "(--format dot)", boxes, MOST_BOXES);
    if (status == KILN_OK) status = cli_picture(c, graph.s, graph.n, t);
    kn_text_fini(&graph);
    return status;
}

static const struct form {
    const char *name, *suffix;
    bool fused;
    kiln_status (*put)(cli *c, const cli_shown *s, kn_text *t);
} forms[] = {
    {"jaxpr", "jaxpr", false, put_jaxpr}, {"stablehlo", "mlir", false, put_stablehlo}, {"hlo", "hlo", true, put_hlo},
    {"dot", "dot", true, put_dot},        {"svg", "svg", true, put_svg},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

bool cli_form_is_fused(const char *format)
{
    for (unsigned i = 0; i < N_FORMS; i++)
        if (strcmp(forms[i].name, format) == 0) return forms[i].fused;
    return false;
}

bool cli_to_folder(const cli *c)
{
    const char *path = cli_text(c, "output", "-");
    size_t n = strlen(path);
    return n && path[n - 1] == '/';
}

/* ---- one form ---- */

static kiln_status write_form(cli *c, const cli_shown *s, const struct form *f, const char *path)
{
    kn_text t;
    kn_text_init(&t, &c->ctx->alloc);
    kiln_status status = f->put(c, s, &t);
    if (status == KILN_OK && t.failed) status = kn_nomem(c->ctx);
    if (status == KILN_OK) status = cli_write(c, path, t.s, t.n);
    kn_text_fini(&t);
    return status;
}

/* ---- all of them ---- */

/* The file's own name without its ending. */
static size_t own_name(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/'), *s = slash ? slash + 1 : path, *dot = strrchr(s, '.');
    *name = s;
    return dot && dot > s ? (size_t)(dot - s) : strlen(s);
}

static char *file_name(kn_arena *a, const cli_shown *s, const char *folder, const struct form *f)
{
    const char *name;
    size_t n = own_name(s->name, &name);
    bool first = strcmp(s->stage, "traced") == 0;
    return kn_arena_printf(a, "%s%.*s%s%s.%s", folder, (int)n, name, first ? "" : ".", first ? "" : s->stage, f->suffix);
}

/* What this program, or this machine, has no such form of is told and left out; that the disk is full ends it. */
static bool may_be_left_out(cli *c, const struct form *f, kiln_status status)
{
    if (status != KILN_UNSUPPORTED && !(status == KILN_IO && f->put == put_svg)) return false;
    kiln_diag d = *kiln_ctx_error(c->ctx);
    size_t n = strlen(d.message);
    d.code = KILN_OK; /* a warning */
    snprintf(d.message + n, sizeof d.message - n, "; %s is left out", f->suffix);
    cli_print_diag(c, &d);
    return true;
}

static int write_all(cli *c, const cli_shown *s)
{
    kn_arena arena;
    const char *folder = cli_text(c, "output", "-"), *format = cli_text(c, "format", NULL);
    kn_arena_init(&arena, &c->ctx->alloc);
    kiln_status status = kn_folder_make(c->ctx, folder);
    for (unsigned i = 0; i < N_FORMS && status == KILN_OK; i++) {
        const struct form *f = &forms[i];
        if (format && strcmp(format, f->name) != 0) continue;
        char *path = file_name(&arena, s, folder, f);
        status = path ? write_form(c, s, f, path) : kn_nomem(c->ctx);
        if (status != KILN_OK && !format && may_be_left_out(c, f, status)) status = KILN_OK;
    }
    kn_arena_fini(&arena);
    return status == KILN_OK ? CLI_DONE : cli_fail(c);
}

kiln_status cli_form_text(cli *c, const cli_shown *s, const char *format, kn_text *t)
{
    for (unsigned i = 0; i < N_FORMS; i++)
        if (strcmp(forms[i].name, format) == 0) return forms[i].put(c, s, t);
    return kn_fail(c->ctx, KILN_NOTFOUND, "no format '%s'", format);
}

int cli_forms(cli *c, const cli_shown *s)
{
    const char *format = cli_text(c, "format", "jaxpr");
    if (cli_has(c, "dialect") && !cli_to_folder(c) && strcmp(format, "jaxpr") != 0)
        return cli_bad(c, "usage", "--dialect is that of jaxprs, not of --format %s", format);
    if (cli_to_folder(c)) return write_all(c, s);
    if (cli_has(c, "brief") && strcmp(format, "stablehlo") == 0)
        return cli_bad(c, "usage", "--brief leaves parameters out of jaxpr, hlo, dot and svg; stablehlo has no short form");
    for (unsigned i = 0; i < N_FORMS; i++)
        if (strcmp(forms[i].name, format) == 0)
            return write_form(c, s, &forms[i], cli_text(c, "output", "-")) == KILN_OK ? CLI_DONE : cli_fail(c);
    return cli_bad(c, "usage", "no format '%s'", format);
}
