/* SPDX-License-Identifier: Apache-2.0 */
/* The command. A subcommand is one file with one cli_command and one row in table.c; help, man page, completion and the
 * documentation page are made from these tables. Everything real is in the library: what stands here reads arguments, calls
 * the library and prints.
 *
 *      static const cli_option options[] = {
 *          {"steps", 0, CLI_INT, "N", "runs N steps", .least = 1},
 *          {"interpret", 0, CLI_FLAG, NULL, "uses the interpreter"},
 *      };
 *      static int run(cli *c) { ... cli_int(c, "steps", 100) ... return CLI_DONE; }
 *      const cli_command cli_run = {.name = "run", .operands = "INPUT", .summary = "runs a simulation graph", CLI_OPTIONS(options),
 *                                   .least = 1, .most = 1, .run = run};
 */
#ifndef KN_CLI_CLI_H
#define KN_CLI_CLI_H

#include "hlo/packed.h"
#include "kiln/kiln.h"

#include <stdio.h>

enum { CLI_DONE = 0, CLI_NO = 1, CLI_BAD = 2, CLI_FAILED = 3, CLI_INTERRUPTED = 130 }; /* exit codes */

typedef enum cli_kind { CLI_FLAG, CLI_TEXT, CLI_INT, CLI_NUMBER, CLI_CHOICE } cli_kind;

enum {
    CLI_SETTING = 1u << 0, /* also read from KILN_<NAME> */
    CLI_MANY = 1u << 1,    /* may be given more than once */
    CLI_LATER = 1u << 2    /* known, refused with [unsupported] */
};

typedef struct cli_option {
    const char *name; /* without the dashes */
    char letter;      /* short form, or 0 */
    cli_kind kind;
    const char *value; /* its value's name in the help; for CLI_CHOICE the choices, "0, 2, auto"; NULL for flags */
    const char *help;
    unsigned flags;
    int64_t least; /* CLI_INT: smallest value */
} cli_option;

/* Whether compiled code is taken from the cache: where an option or a setting names it, always, or never. */
typedef enum cli_cache { CLI_CACHE_ASKED, CLI_CACHE_ALWAYS, CLI_CACHE_NEVER } cli_cache;

typedef struct cli cli;
typedef struct cli_command {
    const char *name;
    const char *operands; /* as the usage line shows them */
    const char *summary;  /* one line, third person */
    const char *about;    /* paragraphs for help and manual; examples are indented lines; may be NULL */
    const cli_option *options;
    uint32_t n_options;
    int least, most; /* operands; most -1: any number */
    cli_cache cache;
    int (*run)(cli *c);
} cli_command;
#define CLI_OPTIONS(array) .options = (array), .n_options = sizeof(array) / sizeof *(array)

typedef struct cli_value {
    const cli_option *option;
    const char *text;
    int64_t integer;
    double number;
    bool from_environment;
} cli_value;

struct cli {
    const char *program; /* argv[0] */
    const cli_command *command;
    kiln_ctx *ctx;
    char **operands;
    int n_operands;
    cli_value *values;
    uint32_t n_values;
    bool quiet, verbose;
    bool colour;          /* standard error is a terminal and NO_COLOR is not set */
    double progress_at;   /* when the work began, seconds */
    double progress_last; /* when a progress line was last shown; 0: never */
};

extern const cli_command *const cli_commands[]; /* ends with NULL */
extern const cli_option cli_common[];
extern const uint32_t cli_n_common;

/* ---- options.c ---- */

/* Fills operands and values; false after printing what is wrong. */
bool cli_parse(cli *c, int argc, char **argv);
bool cli_has(const cli *c, const char *name);
const char *cli_text(const cli *c, const char *name, const char *otherwise);
int64_t cli_int(const cli *c, const char *name, int64_t otherwise);
double cli_number(const cli *c, const char *name, double otherwise);
/* Walks over the values of a CLI_MANY option: start with *k = 0; NULL at the end. */
const char *cli_each(const cli *c, const char *name, uint32_t *k);
const cli_value *cli_find(const cli *c, const char *name);

/* ---- report.c ---- */

/* Prints the context's last error and gives the exit code that belongs to it. */
int cli_fail(cli *c);
/* An error of the command line itself; gives CLI_BAD. `kind` may be NULL. */
int cli_bad(cli *c, const char *kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Something outside failed; gives CLI_FAILED. */
int cli_broken(cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cli_say(const cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* to standard error, unless --quiet */
void cli_print_diag(const cli *c, const kiln_diag *d);
int cli_exit_code(kiln_status status);
/* Shows "label done/total, rate, time left" on a terminal once the work took a second; call it as often as convenient. */
void cli_progress(cli *c, const char *label, uint64_t done, uint64_t total);
void cli_progress_end(cli *c); /* wipes the line */
/* From now on an interrupt sets the flag instead of ending the process; a second one ends it. */
const volatile bool *cli_catch_interrupt(void);
bool cli_interrupted(void);
/* Writes to a file, or to standard output for "-". */
kiln_status cli_write(cli *c, const char *path, const char *text, size_t n);
bool cli_is_stdout(const char *path);
struct json_t;
int cli_write_json(cli *c, const char *path, const struct json_t *json); /* CLI_DONE, or the exit code after the message */

/* ---- input.c ---- */

/* kind, its name for --from, what it is */
#define CLI_INPUT_LIST(X)                                                                          \
    X(JAXPR, "jaxpr", "a program as jaxpr text")                                                   \
    X(STABLEHLO, "stablehlo", "a StableHLO module")                                                \
    X(HLO, "hlo", "an HLO module")                                                                 \
    X(GRAPH, "graph", "a simulation graph")                                                        \
    X(MODEL, "model", "a compartment model")                                                       \
    X(CALCULATOR, "calculator", "a calculator")

typedef enum cli_input_kind {
#define CLI_INPUT_ENUM(id, name, text) CLI_##id,
    CLI_INPUT_LIST(CLI_INPUT_ENUM)
#undef CLI_INPUT_ENUM
        CLI_UNKNOWN
} cli_input_kind;

typedef struct cli_input {
    const char *name; /* as messages show it */
    kn_packed packed;
    cli_input_kind kind;
} cli_input;

/* Reads an operand ("-": standard input) and recognises it, or takes --from. CLI_DONE, or the exit code after the message. */
int cli_input_read(cli *c, const char *path, cli_input *out);
void cli_input_free(cli *c, cli_input *in);
const char *cli_input_kind_text(cli_input_kind kind); /* "a simulation graph" */
/* Refuses a kind that the command does not take: says what it is and what would be taken. */
int cli_input_refuse(cli *c, const cli_input *in, const char *wanted);
/* Reads a program (any text form that is supported). */
int cli_program_read(cli *c, const char *path, kiln_prog **out);

/* ---- transform.c ---- */

/* Applies --rule and --transform; the operands (files or texts) say how many lanes a vmap has. CLI_DONE, or the exit code after the message;
 * then *p is released. */
int cli_transform(cli *c, char **operands, int n, kiln_prog **p);

/* ---- help.c ---- */

void cli_help(FILE *to);
void cli_help_command(FILE *to, const cli_command *command);
void cli_man(FILE *to);
void cli_page(FILE *to); /* docs/cli.md */
bool cli_completion(FILE *to, const char *shell); /* false: no such shell */
const cli_command *cli_command_find(const char *name);

#endif
