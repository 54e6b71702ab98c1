/* SPDX-License-Identifier: Apache-2.0 */
/* kiln show --residuals: what a reverse derivative keeps, line by line, and why. */
#include "transform/residuals.h"

#include "array/array.h"
#include "cli/values.h"
#include "ir/prim.h"

#include <stdlib.h>

enum { MOST_OPERANDS = 64 };

static int operands(cli *c, uint32_t *wrt, uint32_t *n)
{
    *n = 0;
    for (const char *s = cli_text(c, "wrt", NULL); s && *s;) {
        char *end;
        unsigned long v = strtoul(s, &end, 10);
        if (end == s || (*end && *end != ',') || v > UINT32_MAX || *n == MOST_OPERANDS)
            return cli_bad(c, "usage", "--wrt takes numbers of operands, as in 0,2, found '%s'", cli_text(c, "wrt", ""));
        wrt[(*n)++] = (uint32_t)v;
        s = *end ? end + 1 : end;
    }
    return CLI_DONE;
}

static int by_bytes(const void *a, const void *b)
{
    const kn_residual_line *x = a, *y = b;
    bool kx = x->why == KN_RESIDUAL_AGAIN || x->why == KN_RESIDUAL_CHECKPOINT, ky = y->why == KN_RESIDUAL_AGAIN || y->why == KN_RESIDUAL_CHECKPOINT;
    if (kx != ky) return kx - ky;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    if (x->loc.line != y->loc.line) return x->loc.line < y->loc.line ? -1 : 1;
    return (x->loc.column > y->loc.column) - (x->loc.column < y->loc.column);
}

static void why(const kn_residual_line *x, char *text, size_t room)
{
    double bytes = (double)kiln_type_size(x->type) * (double)kiln_dtype_bytes(x->type.dtype) * (double)x->trips;
    switch (x->why) {
    case KN_RESIDUAL_KEPT:
        if (x->trips > 1) snprintf(text, room, "kept in each of %lld trips", (long long)x->trips);
        else snprintf(text, room, "kept");
        return;
    case KN_RESIDUAL_PASSED: snprintf(text, room, "there anyway"); return;
    case KN_RESIDUAL_BEFORE: snprintf(text, room, "no trip changes it: kept once"); return;
    case KN_RESIDUAL_AGAIN: snprintf(text, room, "computed again, which costs less than to keep %.0f bytes", bytes); return;
    case KN_RESIDUAL_CHECKPOINT: snprintf(text, room, "computed again by a checkpoint, instead of %.0f bytes", bytes); return;
    case KN_RESIDUAL_SNAPSHOTS: snprintf(text, room, "a record of %lld states: the number of trips is not known", (long long)x->trips); return;
    }
    *text = 0;
}

static void print_line(const kn_residual_list *l, const kn_residual_line *x)
{
    char name[64], place[256] = "", text[128];
    const char *file = x->loc.file < l->prog->files.n ? l->prog->files.v[x->loc.file] : "";
    bool again = x->why == KN_RESIDUAL_AGAIN || x->why == KN_RESIDUAL_CHECKPOINT;
    if (x->prim) snprintf(name, sizeof name, "%s", x->prim->name);
    else snprintf(name, sizeof name, "%s %u", x->inner ? "argument" : "operand", x->number);
    if (x->loc.line && x->loc.column) snprintf(place, sizeof place, "%s:%u:%u", file, x->loc.line, x->loc.column);
    else if (x->loc.line) snprintf(place, sizeof place, "%s:%u", file, x->loc.line);
    why(x, text, sizeof text);
    printf("%12.0f  %-20s %-14s %-28s %s\n", again ? 0 : x->bytes, name, x->why == KN_RESIDUAL_SNAPSHOTS ? "" : kn_type_show(x->type).s, place, text);
}

int cli_residuals(cli *c, const kiln_prog *p)
{
    uint32_t wrt[MOST_OPERANDS], n;
    kn_residual_list l;
    double kept = 0, saved = 0;
    int code = operands(c, wrt, &n);
    if (code != CLI_DONE) return code;
    if (kn_residuals_of(c->ctx, p, wrt, n, &l) != KILN_OK) return cli_fail(c);
    if (l.v.n) qsort(l.v.v, l.v.n, sizeof *l.v.v, by_bytes);
    for (uint32_t i = 0; i < l.v.n; i++) {
        const kn_residual_line *x = &l.v.v[i];
        bool again = x->why == KN_RESIDUAL_AGAIN || x->why == KN_RESIDUAL_CHECKPOINT;
        print_line(&l, x);
        *(again ? &saved : &kept) += x->bytes;
    }
    printf("%12.0f  bytes are kept for the way back; %.0f more are not\n", kept, saved);
    kn_residuals_fini(&l);
    return CLI_DONE;
}
