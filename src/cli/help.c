/* SPDX-License-Identifier: Apache-2.0 */
/* Help, manual, documentation page and completion, all from the tables. */
#include "cli/cli.h"

static const char tagline[] = "traces array programs, compiles them to native code, runs them and says where the time goes";

const cli_command *cli_command_find(const char *name)
{
    for (uint32_t i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, name) == 0) return cli_commands[i];
    return NULL;
}

/* ---- --help ---- */

/* Prints words between columns `from` and 80; the cursor stands at `at`. */
static void wrap(FILE *to, const char *text, size_t from, size_t at)
{
    enum { WIDTH = 80 };
    while (*text) {
        size_t n = strcspn(text, " ");
        if (at > from && at + 1 + n > WIDTH) {
            fprintf(to, "\n%*s", (int)from, "");
            at = from;
        }
        if (at > from) at += (size_t)fprintf(to, " ");
        at += (size_t)fprintf(to, "%.*s", (int)n, text);
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', to);
}

static size_t option_head(char *out, size_t size, const cli_option *o)
{
    char letter[8] = "    ";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    return (size_t)snprintf(out, size, "%s--%s%s%s", letter, o->name, o->value ? " " : "", o->value ? o->value : "");
}

static void help_options(FILE *to, const cli_option *options, uint32_t n)
{
    enum { COLUMN = 30 };
    for (uint32_t i = 0; i < n; i++) {
        if (options[i].flags & CLI_LATER) continue;
        char head[128];
        size_t k = option_head(head, sizeof head, &options[i]);
        fprintf(to, "  %s", head);
        if (k + 2 >= COLUMN) fprintf(to, "\n%*s", COLUMN, "");
        else fprintf(to, "%*s", (int)(COLUMN - k - 2), "");
        wrap(to, options[i].help, COLUMN, COLUMN);
    }
}

void cli_help(FILE *to)
{
    fprintf(to, "kiln %s:", kiln_version());
    wrap(to, tagline, 0, 11);
    fprintf(to, "\nUsage: kiln COMMAND [OPERANDS] [OPTIONS]\n\nCommands:\n");
    for (uint32_t i = 0; cli_commands[i]; i++) {
        fprintf(to, "  %-12s", cli_commands[i]->name);
        wrap(to, cli_commands[i]->summary, 14, 14);
    }
    fprintf(to, "\nOptions of every command:\n");
    help_options(to, cli_common, cli_n_common);
    fprintf(to, "\nkiln COMMAND --help says more; kiln --version shows versions and build flags.\n"
                "Settings may also stand in the environment, as KILN_DUMP for --dump.\n"
                "Exit code: 0 done, 1 the check says no, 2 bad usage or input, 3 something outside\nfailed, 130 interrupted.\n");
}

void cli_help_command(FILE *to, const cli_command *command)
{
    fprintf(to, "kiln %s:", command->name);
    wrap(to, command->summary, 0, 6 + strlen(command->name));
    fprintf(to, "\nUsage: kiln %s %s%s[OPTIONS]\n", command->name, command->operands, *command->operands ? " " : "");
    if (command->about) fprintf(to, "\n%s\n", command->about);
    if (command->n_options) {
        fprintf(to, "\nOptions:\n");
        help_options(to, command->options, command->n_options);
    }
    fprintf(to, "\nOptions of every command:\n");
    help_options(to, cli_common, cli_n_common);
}

/* ---- the manual, as roff ---- */

/* Escapes what roff would read as its own. */
static void roff(FILE *to, const char *text)
{
    bool start = true;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\'')) fputs("\\&", to);
        if (*text == '-') fputs("\\-", to);
        else if (*text == '\\') fputs("\\e", to);
        else fputc(*text, to);
        start = *text == '\n';
    }
}

/* Paragraphs; lines that begin with blanks are examples. */
static void roff_about(FILE *to, const char *text)
{
    bool example = false;
    while (*text) {
        size_t n = strcspn(text, "\n");
        bool indented = *text == ' ';
        if (indented != example) fputs(indented ? ".nf\n" : ".fi\n", to);
        example = indented;
        if (n == 0) fputs(".PP", to);
        else {
            char line[512];
            snprintf(line, sizeof line, "%.*s", (int)(n < 511 ? n : 511), text);
            roff(to, line);
        }
        fputc('\n', to);
        text += n + (text[n] == '\n');
    }
    if (example) fputs(".fi\n", to);
}

