/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds a fuzz target the inputs that are stored: main FILE|FOLDER..; each file as it is. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static unsigned n_inputs;

static void feed_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return;
    size_t n = 0, cap = 1 << 16;
    unsigned char *s = malloc(cap);
    while (s && (n += fread(s + n, 1, cap - n, f)) == cap) s = realloc(s, cap *= 2);
    fclose(f);
    unsigned char *exact = malloc(n ? n : 1); /* so that reading behind the end is seen */
    if (!s || !exact) abort();
    for (size_t i = 0; i < n; i++) exact[i] = s[i];
    free(s);
    fprintf(stderr, "%s\n", path); /* shown when the test fails: the last one is it */
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    n_inputs++;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        DIR *d = opendir(argv[i]);
        if (!d) feed_file(argv[i]);
        for (struct dirent *e; d && (e = readdir(d));) {
            char path[4096];
            if (e->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            feed_file(path);
        }
        if (d) closedir(d);
    }
    printf("%u inputs\n", n_inputs);
    return n_inputs == 0;
}
