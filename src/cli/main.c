/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <unistd.h>

int cli_version(void);

static void warn(void *ud, const kiln_diag *warning) { cli_print_diag(ud, warning); }

static int check_fast(cli *c, const char *modes)
{
    unsigned fast;
    kiln_status status = modes ? kiln_fast_read(modes, &fast) : KILN_OK;
    if (status == KILN_OK) return CLI_DONE;
    if (status == KILN_UNSUPPORTED) return cli_bad(c, "unsupported", "--fast %s: of the fast modes this version has flush; accepted: flush, none", modes);
    return cli_bad(c, "usage", "--fast takes modes separated by commas, found '%s'; accepted: flush, none", modes);
}

/* The context as options and settings say. */
static int make_context(cli *c)
{
    kiln_ctx_opts o = KILN_CTX_OPTS_INIT;
    o.warn = warn;
    o.warn_ud = c;
    o.dump_dir = cli_text(c, "dump", NULL);
    o.target = cli_text(c, "target", NULL);
    const char *tier = cli_text(c, "tier", "auto");
    o.tier = strcmp(tier, "auto") == 0 ? -1 : tier[0] - '0';
    o.tier_set = true;
    o.fast = cli_text(c, "fast", NULL);
    int code = check_fast(c, o.fast);
    if (code != CLI_DONE) return code;
    int64_t threads = cli_int(c, "threads", 0);
    if (threads > KILN_MOST_THREADS) return cli_bad(c, "usage", "--threads takes a number of at most %d, found %lld", KILN_MOST_THREADS, (long long)threads);
    o.threads = (unsigned)threads;
    kiln_status status = kiln_ctx_create(&o, &c->ctx);
    if (status == KILN_OK) return CLI_DONE;
    if (status == KILN_NOMEM) return cli_broken(c, "out of memory");
    if (!o.target) return cli_broken(c, "this processor is not known: Kiln needs x86-64-v2 or better, or aarch64");
    return cli_bad(c, "usage", "no target '%s': x86-64-v2, x86-64-v3, x86-64-v4, aarch64 and native are known", o.target);
}

/* A home is not needed: without one nothing is kept. */
static int pick_cache(cli *c)
{
    const char *dir = cli_text(c, "cache", NULL);
    if (c->command->cache == CLI_CACHE_NEVER) dir = "none";
    else if (!dir && (c->command->cache == CLI_CACHE_ASKED || kiln_cache_enable(c->ctx, NULL) != KILN_OK)) dir = "none";
    return !dir || kiln_cache_enable(c->ctx, dir) == KILN_OK ? CLI_DONE : cli_fail(c);
}

static void say_cache(const cli *c)
{
    kiln_cache_counts n;
    kiln_cache_counts_get(c->ctx, &n);
    if (n.hits + n.misses == 0) return;
    cli_say(c, "cache %s: %llu found (%llu bytes), %llu not found, %llu kept (%llu bytes)", kiln_cache_dir(c->ctx), (unsigned long long)n.hits,
            (unsigned long long)n.bytes_read, (unsigned long long)n.misses, (unsigned long long)n.stores, (unsigned long long)n.bytes_written);
    if (n.failures) cli_say(c, ", %llu could not be kept", (unsigned long long)n.failures);
    if (n.refused) cli_say(c, ", %llu were damaged", (unsigned long long)n.refused);
    if (n.evictions) cli_say(c, ", %llu left", (unsigned long long)n.evictions);
    cli_say(c, "\n");
}

static int run_command(cli *c, int argc, char **argv)
{
    if (!cli_parse(c, argc, argv)) return CLI_BAD;
    if (cli_has(c, "help")) {
        cli_help_command(stdout, c->command);
        return CLI_DONE;
    }
    c->quiet = cli_has(c, "quiet");
    c->verbose = cli_has(c, "verbose") && !c->quiet;
    int code = make_context(c);
    if (code == CLI_DONE) code = pick_cache(c);
    if (code != CLI_DONE) return code;
    code = c->command->run(c);
    if (c->verbose) say_cache(c);
    return code;
}

static int dispatch(cli *c, int argc, char **argv)
{
    if (argc < 2) {
        cli_help(stderr);
        return CLI_BAD;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0) return cli_version();
    if (strcmp(word, "--man") == 0) return cli_man(stdout), CLI_DONE;
    if (strcmp(word, "--page") == 0) return cli_page(stdout), CLI_DONE;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        const cli_command *about = argc > 2 ? cli_command_find(argv[2]) : NULL;
        if (about) cli_help_command(stdout, about);
        else cli_help(stdout);
        return CLI_DONE;
    }
    c->command = cli_command_find(word);
    if (c->command) return run_command(c, argc - 2, argv + 2);
    const char *names[64];
    size_t n = 0;
    for (; cli_commands[n] && n < 64; n++) names[n] = cli_commands[n]->name;
    const char *near = kn_nearest(word, names, n);
    if (near) return cli_bad(c, "usage", "no command '%s' (did you mean '%s'?)", word, near);
    return cli_bad(c, "usage", "no command '%s'; kiln --help lists them", word);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a pipe never looks hung */
    const char *no_colour = getenv("NO_COLOR");
    cli c = {.program = argv[0], .colour = isatty(STDERR_FILENO) && !(no_colour && *no_colour)};
    int code = dispatch(&c, argc, argv);
    cli_progress_end(&c);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == CLI_DONE) code = cli_broken(&c, "cannot write to standard output");
    kiln_ctx_release(c.ctx);
    free(c.values);
    free(c.operands);
    return code;
}
