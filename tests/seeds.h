/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of random tests: numbers out of the environment, and seeds of the commit's own, so that every commit meets other cases. */
#ifndef KN_TESTS_SEEDS_H
#define KN_TESTS_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *v = getenv(name);
    return v ? strtoull(v, NULL, 10) : otherwise;
}

/* The first seed of this commit; false where none is known (no git, or no repository). */
static bool commit_seed(uint64_t *seed)
{
    char line[64] = "";
    FILE *f = popen("git -C '" KILN_SOURCE_DIR "' rev-parse --verify -q HEAD 2>/dev/null", "r");
    if (f && !fgets(line, sizeof line, f)) line[0] = 0;
    if (f) pclose(f);
    line[12] = 0;
    *seed = strtoull(line, NULL, 16);
    return line[0] != 0;
}

#endif
