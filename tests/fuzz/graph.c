/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a graph file: an error with a kind and a place, or a graph that has a state and a program. Files that it names do
 * not exist. */
#include "fuzz.h"

#include "base/file.h"
#include "kiln/graph.h"

#include <errno.h>

static int open_none(void *ud, const char *path, int flags, mode_t mode)
{
    (void)ud, (void)path, (void)flags, (void)mode;
    errno = ENOENT;
    return -1;
}

static void warn(void *ud, const kiln_diag *d)
{
    (void)ud;
    if (!d->kind[0] || !d->message[0]) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t used;
    kiln_ctx *ctx = fuzz_ctx(&used);
    kiln_graph_opts o = KILN_GRAPH_OPTS_INIT;
    kiln_graph *g;
    kiln_prog *p;
    char *text = malloc(n + 1);
    if (!ctx || !text) abort();
    memcpy(text, data, n);
    text[n] = 0;
    kn_io io = kn_io_default;
    io.open = open_none;
    ctx->io = &io;
    ctx->warn = warn;
    o.text = text;
    kiln_status s = kiln_graph_load(ctx, "fuzz.yaml", &o, &g);
    if (s != KILN_OK) {
        fuzz_refused(ctx, s);
        if (s != KILN_NOMEM && !kiln_ctx_error(ctx)->kind[0]) fuzz_fail(ctx, "no kind");
    } else {
        s = kiln_graph_program(ctx, g, false, &p);
        if (s != KILN_OK) fuzz_refused(ctx, s);
        else if (kn_verify(ctx, p) != KILN_OK) fuzz_fail(ctx, "not a legal program");
        if (s == KILN_OK) kiln_prog_release(p);
        kiln_graph_release(g);
    }
    free(text);
    kiln_ctx_release(ctx);
    if (used) {
        fprintf(stderr, "%zu bytes are not freed\n", used);
        abort();
    }
    return 0;
}
