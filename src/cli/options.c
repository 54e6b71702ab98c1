/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments: `--name value`, `--name=value`, `-o value`, `-ovalue`, options and operands in any order, `--` ends options. */
#include "base/text.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t n_known(const cli *c) { return c->command->n_options + cli_n_common; }
static const cli_option *known(const cli *c, uint32_t i)
{
    return i < c->command->n_options ? &c->command->options[i] : &cli_common[i - c->command->n_options];
}

static const cli_option *find_name(const cli *c, const char *name, size_t n)
{
    for (uint32_t i = 0; i < n_known(c); i++)
        if (strlen(known(c, i)->name) == n && memcmp(known(c, i)->name, name, n) == 0) return known(c, i);
    return NULL;
}

static const cli_option *find_letter(const cli *c, char letter)
{
    for (uint32_t i = 0; i < n_known(c); i++)
        if (known(c, i)->letter == letter) return known(c, i);
    return NULL;
}

static bool no_option(cli *c, const char *name, size_t n)
{
    enum { MOST = 64 };
    const char *names[MOST];
    char word[64];
    uint32_t k = 0;
    snprintf(word, sizeof word, "%.*s", (int)(n < 63 ? n : 63), name);
    for (uint32_t i = 0; i < n_known(c) && k < MOST; i++) names[k++] = known(c, i)->name;
    const char *near = kn_nearest(word, names, k);
    if (near) cli_bad(c, "usage", "no option --%s (did you mean --%s?)", word, near);
    else cli_bad(c, "usage", "no option --%s; kiln %s --help lists them", word, c->command->name);
    return false;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t n = strlen(text);
    for (const char *p = choices; p && *p;) {
        size_t k = strcspn(p, ",");
        if (k == n && memcmp(p, text, n) == 0) return true;
        p += k;
        p += strspn(p, ", ");
    }
    return false;
}

/* Reads the value's text into v; `shown` is what messages call the option. */
static bool convert(cli *c, cli_value *v, const char *shown)
{
    const cli_option *o = v->option;
    char *end;
    const char *stop = v->text + strlen(v->text);
    switch (o->kind) {
    case CLI_INT:
        errno = 0;
        v->integer = strtoll(v->text, &end, 10);
        if (end == v->text || *end) return cli_bad(c, "usage", "%s takes a whole number, found '%s'", shown, v->text), false;
        if (errno) return cli_bad(c, "usage", "%s takes a whole number of at most 63 bits, found '%s'", shown, v->text), false;
        if (v->integer < o->least)
            return cli_bad(c, "usage", "%s takes a number of at least %lld, found %s", shown, (long long)o->least, v->text), false;
        break;
    case CLI_NUMBER:
        if (kn_read_double(v->text, stop, &v->number) != stop || stop == v->text)
            return cli_bad(c, "usage", "%s takes a number, found '%s'", shown, v->text), false;
        break;
    case CLI_CHOICE:
        if (!is_choice(o->value, v->text)) return cli_bad(c, "usage", "%s takes one of %s, found '%s'", shown, o->value, v->text), false;
        break;
    case CLI_TEXT:
        if (!*v->text) return cli_bad(c, "usage", "%s needs a value: %s; found ''", shown, o->value), false;
        break;
    case CLI_FLAG: break;
    }
    return true;
}

static bool add(cli *c, const cli_option *o, const char *text, bool from_environment, const char *shown)
{
    if (o->flags & CLI_LATER) return cli_bad(c, "unsupported", "%s is not supported by this version", shown), false;
    cli_value v = {.option = o, .text = text ? text : "", .from_environment = from_environment};
    if (!convert(c, &v, shown)) return false;
    cli_value *old = NULL;
    for (uint32_t i = 0; i < c->n_values; i++)
        if (c->values[i].option == o) old = &c->values[i];
    if (old && !(o->flags & CLI_MANY) && o->kind != CLI_FLAG) return cli_bad(c, "usage", "%s is given twice", shown), false;
    if (old && !(o->flags & CLI_MANY)) return true;
    cli_value *values = realloc(c->values, (c->n_values + 1) * sizeof *values);
    if (!values) return cli_broken(c, "out of memory"), false;
    c->values = values;
    values[c->n_values++] = v;
    return true;
}

