/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear steps, at most half full. */
#include "base/map.h"

static uint32_t place(const kn_map *m, uint64_t key)
{
    uint32_t mask = m->cap - 1, i = (uint32_t)kn_mix(key) & mask;
    while (m->values[i] && m->keys[i] != key) i = (i + 1) & mask;
    return i;
}

uint32_t kn_map_get(const kn_map *m, uint64_t key) { return m->cap ? m->values[place(m, key)] : 0; }

static bool grow(kn_arena *arena, kn_map *m)
{
    if (m->cap > UINT32_MAX / 4) return false;
    kn_map wide = {.cap = m->cap ? m->cap * 2 : 16, .n = m->n};
    wide.keys = KN_NEWN(arena, uint64_t, wide.cap);
    wide.values = KN_NEWN(arena, uint32_t, wide.cap);
    if (!wide.keys || !wide.values) return false;
    for (uint32_t i = 0; i < m->cap; i++) {
        if (!m->values[i]) continue;
        uint32_t at = place(&wide, m->keys[i]);
        wide.keys[at] = m->keys[i];
        wide.values[at] = m->values[i];
    }
    *m = wide;
    return true;
}

bool kn_map_put(kn_arena *arena, kn_map *m, uint64_t key, uint32_t value)
{
    if (m->n >= m->cap / 2 && !grow(arena, m)) return false;
    uint32_t at = place(m, key);
    if (!m->values[at]) m->n++;
    m->keys[at] = key;
    m->values[at] = value;
    return true;
}