static void roff_options(FILE *to, const cli_option *options, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (options[i].flags & CLI_LATER) continue;
        fputs(".TP\n.B ", to);
        char head[128];
        option_head(head, sizeof head, &options[i]);
        roff(to, head + strspn(head, " "));
        fputc('\n', to);
        roff(to, options[i].help);
        fputc('\n', to);
    }
}

void cli_man(FILE *to)
{
    fprintf(to, ".TH KILN 1 \"\" \"kiln %s\"\n.SH NAME\nkiln \\- ", kiln_version());
    roff(to, tagline);
    fputs("\n.SH SYNOPSIS\n.B kiln\n.I COMMAND\n[OPERANDS] [OPTIONS]\n.SH COMMANDS\n", to);
    for (uint32_t i = 0; cli_commands[i]; i++) {
        const cli_command *k = cli_commands[i];
        fprintf(to, ".SS kiln %s %s\n", k->name, k->operands);
        roff(to, k->summary);
        fputs(".\n", to);
        if (k->about) {
            fputs(".PP\n", to);
            roff_about(to, k->about);
        }
        roff_options(to, k->options, k->n_options);
    }
    fputs(".SH OPTIONS OF EVERY COMMAND\n", to);
    roff_options(to, cli_common, cli_n_common);
    fputs(".SH EXIT STATUS\n0 done; 1 the check or comparison says no; 2 bad usage or input; 3 something outside failed (disk, memory); "
          "130 interrupted.\n.SH ENVIRONMENT\nSettings may be given as KILN_<NAME>, as KILN_DUMP for \\-\\-dump. "
          "NO_COLOR turns colour off.\n",
          to);
}

/* ---- the documentation page ---- */

static void page_options(FILE *to, const cli_option *options, uint32_t n)
{
    fputs("\n| option | meaning |\n|---|---|\n", to);
    for (uint32_t i = 0; i < n; i++) {
        if (options[i].flags & CLI_LATER) continue;
        char head[128];
        option_head(head, sizeof head, &options[i]);
        fprintf(to, "| `%s` | %s |\n", head + strspn(head, " "), options[i].help);
    }
}

static void page_about(FILE *to, const char *text)
{
    bool example = false;
    fputc('\n', to);
    while (*text) {
        size_t n = strcspn(text, "\n");
        bool indented = *text == ' ';
        if (indented && !example) fputs("```\n", to);
        if (!indented && example) fputs("```\n", to);
        example = indented;
        size_t skip = indented ? strspn(text, " ") : 0;
        fprintf(to, "%.*s\n", (int)(n - skip), text + skip);
        text += n + (text[n] == '\n');
    }
    if (example) fputs("```\n", to);
}

void cli_page(FILE *to)
{
    fputs("# The command `kiln`\n\nMade by `kiln --page` from the tables in `src/cli`.\n\n| command | what it does |\n|---|---|\n", to);
    for (uint32_t i = 0; cli_commands[i]; i++) fprintf(to, "| [`kiln %s`](#kiln-%s) | %s |\n", cli_commands[i]->name, cli_commands[i]->name, cli_commands[i]->summary);
    fputs("\nResults go to standard output, everything else to standard error. Exit code 0: done, 1: the check or comparison says no, 2: bad usage or "
          "input, 3: something outside failed (disk, memory), 130: interrupted. `-` is standard input or output. Settings may also be given in "
          "the environment as `KILN_<NAME>`. `NO_COLOR` turns colour off. Numbers are read and written with a point, whatever the locale is.\n",
          to);
    for (uint32_t i = 0; cli_commands[i]; i++) {
        const cli_command *k = cli_commands[i];
        fprintf(to, "\n## kiln %s\n\n`kiln %s %s`: %s.\n", k->name, k->name, k->operands, k->summary);
        if (k->about) page_about(to, k->about);
        if (k->n_options) page_options(to, k->options, k->n_options);
    }
    fputs("\n## Options of every command\n", to);
    page_options(to, cli_common, cli_n_common);
}

/* ---- completion ---- */

static void words(FILE *to, const cli_option *options, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(options[i].flags & CLI_LATER)) fprintf(to, " --%s", options[i].name);
}

/* "0, 2, auto" as words. */
static void choices(FILE *to, const char *text)
{
    for (; *text; text++)
        if (*text != ',') fputc(*text, to);
}

/* Lines of a case over "COMMAND --OPTION". */
static void bash_choices(FILE *to, const char *command, const cli_option *options, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (options[i].kind != CLI_CHOICE || (options[i].flags & CLI_LATER)) continue;
        fprintf(to, "    \"%s --%s\") choices=\"", command, options[i].name);
        choices(to, options[i].value);
        fputs("\" ;;\n", to);
    }
}

