/* SPDX-License-Identifier: Apache-2.0 */
/* The processors of a run, and what a reader of its record needs to know besides the machine: the limits' compiler, the source. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "bench.h"
#include "meter/record.h"

#include <sched.h>
#include <sleef.h>
#include <stdlib.h>

int bench_pin(int n)
{
    cpu_set_t may, some;
    int last = -1, found = 0;
    if (sched_getaffinity(0, sizeof may, &may) != 0) return -1;
    CPU_ZERO(&some);
    for (int i = CPU_SETSIZE; i-- > 0 && found < n;) {
        if (!CPU_ISSET(i, &may)) continue;
        if (found++ == 0) last = i;
        CPU_SET(i, &some);
    }
    return found == n && sched_setaffinity(0, sizeof some, &some) == 0 ? last : -1;
}

static void put(json_t *o, const char *key, const char *value) { json_object_set_new(o, key, json_string(value)); }

json_t *bench_machine(int pinned, int threads)
{
    json_t *o = kn_machine_facts(threads), *by = json_object_get(o, "compilers");
    json_object_set_new(o, "pinned_to", json_integer(pinned));
    put(by, "limits_flags", BENCH_LIMIT_FLAGS);
    put(by, "llvm", BENCH_LLVM);
#define TEXT_OF(x) #x
#define VERSION(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)
    put(by, "sleef", VERSION(SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR, SLEEF_VERSION_PATCHLEVEL));
    const char *commit = getenv("KILN_BENCH_COMMIT"); /* benchmarks/run sets it */
    if (commit && *commit) put(o, "commit", commit);
    return o;
}
