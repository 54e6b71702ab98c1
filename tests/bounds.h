/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of mathematical functions that docs/numerics.md gives. */
#ifndef TEST_BOUNDS_H
#define TEST_BOUNDS_H

#include "testing.h"

/* In ULP, in the order of the page's columns. */
enum { FUSED_32, FUSED_64, PLAIN_32, PLAIN_64, BOUNDS };

/* Of the row | name | whose | bounds... |. */
static bool bounds_documented(const char *name, double bounds[BOUNDS])
{
    char line[4096], start[64];
    snprintf(start, sizeof start, "| %s |", name);
    FILE *f = fopen(KILN_SOURCE_DIR "/docs/numerics.md", "r");
    assert_non_null(f);
    bool found = false;
    while (!found && fgets(line, sizeof line, f)) {
        const char *row = line + strlen(start);
        found = strncmp(line, start, strlen(start)) == 0 &&
                sscanf(row, " %*[a-zA-Z0-9., ] | %lf | %lf | %lf | %lf |", &bounds[0], &bounds[1], &bounds[2], &bounds[3]) == BOUNDS;
    }
    fclose(f);
    if (!found) print_error("docs/numerics.md has no bounds of %s\n", name);
    return found;
}

#endif