static void complete_bash(FILE *to)
{
    fputs("# bash completion of kiln; load it with: source <(kiln completion bash)\n_kiln()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options= choices=\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"--help --version",
          to);
    for (uint32_t i = 0; cli_commands[i]; i++) fprintf(to, " %s", cli_commands[i]->name);
    fputs("\" -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n", to);
    for (uint32_t i = 0; cli_commands[i]; i++) {
        fprintf(to, "    %s) options=\"", cli_commands[i]->name);
        words(to, cli_commands[i]->options, cli_commands[i]->n_options);
        fputs("\" ;;\n", to);
    }
    fputs("    esac\n    [ \"$word\" != = ] || { before==; word=; }\n"
          "    [ \"$before\" != = ] || before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    [ \"$before\" != = ] || before=${COMP_WORDS[COMP_CWORD-2]}\n    case \"${COMP_WORDS[1]} $before\" in\n", to);
    for (uint32_t i = 0; cli_commands[i]; i++) bash_choices(to, cli_commands[i]->name, cli_commands[i]->options, cli_commands[i]->n_options);
    fputs("    esac\n    case $before in\n", to);
    for (uint32_t i = 0; i < cli_n_common; i++) {
        if (cli_common[i].kind != CLI_CHOICE || (cli_common[i].flags & CLI_LATER)) continue;
        fprintf(to, "    --%s) choices=\"", cli_common[i].name);
        choices(to, cli_common[i].value);
        fputs("\" ;;\n", to);
    }
    fputs("    esac\n    if [ -n \"$choices\" ]; then\n        COMPREPLY=($(compgen -W \"$choices\" -- \"$word\"))\n        return\n    fi\n", to);
    fputs("    case $word in\n    -*) COMPREPLY=($(compgen -W \"$options", to);
    words(to, cli_common, cli_n_common);
    fputs("\" -- \"$word\")) ;;\n    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n    esac\n}\ncomplete -o filenames -F _kiln kiln\n", to);
}

/* zsh reads ' and : in descriptions as its own. */
static void zsh_text(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') fputs("'\\''", to);
        else if (*text == ':' || *text == '[' || *text == ']') fprintf(to, "\\%c", *text);
        else fputc(*text, to);
    }
}

static void zsh_options(FILE *to, const cli_option *options, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (options[i].flags & CLI_LATER) continue;
        fprintf(to, " \\\n        '%s--%s%s[", options[i].flags & CLI_MANY ? "*" : "", options[i].name, options[i].value ? "=" : "");
        zsh_text(to, options[i].help);
        if (options[i].kind == CLI_CHOICE) {
            fputs("]:value:(", to);
            choices(to, options[i].value);
            fputs(")'", to);
        } else {
            fprintf(to, "]%s'", options[i].value ? ":value:_files" : "");
        }
    }
}

static void complete_zsh(FILE *to)
{
    fputs("#compdef kiln\n# zsh completion of kiln\n_kiln()\n{\n    local -a commands\n    commands=(\n", to);
    for (uint32_t i = 0; cli_commands[i]; i++) {
        fprintf(to, "        '%s:", cli_commands[i]->name);
        zsh_text(to, cli_commands[i]->summary);
        fputs("'\n", to);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n    case $words[2] in\n", to);
    for (uint32_t i = 0; cli_commands[i]; i++) {
        fprintf(to, "    %s) _arguments -s", cli_commands[i]->name);
        zsh_options(to, cli_commands[i]->options, cli_commands[i]->n_options);
        zsh_options(to, cli_common, cli_n_common);
        fputs(" '*:file:_files' ;;\n", to);
    }
    fputs("    esac\n}\n_kiln \"$@\"\n", to);
}

bool cli_completion(FILE *to, const char *shell)
{
    if (strcmp(shell, "bash") == 0) complete_bash(to);
    else if (strcmp(shell, "zsh") == 0) complete_zsh(to);
    else return false;
    return true;
}

static int run_completion(cli *c)
{
    if (cli_completion(stdout, c->operands[0])) return CLI_DONE;
    return cli_bad(c, "usage", "no completion for '%s': bash and zsh are known", c->operands[0]);
}

const cli_command cli_completion_command = {
    .name = "completion",
    .operands = "SHELL",
    .summary = "prints completion for bash or zsh",
    .about = "Load it with\n    source <(kiln completion bash)",
    .least = 1,
    .most = 1,
    .run = run_completion,
};
