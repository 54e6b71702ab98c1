/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader of a record needs to know of the machine, the compilers and the source. What cannot be read is left out. */
#include "meter/record.h"

#include "base/clock.h"
#include "kiln/kiln.h"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* First line of a file; false when there is none. */
static bool first_line(const char *path, char *out, size_t bytes)
{
    FILE *f = fopen(path, "r");
    bool ok = f && fgets(out, (int)bytes, f);
    if (f) fclose(f);
    if (ok) out[strcspn(out, "\n")] = 0;
    return ok;
}

static void put(json_t *o, const char *key, const char *value) { json_object_set_new(o, key, json_string(value)); }

static void put_file(json_t *o, const char *key, const char *path)
{
    char line[256];
    if (first_line(path, line, sizeof line)) put(o, key, line);
}

static void processor(json_t *o)
{
    static const struct {
        const char *in, *out;
    } keys[] = {{"vendor_id", "vendor"},     {"cpu family", "family"}, {"model\t", "model"},
                {"model name", "name"},      {"stepping", "stepping"}, {"microcode", "microcode"},
                {"cpu MHz", "mhz_at_start"}, {"flags", "flags"}};
    FILE *f = fopen("/proc/cpuinfo", "r");
    char *line = NULL;
    size_t cap = 0;
    while (f && getline(&line, &cap, f) > 1) { /* an empty line ends the first processor */
        char *colon = strchr(line, ':');
        for (size_t i = 0; colon && i < sizeof keys / sizeof *keys; i++) {
            if (strncmp(line, keys[i].in, strlen(keys[i].in)) != 0) continue;
            if (strcmp(keys[i].in, "model name") != 0 && strncmp(line, "model name", 10) == 0) continue;
            char *value = colon + 1 + strspn(colon + 1, " \t");
            value[strcspn(value, "\n")] = 0;
            put(o, keys[i].out, value);
        }
    }
    free(line);
    if (f) fclose(f);
    put_file(o, "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    put_file(o, "no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo");
    put_file(o, "smt", "/sys/devices/system/cpu/smt/active");
    json_object_set_new(o, "cores_online", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
}

static json_t *caches(void)
{
    json_t *list = json_array();
    for (int i = 0; i < 8; i++) {
        static const char *const names[] = {"level", "type", "size", "coherency_line_size"};
        json_t *one = json_object();
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            char path[128];
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, names[k]);
            put_file(one, names[k], path);
        }
        if (json_object_size(one) == 0) {
            json_decref(one);
            break;
        }
        json_array_append_new(list, one);
    }
    return list;
}

/* The cheapest of many readings of the clock, s. */
static double clock_cost(void)
{
    const int RUNS = 20, READS = 1000;
    double best = 1;
    for (int r = 0; r < RUNS; r++) {
        double start = 1e-9 * (double)kn_clock_ns(), last = start;
        for (int i = 0; i < READS; i++) last = 1e-9 * (double)kn_clock_ns();
        if ((last - start) / READS < best) best = (last - start) / READS;
    }
    return best;
}

static void compilers(json_t *o)
{
#if defined(__clang__)
    put(o, "runner", "clang " __clang_version__);
#else
    put(o, "runner", "gcc " __VERSION__);
#endif
    put(o, "libc", gnu_get_libc_version());
}

json_t *kn_machine_facts(int threads)
{
    json_t *o = json_object(), *cpu = json_object(), *by = json_object();
    struct utsname u;
    char text[256];
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)) put(o, "time", text);
    processor(cpu);
    json_object_set_new(o, "processor", cpu);
    json_object_set_new(o, "caches", caches());
    put_file(o, "memory", "/proc/meminfo");
    put_file(o, "load_at_start", "/proc/loadavg");
    if (uname(&u) == 0) {
        snprintf(text, sizeof text, "%s %s %s", u.sysname, u.release, u.machine);
        put(o, "kernel", text);
    }
    json_object_set_new(o, "threads", json_integer(threads));
    json_object_set_new(o, "clock_cost_s", json_real(clock_cost()));
    compilers(by);
    json_object_set_new(o, "compilers", by);
    put(o, "kiln", kiln_version());
    return o;
}
