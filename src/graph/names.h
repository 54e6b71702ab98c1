/* SPDX-License-Identifier: Apache-2.0 */
/* Names -> numbers, open addressing in an arena. */
#ifndef KN_GRAPH_NAMES_H
#define KN_GRAPH_NAMES_H

#include "base/memory.h"

typedef struct kn_name_slot {
    const char *name; /* NULL: free; kept by reference */
    uint32_t hash, id;
} kn_name_slot;

typedef struct kn_name_table {
    kn_name_slot *slots;
    uint32_t cap, n; /* cap is a power of two */
} kn_name_table;

/* The id of the name, -1 when it is not there. */
int64_t kn_names_find(const kn_name_table *t, const char *name);
/* Adds a name that is not there; false when out of memory. */
bool kn_names_add(kn_arena *a, kn_name_table *t, const char *name, uint32_t id);

#endif
