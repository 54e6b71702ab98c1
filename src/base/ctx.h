/* SPDX-License-Identifier: Apache-2.0 */
/* The context's inside, and the three forms of error handling: kn_fail creates, KILN_TRY passes on,
 * KILN_TRY_NOTE passes on with a note. */
#ifndef KN_BASE_CTX_H
#define KN_BASE_CTX_H

#include "base/memory.h"
#include "kiln/cache.h"

/* Counters of one context; each names something that a test or a gate reads as an integer. */
#define KN_COUNTER_LIST(X)                                                                         \
    X(traces)       /* programs traced */                                                          \
    X(compiles)     /* programs compiled to machine code */                                        \
    X(equations)    /* equations of the programs compiled, nested ones counted once */             \
    X(lowered_ops)  /* equations after lowering and optimisation */                                \
    X(time_loops)   /* loops of the programs themselves: scan and while, outermost ones */         \
    X(nests)        /* loop nests emitted */                                                       \
    X(splits)       /* loops that may be split over threads */                                     \
    X(epilogues)    /* products that are stored only as what is made of them */                    \
    X(copies)       /* array copies inside loops that an in-place update could not avoid */         \
    X(exit_copies)  /* array copies at the end of loops */                                         \
    X(calls_out)    /* call sites into the table */                                                \
    X(scalar_calls) /* call sites of scalar library functions */                                   \
    X(routine_calls) /* call sites of routines on whole arrays */                                  \
    X(code_bytes)                                                                                  \
    X(scratch_bytes)                                                                               \
    X(record_bytes) /* of scratch: what the ways back through while loops keep of states and tangents, at most */

typedef struct kn_counters {
#define KN_COUNTER_FIELD(name) uint64_t name;
    KN_COUNTER_LIST(KN_COUNTER_FIELD)
#undef KN_COUNTER_FIELD
} kn_counters;

/* Where compiled code is kept (src/cache). Longer paths are refused. */
enum { KN_CACHE_PATH = 1024 };
typedef struct kn_cache_place {
    bool off;                     /* whatever else is set */
    char enabled[KN_CACHE_PATH];  /* empty: none yet */
    char variable[KN_CACHE_PATH]; /* KILN_CACHE */
    char usual[KN_CACHE_PATH];    /* ~/.cache/kiln; empty: there is no home */
    uint64_t most_bytes;
    kiln_cache_counts counts;
} kn_cache_place;

struct kiln_ctx {
    kn_alloc alloc;
    kiln_diag error;
    void (*warn)(void *ud, const kiln_diag *warning);
    void *warn_ud;
    const struct kn_io *io; /* base/file.h: system calls on files; tests replace it */
    kn_counters counters;
    uint64_t trips;      /* of while loops without a known number, in calls of this context, interpreted ones too */
    uint64_t lane_steps; /* the same, a trip of several lanes at once counted as so many */
    char dump_dir[256]; /* empty: no dumps */
    unsigned n_dumps;   /* numbers the programs dumped by this context */
    char lib_dir[256];  /* KILN_LIBDIR: where modules are; empty: beside the program or library */
    char target[16];    /* base/cpu.h */
    int tier;           /* 0, 2, -1 automatic */
    unsigned threads;   /* of one call; 0: what the processors and the container allow */
    unsigned fast;      /* KILN_FAST_ */
    void (*leave_pool)(void); /* told once at the end; NULL: no call of this context may be split so far */
    kn_cache_place cache;
};

kiln_status kn_fail(kiln_ctx *ctx, kiln_status code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* An error with its place. `text` is the whole source (for the excerpt) or NULL. */
typedef struct kn_place {
    const char *file;
    int line, column; /* from 1; the column counts characters */
    const char *text;
    const char *line_text; /* where the line begins, when the caller knows it; NULL: found in `text` by counting */
} kn_place;
kiln_status kn_fail_at(kiln_ctx *ctx, kiln_status code, const char *kind, kn_place at, const char *accepted, const char *fmt,
                       ...) __attribute__((format(printf, 6, 7)));
void kn_warn_at(kiln_ctx *ctx, const char *kind, kn_place at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
kiln_status kn_nomem(kiln_ctx *ctx);
void kn_note(kiln_ctx *ctx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define KILN_TRY(expr)                                                                             \
    do {                                                                                           \
        kiln_status kn_try_ = (expr);                                                              \
        if (kn_try_ != KILN_OK) return kn_try_;                                                    \
    } while (0)
#define KILN_TRY_NOTE(ctx, expr, ...)                                                              \
    do {                                                                                           \
        kiln_status kn_try_ = (expr);                                                              \
        if (kn_try_ != KILN_OK) {                                                                  \
            kn_note((ctx), __VA_ARGS__);                                                           \
            return kn_try_;                                                                        \
        }                                                                                          \
    } while (0)
/* For allocation results: returns KILN_NOMEM from the function when p is NULL (or a push failed). */
#define KILN_TRY_MEM(ctx, p)                                                                       \
    do {                                                                                           \
        if (!(p)) return kn_nomem(ctx);                                                            \
    } while (0)

#endif
