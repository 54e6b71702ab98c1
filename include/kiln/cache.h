/* SPDX-License-Identifier: Apache-2.0 */
/** The persistent compile cache: code of programs in a folder, for the next process that compiles them.
 *
 *      kiln_cache_enable(ctx, NULL);
 *      kiln_compile(ctx, program, NULL, &f);    // the second time, in whatever process: no code generation
 *
 *  Which folder: an explicit one wins over the variable KILN_CACHE; an enabled one is kept until another is named; without one
 *  kiln_cache_enable takes the variable's, else ~/.cache/kiln. A compile enables the variable's folder only while none is enabled yet.
 *  All of this is per context. The name "none" turns the cache off.
 *
 *  The key holds the optimised program, the options, the target and the compiler's version, so a stale entry is a miss, never wrong code.
 *  Whatever is wrong with a folder or an entry is a miss too, never an error of the program. docs/cache.md has the details.
 */
#ifndef KILN_CACHE_H
#define KILN_CACHE_H

#include "kiln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KILN_CACHE_MOST_BYTES ((uint64_t)1 << 30) /**< of a folder, unless kiln_cache_limit says otherwise */

typedef enum kiln_cache_use { KILN_CACHE_OFF, KILN_CACHE_MISS, KILN_CACHE_HIT } kiln_cache_use;

/** Since the context was made. */
typedef struct kiln_cache_counts {
    uint64_t hits, misses;
    uint64_t stores;    /**< entries written */
    uint64_t failures;  /**< entries that could not be written: full disk, folder that may not be written to */
    uint64_t refused;   /**< entries found damaged, or made for another version */
    uint64_t evictions; /**< entries removed to stay below the limit */
    uint64_t bytes_read, bytes_written;
} kiln_cache_counts;

/** Names the folder that later compiles of this context use. NULL keeps the one that is enabled, else takes KILN_CACHE, else
 *  ~/.cache/kiln; "none" turns the cache off. The folder is made when something is stored.
 *  Errors: KILN_INVALID the path is empty or longer than 1000 bytes; KILN_NOTFOUND there is no home folder to take.
 *  Threads: the context's. Cost: none. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_cache_enable(kiln_ctx *ctx, const char *dir);

/** The folder that is enabled; NULL: none, or off. Valid until the next change. */
KILN_API const char *kiln_cache_dir(const kiln_ctx *ctx);

/** Bytes that the folder may hold after a store; the entries used least recently go first. 0 is KILN_CACHE_MOST_BYTES. */
KILN_API void kiln_cache_limit(kiln_ctx *ctx, uint64_t bytes);

struct kiln_prog;
struct kiln_compile_opts;
/** Compiles programs ahead of a run, so that the folder (as kiln_cache_enable takes it) holds their code; for any target, also one
 *  that this processor does not run: a folder can be filled for other machines.
 *  Errors: those of kiln_cache_enable and kiln_compile. Threads: the context's. Cost: the compiles. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_cache_warm(kiln_ctx *ctx, const char *dir, const struct kiln_prog *const *progs, size_t n,
                                                    const struct kiln_compile_opts *opts);

/** What the context's compiles found and left. */
KILN_API void kiln_cache_counts_get(const kiln_ctx *ctx, kiln_cache_counts *out);

#ifdef __cplusplus
}
#endif
#endif
