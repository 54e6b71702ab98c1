/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/frame.h"

kiln_val kn_frame_param(const kn_node_frame *f, const char *name)
{
    int i = kn_node_type_param(f->node->type, name);
    return i < 0 ? (kiln_val){0} : f->params[i];
}

kiln_val kn_frame_state(const kn_node_frame *f, const char *name)
{
    int i = kn_node_field(f->node, name);
    return i < 0 ? (kiln_val){0} : f->state[i];
}

kiln_val kn_frame_in(const kn_node_frame *f, const char *name)
{
    int i = kn_node_input(f->node, name);
    return i < 0 ? (kiln_val){0} : f->in[i];
}

void kn_frame_out(kn_node_frame *f, const char *name, kiln_val v)
{
    int i = kn_node_field(f->node, name);
    if (i >= 0) f->out[i] = v;
}

kiln_val kn_frame_zero(const kn_node_frame *f) { return kiln_scalar(f->t, f->real, 0); }

kiln_val kn_frame_stack(const kn_node_frame *f, const kiln_val *v, uint32_t n)
{
    enum { MOST = 8 };
    static const int64_t one = 1;
    kiln_val parts[MOST];
    if (n > MOST) {
        kiln_trace_fail(f->t, KILN_INTERNAL, "more scalars than a small vector holds");
        return (kiln_val){0};
    }
    for (uint32_t i = 0; i < n; i++) parts[i] = kiln_reshape(f->t, v[i], 1, &one);
    return kiln_concatenate(f->t, parts, n, 0);
}

void kn_frame_items(const kn_node_frame *f, kiln_val vector, uint32_t n, kiln_val *out)
{
    for (uint32_t i = 0; i < n; i++) out[i] = kiln_item(f->t, vector, i);
}

void kn_node_fill(const kn_node *n, const char *param, double *out, size_t count)
{
    const kn_param *p = kn_node_param(n, param);
    const kn_param_desc *d = &n->type->params[kn_node_type_param(n->type, param)];
    bool single = d->kind == KN_PARAM_NUMBER || p->n == 0;
    for (size_t i = 0; i < count; i++) out[i] = single ? p->number : p->v[i];
}
