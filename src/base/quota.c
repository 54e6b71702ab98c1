/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/self/cgroup says which groups the process is in, /proc/self/mountinfo where their files are. A group is limited by itself and
 * by every group above it. In a container the path of the first file may lie outside of what is mounted: then the mount's own root is
 * the group. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/quota.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 1024, LINE = 4096 };

typedef struct group {
    bool found;
    char path[PATH]; /* as /proc/self/cgroup has it */
} group;

static FILE *open_file(const char *root, const char *path)
{
    char whole[3 * PATH];
    int n = snprintf(whole, sizeof whole, "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof whole ? fopen(whole, "re") : NULL;
}

/* Is `word` in the list, whose words commas part? */
static bool lists(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; *p;) {
        size_t k = strcspn(p, ",");
        if (k == n && memcmp(p, word, n) == 0) return true;
        p += k + (p[k] == ',');
    }
    return false;
}

/* Lines "4:cpu,cpuacct:/path" and "0::/path". */
static void find_groups(const char *root, group *v1, group *v2)
{
    char line[LINE];
    FILE *f = open_file(root, "/proc/self/cgroup");
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        names++;
        group *g = strcmp(line, "0:") == 0 || !*names ? v2 : lists(names, "cpu") ? v1 : NULL;
        if (!g || strlen(path) >= PATH) continue;
        g->found = true;
        snprintf(g->path, PATH, "%s", path);
    }
    fclose(f);
}

/* The processors of one group, 0 where it has no limit. Fractions count. */
static double limit_of(const char *root, const char *folder, bool v2)
{
    char path[2 * PATH + 32], text[64];
    double quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/%s", folder, v2 ? "cpu.max" : "cpu.cfs_quota_us");
    FILE *f = open_file(root, path);
    if (!f) return 0;
    bool read = fgets(text, sizeof text, f) != NULL;
    fclose(f);
    if (!read) return 0;
    char *end;
    quota = strtod(text, &end);
    if (end == text) return 0; /* "max 100000" */
    if (v2) {
        period = strtod(end, NULL);
    } else {
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        f = open_file(root, path);
        if (f && fgets(text, sizeof text, f)) period = strtod(text, NULL);
        if (f) fclose(f);
    }
    return quota > 0 && period > 0 ? quota / period : 0;
}

/* The least limit of the group in `mount`/`below` and of those above it up to the mount. */
static double limit_up(const char *root, const char *mount, const char *below, bool v2)
{
    char folder[2 * PATH];
    double least = 0;
    int n = snprintf(folder, sizeof folder, "%s%s", mount, strcmp(below, "/") == 0 ? "" : below);
    if (n < 0 || (size_t)n >= sizeof folder) return 0;
    for (size_t top = strlen(mount);;) {
        double one = limit_of(root, folder, v2);
        if (one > 0 && (least == 0 || one < least)) least = one;
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= top || !slash || (size_t)(slash - folder) < top) return least;
        *slash = 0;
    }
}

/* What of `path` lies below the mount's root; "/" where it lies elsewhere. */
static const char *below_root(const char *path, const char *top)
{
    size_t n = strcmp(top, "/") == 0 ? 0 : strlen(top);
    if (strncmp(path, top, n) != 0 || (path[n] && path[n] != '/')) return "/";
    return path[n] ? path + n : "/";
}

/* "36 35 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu": root and mount are the fourth and fifth word, the kind of file system
 * and, last, its options stand behind the dash. */
static double limit_of_mount(const char *root, const char *line, const group *v1, const group *v2)
{
    char top[PATH], mount[PATH], kind[32], options[PATH];
    const char *dash = strstr(line, " - ");
    if (!dash || sscanf(line, "%*s %*s %*s %1023s %1023s", top, mount) != 2) return 0;
    if (sscanf(dash + 3, "%31s %*s %1023s", kind, options) != 2) return 0;
    if (strcmp(kind, "cgroup2") == 0 && v2->found) return limit_up(root, mount, below_root(v2->path, top), true);
    if (strcmp(kind, "cgroup") == 0 && v1->found && lists(options, "cpu")) return limit_up(root, mount, below_root(v1->path, top), false);
    return 0;
}

unsigned kn_quota_processors(const char *root)
{
    group v1 = {0}, v2 = {0};
    char line[LINE];
    double least = 0;
    find_groups(root, &v1, &v2);
    FILE *f = v1.found || v2.found ? open_file(root, "/proc/self/mountinfo") : NULL;
    if (!f) return 0;
    while (fgets(line, sizeof line, f)) {
        double one = limit_of_mount(root, line, &v1, &v2);
        if (one > 0 && (least == 0 || one < least)) least = one;
    }
    fclose(f);
    return least == 0 ? 0 : least < 1 ? 1 : least > 65536 ? 65536 : (unsigned)least;
}

/* Where there are more processors than a set holds, all of them count. */
static unsigned allowed_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (unsigned)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

unsigned kn_default_threads(void)
{
    unsigned allowed = allowed_processors(), quota = kn_quota_processors("");
    if (quota && quota < allowed) allowed = quota;
    return allowed ? allowed : 1;
}
