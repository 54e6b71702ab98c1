/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs are recognised by what they hold, not by the name of the file. */
#include "cli/cli.h"
#include "hlo/hlo.h"

#include <ctype.h>
#include <unistd.h>

static const struct {
    const char *name, *text;
} kinds[] = {
#define ROW(id, name, text) [CLI_##id] = {name, text},
    CLI_INPUT_LIST(ROW)
#undef ROW
};

const char *cli_input_kind_text(cli_input_kind kind) { return kind < CLI_UNKNOWN ? kinds[kind].text : "an unknown kind of file"; }

static bool begins(const char *s, const char *word) { return strncmp(s, word, strlen(word)) == 0; }

/* Blanks and comments of the text forms that may stand before the first word. */
static const char *first_word(const char *s)
{
    for (;;) {
        while (isspace((unsigned char)*s)) s++;
        if (!begins(s, "//")) return s;
        s += strcspn(s, "\n");
    }
}

/* Does a mapping at the top level of YAML or JSON have this key? Nested keys are indented in YAML; in JSON text the first
 * key of the object decides or any line that begins with the key. */
static bool has_key(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = text; (p = strstr(p, key)); p += n) {
        const char *before = p, *after = p + n;
        if (before > text && before[-1] == '"') before--;
        while (*after == '"' || *after == ' ') after++;
        if (*after != ':') continue;
        const char *q = before;
        while (q > text && (q[-1] == ' ' || q[-1] == '\t')) q--;
        bool own_line = q == text || q[-1] == '\n';
        if (own_line && q == before) return true;
        bool json = *first_word(text) == '{';
        if (json && (own_line || q[-1] == '{' || q[-1] == ',')) return true;
    }
    return false;
}

static cli_input_kind recognise(const char *text, size_t n)
{
    const char *s = first_word(text);
    if (*s == '{') {
        const char *t = first_word(s + 1);
        if (begins(t, "lambda")) return CLI_JAXPR;
    }
    if (begins(s, "let ")) return CLI_JAXPR;
    if (kn_hlo_text_is(text, n)) return CLI_HLO;
    if (kn_hlo_is(text, n)) return CLI_STABLEHLO;
    if (has_key(text, "nodes") || has_key(text, "format")) return CLI_GRAPH;
    if (has_key(text, "system")) return CLI_CALCULATOR;
    if (has_key(text, "kind") || has_key(text, "state") || has_key(text, "rhs")) return CLI_MODEL;
    return CLI_UNKNOWN;
}

static int kind_by_name(cli *c, const char *name, cli_input_kind *out)
{
    for (unsigned i = 0; i < CLI_UNKNOWN; i++)
        if (strcmp(kinds[i].name, name) == 0) {
            *out = (cli_input_kind)i;
            return CLI_DONE;
        }
    return cli_bad(c, "usage", "--from takes jaxpr, stablehlo, hlo, graph, model or calculator, found '%s'", name);
}

int cli_input_read(cli *c, const char *path, cli_input *out)
{
    bool standard = strcmp(path, "-") == 0;
    *out = (cli_input){.name = standard ? "standard input" : path, .kind = CLI_UNKNOWN};
    kiln_status status = standard ? kn_packed_read_fd(c->ctx, STDIN_FILENO, out->name, &out->packed) : kn_packed_read(c->ctx, path, &out->packed);
    if (status != KILN_OK) return cli_fail(c);
    const char *from = cli_text(c, "from", NULL);
    int code = from ? kind_by_name(c, from, &out->kind) : CLI_DONE;
    if (!from && kn_prog_refuse_binary(c->ctx, out->packed.text.s, out->packed.text.n, out->name) != KILN_OK) code = cli_fail(c);
    if (code == CLI_DONE && !from) out->kind = recognise(out->packed.text.s, out->packed.text.n);
    if (code == CLI_DONE && out->kind == CLI_UNKNOWN)
        code = cli_bad(c, "unrecognised", "%s is neither a program (jaxpr) nor a graph, as far as its text shows; --from KIND says what it is",
                       out->name);
    if (code != CLI_DONE) cli_input_free(c, out);
    return code;
}

void cli_input_free(cli *c, cli_input *in) { kn_packed_free(c->ctx, &in->packed); }

int cli_input_refuse(cli *c, const cli_input *in, const char *wanted)
{
    bool later = in->kind != CLI_JAXPR && in->kind != CLI_STABLEHLO && in->kind != CLI_HLO && in->kind != CLI_GRAPH;
    if (later) return cli_bad(c, "unsupported", "%s is %s, which this version does not read", in->name, cli_input_kind_text(in->kind));
    return cli_bad(c, "usage", "%s is %s; kiln %s takes %s", in->name, cli_input_kind_text(in->kind), c->command->name, wanted);
}

int cli_program_read(cli *c, const char *path, kiln_prog **out)
{
    cli_input in;
    *out = NULL;
    int code = cli_input_read(c, path, &in);
    if (code != CLI_DONE) return code;
    if (in.kind != CLI_JAXPR && in.kind != CLI_STABLEHLO && in.kind != CLI_HLO) code = cli_input_refuse(c, &in, "a program");
    else if (kn_prog_parse_packed(c->ctx, &in.packed, in.name, out) != KILN_OK) code = cli_fail(c);
    cli_input_free(c, &in);
    return code;
}
