/* SPDX-License-Identifier: Apache-2.0 */
/* Memory between pages that may not be touched: at the end of its pages (the next byte faults) or at their start (the byte before
 * faults), aligned to no more than one element. */
#ifndef KN_TESTS_GUARDED_H
#define KN_TESTS_GUARDED_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct guarded {
    char *base; /* mapped: a page without access, pages, a page without access */
    size_t mapped, bytes;
    char *data;
} guarded;

static size_t guarded_page(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* at_end: the last byte stands right before the guard; else the first right behind the other one. `align` rounds down. */
static guarded guarded_new(size_t bytes, bool at_end, size_t align)
{
    size_t page = guarded_page(), pages = (bytes + page - 1) / page;
    guarded g = {.mapped = (pages + 2) * page, .bytes = bytes};
    g.base = mmap(NULL, g.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(g.base != MAP_FAILED);
    if (pages) assert_int_equal(mprotect(g.base + page, pages * page, PROT_READ | PROT_WRITE), 0);
    g.data = g.base + page;
    if (at_end) g.data += (pages * page - bytes) & ~(align - 1);
    return g;
}
static void guarded_read_only(const guarded *g)
{
    if (g->bytes) mprotect(g->base + guarded_page(), g->mapped - 2 * guarded_page(), PROT_READ);
}
static void guarded_free(guarded *g) { munmap(g->base, g->mapped); }

#endif
