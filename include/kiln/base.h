/* SPDX-License-Identifier: Apache-2.0 */
/** Status codes, diagnostics and the context that every call of Kiln takes.
 *
 *      kiln_ctx *ctx;
 *      if (kiln_ctx_create(NULL, &ctx) != KILN_OK) return 1;
 *      ...
 *      kiln_ctx_release(ctx);
 *
 *  A context belongs to one thread at a time. Programs and executables made with it may be shared
 *  between threads and outlive it. The library never prints, exits, aborts or installs handlers, and
 *  reads the environment (KILN_*) only in kiln_ctx_create.
 */
#ifndef KILN_BASE_H
#define KILN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0
#define KILN_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define KILN_API __attribute__((visibility("default")))
#define KILN_NODISCARD __attribute__((warn_unused_result))
#else
#define KILN_API
#define KILN_NODISCARD
#endif

/* name, what it means */
#define KILN_STATUS_LIST(X)                                                                        \
    X(OK, "done")                                                                                  \
    X(NOMEM, "out of memory")                                                                      \
    X(INVALID, "an argument or an input is not legal")                                             \
    X(SHAPE, "shapes do not fit")                                                                  \
    X(DTYPE, "element types do not fit")                                                           \
    X(UNSUPPORTED, "legal, but not supported")                                                     \
    X(NOTFOUND, "a named thing does not exist")                                                    \
    X(IO, "a file could not be read or written")                                                   \
    X(CORRUPT, "stored data is damaged")                                                           \
    X(VERSION, "made for another version")                                                         \
    X(COMPILE, "code generation failed")                                                           \
    X(NUMERIC, "a computation did not converge or met a NaN")                                      \
    X(CANCELLED, "stopped on request")                                                             \
    X(INTERNAL, "a defect of Kiln")

typedef enum kiln_status {
#define KILN_STATUS_ENUM(name, text) KILN_##name,
    KILN_STATUS_LIST(KILN_STATUS_ENUM)
#undef KILN_STATUS_ENUM
} kiln_status;

/** "SHAPE" for KILN_SHAPE. Threads: any. */
KILN_API const char *kiln_status_name(kiln_status code);

#define KILN_DIAG_TEXT 512
#define KILN_DIAG_NOTES 8

/** One error or warning. Printed as `file:line:column: error: message [kind]`, the excerpt with a
 *  caret, and what would be accepted. Line and column count from 1; 0 is "not known". */
typedef struct kiln_diag {
    kiln_status code; /**< KILN_OK for a warning */
    char kind[32];    /**< short name out of the table of kinds, e.g. "unknown-node"; may be empty */
    char file[256];   /**< may be empty */
    int line, column;
    char message[KILN_DIAG_TEXT];
    char excerpt[256];  /**< the source line (of a long one, what stands around the place), or empty */
    int caret;          /**< the column within `excerpt`; 0: as `column` */
    char accepted[256]; /**< what would be accepted, or empty */
    int n_notes;
    char notes[KILN_DIAG_NOTES][160];
} kiln_diag;

typedef struct kiln_ctx kiln_ctx;

/** All memory comes from one function: new == 0 frees, p == NULL allocates; returns NULL on failure,
 *  with p untouched. `align` is a power of two. */
typedef void *(*kiln_alloc_fn)(void *ud, void *p, size_t old_bytes, size_t new_bytes, size_t align);

/** Opt-in speed (docs/numerics.md, 12). FLUSH: subnormal numbers are read and made as zeros, interpreted and compiled. */
#define KILN_FAST_FLUSH 1u

typedef struct kiln_ctx_opts {
    size_t size; /**< sizeof(kiln_ctx_opts); fields beyond it read as zero */
    kiln_alloc_fn alloc;
    void *alloc_ud;
    void (*warn)(void *ud, const kiln_diag *warning); /**< receives warnings; NULL drops them */
    void *warn_ud;
    const char *dump_dir; /**< writes every stage of every compile there; NULL: KILN_DUMP */
    const char *target;   /**< "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "native"; NULL: KILN_TARGET or native */
    int tier;             /**< 0, 2, or -1 for automatic (the default is automatic) */
    bool tier_set;        /**< `tier` counts only when set */
    unsigned threads;     /**< of one call, up to KILN_MOST_THREADS; 0: KILN_THREADS, or what processors and container allow */
    const char *fast;     /**< modes of all that the context compiles and interprets: "flush", or "none"; NULL: KILN_FAST or none */
} kiln_ctx_opts;
#define KILN_MOST_THREADS 256
#define KILN_CTX_OPTS_INIT {.size = sizeof(kiln_ctx_opts)}

/** Create a context.
 *
 *  @param opts  may be NULL
 *  Errors:   KILN_NOMEM; KILN_INVALID an unknown target, tier or mode, more threads than KILN_MOST_THREADS (no context is made then)
 *  Threads:  any            Cost: a few microseconds            Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_ctx_create(const kiln_ctx_opts *opts, kiln_ctx **out);

/** Release a context; NULL is fine. Programs, executables and arrays stay valid. The last context whose calls may be split
 *  joins the threads that helped. */
KILN_API void kiln_ctx_release(kiln_ctx *ctx);

/** Modes of a text such as "flush" or "none", as bits KILN_FAST_.
 *  Errors:   KILN_UNSUPPORTED a mode that docs/numerics.md names and this version does not have; KILN_NOTFOUND no such mode
 *  Threads:  any            Cost: constant            Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_fast_read(const char *text, unsigned *out);
/** "flush", or "none". Threads: any. */
KILN_API const char *kiln_fast_text(unsigned fast);
/** Modes of the context, as bits. Threads: the context's. */
KILN_API unsigned kiln_ctx_fast(const kiln_ctx *ctx);

/** The last error of this context; its code is KILN_OK when there was none. */
KILN_API const kiln_diag *kiln_ctx_error(const kiln_ctx *ctx);

/** Writes a diagnostic as one to three lines (as `snprintf`: returns the length needed). */
KILN_API size_t kiln_diag_format(const kiln_diag *d, char *out, size_t out_bytes);

/** "0.1.0" */
KILN_API const char *kiln_version(void);

#ifdef __cplusplus
}
#endif
#endif