/* One argument that begins with a dash; *i moves over a value that stands apart. */
static bool parse_option(cli *c, int argc, char **argv, int *i)
{
    const char *a = argv[*i], *value = NULL;
    const cli_option *o;
    char shown[80];
    if (a[1] == '-') {
        size_t n = strcspn(a + 2, "=");
        o = find_name(c, a + 2, n);
        if (!o) return no_option(c, a + 2, n);
        if (a[2 + n] == '=') value = a + 3 + n;
        snprintf(shown, sizeof shown, "--%s", o->name);
    } else {
        o = find_letter(c, a[1]);
        if (!o) return cli_bad(c, "usage", "no option -%c; kiln %s --help lists them", a[1], c->command->name), false;
        if (a[2] && o->kind == CLI_FLAG) return cli_bad(c, "usage", "-%c takes no value, found '%s'", a[1], a + 2), false;
        if (a[2]) value = a + 2;
        snprintf(shown, sizeof shown, "-%c", a[1]);
    }
    if (o->kind == CLI_FLAG) {
        if (value) return cli_bad(c, "usage", "%s takes no value", shown), false;
        return add(c, o, NULL, false, shown);
    }
    if (!value && !(o->flags & CLI_LATER)) {
        if (*i + 1 >= argc) return cli_bad(c, "usage", "%s needs a value: %s", shown, o->value), false;
        value = argv[++*i];
    }
    return add(c, o, value, false, shown);
}

static bool is_off(const char *text) { return !*text || strcmp(text, "0") == 0; }

/* KILN_<NAME> for every setting that the command line leaves open. */
static bool read_environment(cli *c)
{
    for (uint32_t i = 0; i < n_known(c); i++) {
        const cli_option *o = known(c, i);
        if (!(o->flags & CLI_SETTING) || cli_find(c, o->name)) continue;
        char name[64] = "KILN_";
        for (size_t k = 0; o->name[k] && k + 6 < sizeof name; k++) {
            char x = o->name[k];
            name[5 + k] = (char)(x == '-' ? '_' : x >= 'a' && x <= 'z' ? x - 'a' + 'A' : x);
            name[6 + k] = 0;
        }
        const char *text = getenv(name);
        if (!text || !*text || (o->kind == CLI_FLAG && is_off(text))) continue;
        if (!add(c, o, text, true, name)) return false;
    }
    return true;
}

bool cli_parse(cli *c, int argc, char **argv)
{
    bool options = true;
    c->operands = calloc((size_t)argc + 1, sizeof *c->operands);
    if (!c->operands) return cli_broken(c, "out of memory"), false;
    for (int i = 0; i < argc; i++) {
        if (!options || argv[i][0] != '-' || argv[i][1] == 0) c->operands[c->n_operands++] = argv[i];
        else if (strcmp(argv[i], "--") == 0) options = false;
        else if (!parse_option(c, argc, argv, &i)) return false;
    }
    if (cli_has(c, "help")) return true;
    if (!read_environment(c)) return false;
    if (c->n_operands < c->command->least)
        return cli_bad(c, "usage", "kiln %s needs %s", c->command->name, c->command->operands), false;
    if (c->command->most >= 0 && c->n_operands > c->command->most)
        return cli_bad(c, "usage", "kiln %s does not take '%s' (usage: kiln %s %s)", c->command->name, c->operands[c->command->most],
                       c->command->name, c->command->operands),
               false;
    return true;
}

const cli_value *cli_find(const cli *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_values; i++)
        if (strcmp(c->values[i].option->name, name) == 0) return &c->values[i];
    return NULL;
}

bool cli_has(const cli *c, const char *name) { return cli_find(c, name) != NULL; }

const char *cli_text(const cli *c, const char *name, const char *otherwise)
{
    const cli_value *v = cli_find(c, name);
    return v ? v->text : otherwise;
}

int64_t cli_int(const cli *c, const char *name, int64_t otherwise)
{
    const cli_value *v = cli_find(c, name);
    return v ? v->integer : otherwise;
}

double cli_number(const cli *c, const char *name, double otherwise)
{
    const cli_value *v = cli_find(c, name);
    return v ? v->number : otherwise;
}

const char *cli_each(const cli *c, const char *name, uint32_t *k)
{
    while (*k < c->n_values) {
        const cli_value *v = &c->values[(*k)++];
        if (strcmp(v->option->name, name) == 0) return v->text;
    }
    return NULL;
}
