/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/names.h"

#include <xxhash.h>

static uint32_t hash_of(const char *name) { return (uint32_t)XXH3_64bits(name, strlen(name)); }

static kn_name_slot *slot_of(kn_name_slot *slots, uint32_t cap, const char *name, uint32_t hash)
{
    uint32_t i = hash & (cap - 1);
    while (slots[i].name && (slots[i].hash != hash || strcmp(slots[i].name, name) != 0)) i = (i + 1) & (cap - 1);
    return &slots[i];
}

int64_t kn_names_find(const kn_name_table *t, const char *name)
{
    if (!t->n) return -1;
    const kn_name_slot *s = slot_of(t->slots, t->cap, name, hash_of(name));
    return s->name ? (int64_t)s->id : -1;
}

static bool grow(kn_arena *a, kn_name_table *t)
{
    if (t->cap > UINT32_MAX / 2) return false;
    uint32_t cap = t->cap ? t->cap * 2 : 8;
    kn_name_slot *slots = KN_NEWN(a, kn_name_slot, cap);
    if (!slots) return false;
    for (uint32_t i = 0; i < t->cap; i++)
        if (t->slots[i].name) *slot_of(slots, cap, t->slots[i].name, t->slots[i].hash) = t->slots[i];
    t->slots = slots;
    t->cap = cap;
    return true;
}

bool kn_names_add(kn_arena *a, kn_name_table *t, const char *name, uint32_t id)
{
    if ((uint64_t)t->n * 2 >= t->cap && !grow(a, t)) return false;
    uint32_t hash = hash_of(name);
    *slot_of(t->slots, t->cap, name, hash) = (kn_name_slot){name, hash, id};
    t->n++;
    return true;
}
