/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/cpu.h"
#include "base/quota.h"
#include "base/text.h"
#include "cli/cli.h"
#include "run/codegen.h"

#include <jansson.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>

int cli_version(void);

/* "LLVM 19.1.7", or why there is none. */
static void llvm_version(kiln_ctx *ctx, char *out, size_t size)
{
    const kn_codegen *g;
    bool there = ctx && kn_codegen_open(ctx, kn_cpu_target(), &g) == KILN_OK;
    snprintf(out, size, "%s", there ? g->version : ctx ? kiln_ctx_error(ctx)->message : "unknown");
}

int cli_version(void)
{
    char llvm[600];
    kiln_ctx *ctx = NULL;
    if (kiln_ctx_create(NULL, &ctx) != KILN_OK) ctx = NULL;
    llvm_version(ctx, llvm, sizeof llvm);
    kiln_ctx_release(ctx);
#if defined(__clang__)
    const char *compiler = "clang " __clang_version__;
#else
    const char *compiler = "gcc " __VERSION__;
#endif
    printf("kiln %s\n", kiln_version());
    printf("code generator: %s\n", llvm);
    printf("built with %s, %s\n", compiler, KILN_BUILD_FLAGS);
    return CLI_DONE;
}

static void processor_name(char *out, size_t size)
{
    snprintf(out, size, "unknown");
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "model name", 10) != 0) continue;
        const char *at = strchr(line, ':');
        if (at) snprintf(out, size, "%.*s", (int)strcspn(at + 2, "\n"), at + 2);
        break;
    }
    if (f) fclose(f);
}

static double clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Cost of reading the clock, and the spread of a fixed piece of work: median deviation from its median, in per cent. */
static void noise(double *read_ns, double *percent)
{
    enum { READS = 1000, RUNS = 101, WORK = 20000 };
    double t0 = clock_ns();
    for (int i = 0; i < READS; i++) (void)clock_ns();
    *read_ns = (clock_ns() - t0) / (double)READS;
    double times[RUNS];
    volatile double sink = 1;
    for (int r = 0; r < RUNS; r++) {
        double start = clock_ns(), x = sink;
        for (int i = 0; i < WORK; i++) x = x * 0.999 + 0.5;
        sink = x;
        times[r] = clock_ns() - start;
    }
    qsort(times, RUNS, sizeof *times, by_size);
    double median = times[RUNS / 2];
    for (int r = 0; r < RUNS; r++) times[r] = times[r] > median ? times[r] - median : median - times[r];
    qsort(times, RUNS, sizeof *times, by_size);
    *percent = 100 * times[RUNS / 2] / median;
}

/* One setting and where it comes from. */
static void setting(const cli *c, const cli_option *o, json_t *json, bool print)
{
    const cli_value *v = cli_find(c, o->name);
    const char *value = v ? (o->kind == CLI_FLAG ? "on" : v->text) : o->flags & CLI_LATER ? "not supported yet" : "default";
    const char *origin = !v ? "" : v->from_environment ? "environment" : "option";
    if (print) printf("  %-14s %s%s%s%s\n", o->name, value, *origin ? " (" : "", origin, *origin ? ")" : "");
    json_object_set_new(json, o->name, json_pack("{s:s, s:s}", "value", value, "from", origin));
}

static void features(json_t *list)
{
#if defined(__x86_64__)
#define FEATURE(name)                                                                              \
    if (__builtin_cpu_supports(name)) json_array_append_new(list, json_string(name));
    FEATURE("sse4.2") FEATURE("avx") FEATURE("avx2") FEATURE("fma") FEATURE("bmi2") FEATURE("avx512f") FEATURE("avx512bw")
    FEATURE("avx512cd") FEATURE("avx512dq") FEATURE("avx512vl")
#undef FEATURE
#else
    (void)list;
#endif
}

