/* SPDX-License-Identifier: Apache-2.0 */
/* What a node's update sees while it is traced: state, inputs and parameters as values of the trace. */
#ifndef KN_GRAPH_FRAME_H
#define KN_GRAPH_FRAME_H

#include "graph/model.h"
#include "kiln/trace.h"

typedef struct kn_node_frame {
    kiln_trace *t;
    const kn_node *node;
    kiln_dtype real;        /* the float type of the run */
    kiln_val dt;            /* s */
    const kiln_val *params; /* one a parameter of the type; 0: none, or not a number of the program */
    const kiln_val *state;  /* one a field: before the update; for a flux, after it */
    const kiln_val *in;     /* one an input (or a check), of the input's shape; 0: nothing drives it */
    kiln_val *out;          /* one a field */
} kn_node_frame;

/* By name; the name must be one of the type's. */
kiln_val kn_frame_param(const kn_node_frame *f, const char *name);
kiln_val kn_frame_state(const kn_node_frame *f, const char *name);
kiln_val kn_frame_in(const kn_node_frame *f, const char *name); /* id 0: nothing drives it */
void kn_frame_out(kn_node_frame *f, const char *name, kiln_val v);

kiln_val kn_frame_zero(const kn_node_frame *f);
/* n scalars as a vector, and back. */
kiln_val kn_frame_stack(const kn_node_frame *f, const kiln_val *v, uint32_t n);
void kn_frame_items(const kn_node_frame *f, kiln_val vector, uint32_t n, kiln_val *out);

/* For init rules: writes a parameter's numbers. */
void kn_node_fill(const kn_node *n, const char *param, double *out, size_t count);

#endif
