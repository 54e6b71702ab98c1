/* SPDX-License-Identifier: Apache-2.0 */
/* From an offset in a scalar's text back to the file. The text of a scalar and its source hold the same characters in the
 * same order; they differ in white space (folding, indentation) and in escapes. So the source is walked along the
 * text's visible characters. */
#include "graph/yaml.h"

#include <yaml.h>

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static size_t character(const char *s)
{
    size_t n = 1;
    while (((unsigned char)s[n] & 0xc0) == 0x80) n++;
    return n;
}

kn_spot kn_source_spot(const kn_source_file *f, uint32_t index, size_t offset)
{
    uint32_t low = 0, high = f->n_lines; /* lines[low] <= offset < lines[high] */
    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        if (f->lines[mid] <= offset) low = mid;
        else high = mid;
    }
    uint32_t column = 1;
    for (size_t i = f->lines[low]; i < offset && i < f->n; i++) column += ((unsigned char)f->text[i] & 0xc0) != 0x80;
    return (kn_spot){index, low + 1, column};
}

static const char *source_of(const kn_source_file *f, uint32_t line, uint32_t column)
{
    if (line == 0 || line > f->n_lines) return f->text + f->n;
    const char *s = f->text + f->lines[line - 1];
    if (line == 1 && strncmp(s, "\xef\xbb\xbf", 3) == 0) s += 3;
    for (; column > 1 && *s; column--) s += character(s);
    return s;
}

/* Past an anchor and what may stand between it and its value. */
static const char *skip_anchor(const char *s)
{
    if (*s != '&') return s;
    while (*s && !is_blank(*s)) s++;
    for (;;) {
        while (is_blank(*s)) s++;
        if (*s != '#') return s;
        while (*s && *s != '\n' && *s != '\r') s++;
    }
}

/* Bytes of an escape in double quotes at s; `blank` when it stands for white space or nothing. */
static size_t escape(const char *s, bool *blank)
{
    *blank = s[1] && strchr("tnr \t\n\rvf", s[1]) != NULL;
    size_t hex = s[1] == 'x' ? 2 : s[1] == 'u' ? 4 : s[1] == 'U' ? 8 : 0, n = s[1] ? 2 : 1;
    unsigned long code = 0;
    while (hex-- && s[n] && strchr("0123456789abcdefABCDEF", s[n])) {
        code = code * 16 + (unsigned long)(s[n] <= '9' ? s[n] - '0' : (s[n] | 32) - 'a' + 10);
        n++;
    }
    if (n > 2) *blank = code == ' ' || (code >= '\t' && code <= '\r');
    return n;
}

static const char *skip_blank(const char *s, int style)
{
    for (;;) {
        bool blank;
        if (is_blank(*s)) s++;
        else if (style == YAML_DOUBLE_QUOTED_SCALAR_STYLE && *s == '\\' && (escape(s, &blank), blank))
            s += escape(s, &blank);
        else return s;
    }
}

static const char *skip_visible(const char *s, int style)
{
    bool blank;
    if (style == YAML_DOUBLE_QUOTED_SCALAR_STYLE && *s == '\\') return s + escape(s, &blank);
    if (style == YAML_SINGLE_QUOTED_SCALAR_STYLE && s[0] == '\'' && s[1] == '\'') return s + 2;
    return *s ? s + character(s) : s;
}

kn_spot kn_yaml_locate(const kn_graph_model *g, const kn_yaml *y, size_t offset)
{
    const kn_source_file *f = &g->files[y->at.file];
    const char *s = skip_anchor(source_of(f, y->text_line, y->text_column)), *text = y->text;
    if (kn_yaml_quoted(y)) s++;
    if (y->style == YAML_LITERAL_SCALAR_STYLE || y->style == YAML_FOLDED_SCALAR_STYLE)
        while (*s && *s != '\n' && *s != '\r') s++; /* the indicator's line */
    size_t trailing = 0;                            /* blanks before the offset that nothing visible follows yet */
    for (size_t i = 0; i < offset && text[i];) {
        if (is_blank(text[i])) {
            trailing++;
            i++;
            continue;
        }
        s = skip_visible(skip_blank(s, y->style), y->style);
        i += character(text + i);
        trailing = 0;
    }
    if (text[offset] && !is_blank(text[offset])) s = skip_blank(s, y->style);
    else
        while (trailing-- && is_blank(*s)) s++;
    return kn_source_spot(f, y->at.file, (size_t)(s - f->text));
}

bool kn_yaml_cut_by_comma(const kn_graph_model *g, const kn_yaml *y)
{
    if (kn_yaml_quoted(y)) return false;
    kn_spot end = kn_yaml_locate(g, y, y->n);
    return *skip_blank(source_of(&g->files[end.file], end.line, end.column), y->style) == ',';
}