static json_t *collect(const cli *c)
{
    char processor[128], xxhash[32], llvm[600];
    llvm_version(c->ctx, llvm, sizeof llvm);
    unsigned x = XXH_versionNumber();
    processor_name(processor, sizeof processor);
    snprintf(xxhash, sizeof xxhash, "%u.%u.%u", x / 10000, x / 100 % 100, x % 100);
    json_t *list = json_array();
    features(list);
    cpu_set_t set;
    int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    double read_ns, percent;
    noise(&read_ns, &percent);
    return json_pack("{s:s, s:s, s:s, s:o, s:i, s:i, s:f, s:i, s:{s:s, s:s, s:s, s:s, s:s}, s:f, s:f}", "version", kiln_version(), "processor", processor,
                     "target", kn_cpu_target(), "features", list, "processors", (int)sysconf(_SC_NPROCESSORS_ONLN), "allowed", allowed,
                     "quota", (double)kn_quota_processors(""), "threads", (int)kiln_ctx_threads(c->ctx), "libraries", "llvm", llvm, "zlib", zlibVersion(), "jansson", jansson_version_str(), "yaml",
                     yaml_get_version_string(), "xxhash", xxhash, "clock_read_ns", read_ns, "noise_percent", percent);
}

static void print(json_t *d)
{
    printf("kiln %s\n\nProcessor\n", json_string_value(json_object_get(d, "version")));
    printf("  %-14s %s\n  %-14s %s\n  %-14s", "name", json_string_value(json_object_get(d, "processor")), "target",
           json_string_value(json_object_get(d, "target")), "features");
    size_t i;
    json_t *v;
    json_array_foreach(json_object_get(d, "features"), i, v) printf(" %s", json_string_value(v));
    double quota = json_real_value(json_object_get(d, "quota"));
    printf("\n  %-14s %d, %d allowed here", "processors", (int)json_integer_value(json_object_get(d, "processors")),
           (int)json_integer_value(json_object_get(d, "allowed")));
    if (quota > 0) printf(", a quota of %.0f", quota);
    printf("\n  %-14s %d", "threads", (int)json_integer_value(json_object_get(d, "threads")));
    printf("\n\nLibraries\n");
    const char *name;
    json_object_foreach(json_object_get(d, "libraries"), name, v) printf("  %-14s %s\n", name, json_string_value(v));
    printf("\nMeasuring\n  %-14s %.0f ns\n  %-14s %.2f %% (median deviation of a fixed piece of work)\n\nSettings\n", "clock read",
           json_real_value(json_object_get(d, "clock_read_ns")), "noise floor", json_real_value(json_object_get(d, "noise_percent")));
}

static int run(cli *c)
{
    json_t *d = collect(c), *settings = json_object();
    if (!d || !settings) {
        json_decref(d);
        json_decref(settings);
        return cli_broken(c, "out of memory");
    }
    const char *json = cli_text(c, "json", NULL);
    bool text = !(json && cli_is_stdout(json));
    if (text) print(d);
    for (uint32_t i = 0; i < cli_n_common; i++)
        if (cli_common[i].flags & CLI_SETTING) setting(c, &cli_common[i], settings, text);
    const char *folder = getenv("KILN_LIBDIR"); /* the library's own: where the code generator is looked for */
    if (text) printf("  %-14s %s\n", "libdir", folder && *folder ? folder : "beside the program or the library");
    json_object_set_new(settings, "libdir", json_pack("{s:s, s:s}", "value", folder ? folder : "", "from", folder && *folder ? "environment" : ""));
    const char *kept = kiln_cache_dir(c->ctx); /* what run and eval take */
    if (text) printf("  %-14s %s\n", "cache folder", kept ? kept : "none");
    json_object_set_new(settings, "cache_folder", json_pack("{s:s, s:s}", "value", kept ? kept : "none", "from", ""));
    json_object_set_new(d, "settings", settings);
    int code = json ? cli_write_json(c, json, d) : CLI_DONE;
    json_decref(d);
    return code;
}

static const cli_option options[] = {
    {"json", 0, CLI_TEXT, "FILE", "writes the same as JSON", 0, 0},
};

const cli_command cli_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "shows the processor, libraries, settings and how well this machine measures",
    CLI_OPTIONS(options),
    .cache = CLI_CACHE_ALWAYS,
    .run = run,
};
