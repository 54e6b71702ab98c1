/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in a model. */
#include "graph/model.h"

#include "graph/names.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- shapes ---- */

bool kn_shape_equal(const kn_shape *a, const kn_shape *b)
{
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->dim[i] == b->dim[i];
    return same;
}

size_t kn_shape_count(const kn_shape *s)
{
    size_t n = 1;
    for (int i = 0; i < s->rank; i++)
        if (!kn_mul_size(n, (size_t)s->dim[i], &n)) return SIZE_MAX;
    return n;
}

bool kn_shape_broadcasts(const kn_shape *from, const kn_shape *to)
{
    if (from->rank > to->rank) return false;
    for (int i = 1; i <= from->rank; i++) {
        int64_t d = from->dim[from->rank - i];
        if (d != 1 && d != to->dim[to->rank - i]) return false;
    }
    return true;
}

const char *kn_shape_text(const kn_shape *s, char out[128])
{
    size_t n = (size_t)snprintf(out, 128, "(");
    for (int i = 0; i < s->rank; i++)
        n += (size_t)snprintf(out + n, 128 - n, "%s%lld", i ? ", " : "", (long long)s->dim[i]);
    snprintf(out + n, 128 - n, "%s)", s->rank == 1 ? "," : "");
    return out;
}

/* ---- nodes ---- */

const kn_param *kn_node_param(const kn_node *n, const char *name)
{
    int i = kn_node_type_param(n->type, name);
    return i < 0 ? NULL : &n->params[i];
}

double kn_node_number(const kn_node *n, const char *name) { return kn_node_param(n, name)->number; }
int64_t kn_node_int(const kn_node *n, const char *name) { return kn_node_param(n, name)->integer; }

const kn_node *kn_node_base(const kn_node *n)
{
    int i = kn_node_type_param(n->type, "base");
    return i >= 0 && n->type->params[i].kind == KN_PARAM_NODE && n->params[i].node ? n->params[i].node : n;
}

int kn_node_field(const kn_node *n, const char *name)
{
    const kn_node_type *t = kn_node_base(n)->type;
    for (int i = 0; i < t->n_state; i++)
        if (strcmp(t->state[i].name, name) == 0) return i;
    return -1;
}

int kn_node_flux(const kn_node *n, const char *name)
{
    const kn_node_type *t = kn_node_base(n)->type;
    for (int i = 0; i < t->n_fluxes; i++)
        if (strcmp(t->fluxes[i].name, name) == 0) return i;
    return -1;
}

int kn_node_input(const kn_node *n, const char *name)
{
    const kn_node *b = kn_node_base(n);
    if (b->type->inputs_from_checks) {
        const kn_param *p = kn_node_param(b, "checks");
        for (size_t i = 0; i < p->n; i++)
            if (strcmp(p->checks[i].field, name) == 0) return (int)i;
        return -1;
    }
    for (int i = 0; i < b->type->n_inputs; i++)
        if (strcmp(b->type->inputs[i].name, name) == 0) return i;
    return -1;
}

/* One extent, or all of `grid`, of a rule. */
static void add_extent(const kn_node *n, const char *word, size_t length, kn_shape *s)
{
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const kn_param *grid = kn_node_param(n, "grid_shape");
    if (strcmp(name, "grid") == 0) {
        for (size_t i = 0; i < grid->n && s->rank < KN_MAX_RANK; i++) s->dim[s->rank++] = grid->ints[i];
        return;
    }
    if (s->rank == KN_MAX_RANK) return;
    int64_t *d = &s->dim[s->rank++];
    if (strcmp(name, "D") == 0) *d = (int64_t)grid->n;
    else if (strcmp(name, "Q") == 0) *d = strcmp(kn_node_param(n, "lattice")->text, "D2Q9") == 0 ? 9 : 19;
    else if (strcmp(name, "checks") == 0) *d = kn_node_param(n, name)->n ? (int64_t)kn_node_param(n, name)->n : 1;
    else if (name[0] >= '0' && name[0] <= '9') *d = strtol(name, NULL, 10);
    else *d = kn_node_int(n, name);
}

kn_shape kn_node_shape(const kn_node *n, const char *rule)
{
    n = kn_node_base(n);
    kn_shape s = {0};
    while (*rule) {
        size_t length = strcspn(rule, ",");
        add_extent(n, rule, length, &s);
        rule += length + (rule[length] == ',');
    }
    return s;
}

kn_shape kn_node_cells(const kn_node *n)
{
    n = kn_node_base(n);
    return n->type->cell_shape ? kn_node_shape(n, n->type->cell_shape) : (kn_shape){0};
}

void kn_node_centres(const kn_node *n, size_t first, size_t count, double *out)
{
    n = kn_node_base(n);
    const kn_param *points = kn_node_param(n, "grid_points");
    double dx = kn_node_number(n, "length") / (double)kn_node_int(n, "n_cells");
    for (size_t i = 0; i < count; i++)
        out[i] = points->none ? ((double)(first + i) + 0.5) * dx : points->n ? points->v[first + i] : points->number;
}

/* ---- the graph ---- */

int64_t kn_graph_find(const kn_graph_model *g, const char *name) { return kn_names_find(g->names, name); }

kn_place kn_graph_place(const kn_graph_model *g, kn_spot at)
{
    const kn_source_file *f = &g->files[at.file];
    bool known = at.line > 0 && at.line <= f->n_lines && f->lines;
    return (kn_place){.file = f->name, .line = (int)at.line, .column = (int)at.column, .text = f->text,
                      .line_text = known ? f->text + f->lines[at.line - 1] : NULL};
}

/* Matches `a`, or `a.b` when b is there. */
static bool match(const char *pattern, const char *a, const char *b)
{
    size_t n_a = strlen(a), n = b ? n_a + 1 + strlen(b) : n_a, at = 0, retry = 0;
    const char *star = NULL;
    while (at < n) {
        char c = at < n_a ? a[at] : at == n_a ? '.' : b[at - n_a - 1];
        if (*pattern == '*') {
            star = ++pattern;
            retry = at;
        } else if (*pattern == '?' || *pattern == c) {
            pattern++;
            at++;
        } else if (star) {
            pattern = star;
            at = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

bool kn_match(const char *pattern, const char *text) { return match(pattern, text, NULL); }
bool kn_match_field(const char *pattern, const char *node, const char *field) { return match(pattern, node, field); }

bool kn_run_records(const kn_graph_model *g, const kn_node *n, const char *field)
{
    bool found = !g->run.fields;
    for (size_t i = 0; i < g->run.n_fields && !found; i++) found = match(g->run.fields[i], n->name, field);
    return found;
}
