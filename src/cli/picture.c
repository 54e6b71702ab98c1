/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: Graphviz's `dot` as a child process. Its ends are temporary files without a name, so nobody waits for anybody. */
#include "cli/forms.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { IN, OUT, ERR, N_ENDS };

static kiln_status spawn(cli *c, FILE *const ends[N_ENDS], pid_t *child)
{
    char *const words[] = {"dot", "-Tsvg", NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) return kn_nomem(c->ctx);
    int error = 0;
    for (int i = 0; i < N_ENDS && !error; i++) error = posix_spawn_file_actions_adddup2(&actions, fileno(ends[i]), i);
    if (!error) error = posix_spawnp(child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT)
        return kn_fail(c->ctx, KILN_IO, "pictures are drawn by Graphviz, and there is no program 'dot' on PATH: install it (apt install "
                                        "graphviz), or take the graph as text (--format dot)");
    return error ? kn_fail(c->ctx, KILN_IO, "cannot start Graphviz's dot: %s", strerror(error)) : KILN_OK;
}

static kiln_status read_end(cli *c, FILE *f, kn_bytes *out)
{
    if (lseek(fileno(f), 0, SEEK_SET) != 0) return kn_fail(c->ctx, KILN_IO, "cannot read what Graphviz's dot wrote: %s", strerror(errno));
    return kn_file_read_fd(c->ctx, fileno(f), "what Graphviz's dot wrote", out);
}

static kiln_status judge(cli *c, FILE *const ends[N_ENDS], int status)
{
    kn_bytes said;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return KILN_OK;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM))
        return kn_fail(c->ctx, KILN_CANCELLED, "Graphviz's dot was interrupted");
    if (WIFSIGNALED(status)) return kn_fail(c->ctx, KILN_IO, "Graphviz's dot was ended by signal %d", WTERMSIG(status));
    KILN_TRY(read_end(c, ends[ERR], &said));
    kiln_status s = kn_fail(c->ctx, KILN_IO, "Graphviz's dot failed with exit code %d: %.*s", WEXITSTATUS(status), (int)strcspn(said.s, "\n"), said.s);
    kn_bytes_free(c->ctx, &said);
    return s;
}

static kiln_status draw(cli *c, FILE *const ends[N_ENDS], kn_text *svg)
{
    pid_t child;
    int status;
    kn_bytes picture;
    KILN_TRY(spawn(c, ends, &child));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return kn_fail(c->ctx, KILN_IO, "cannot wait for Graphviz's dot: %s", strerror(errno));
    KILN_TRY(judge(c, ends, status));
    KILN_TRY(read_end(c, ends[OUT], &picture));
    kn_text_addn(svg, picture.s, picture.n);
    kn_bytes_free(c->ctx, &picture);
    return svg->failed ? kn_nomem(c->ctx) : KILN_OK;
}

kiln_status cli_picture(cli *c, const char *graph, size_t n, kn_text *svg)
{
    FILE *ends[N_ENDS] = {tmpfile(), tmpfile(), tmpfile()};
    bool ok = ends[IN] && ends[OUT] && ends[ERR] && fwrite(graph, 1, n, ends[IN]) == n && fflush(ends[IN]) == 0 &&
              lseek(fileno(ends[IN]), 0, SEEK_SET) == 0;
    kiln_status s = ok ? draw(c, ends, svg) : kn_fail(c->ctx, KILN_IO, "cannot write a temporary file: %s", strerror(errno));
    for (int i = 0; i < N_ENDS; i++)
        if (ends[i]) fclose(ends[i]);
    return s;
}
