/* SPDX-License-Identifier: Apache-2.0 */
/* What containers grant, read from files as systems have them: both versions of control groups, mixed ones, groups within groups,
 * containers with and without a name space of their own, and files that are missing or not what they should be. And what a process may
 * run on. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "base/quota.h"
#include "testing.h"

#include <errno.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/kiln-quota-XXXXXX";

static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *s = whole + strlen(root) + 1; (s = strchr(s, '/')); *s++ = '/') {
        *s = 0;
        assert_true(mkdir(whole, 0700) == 0 || errno == EEXIST);
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void forget(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/proc %s/sys", root, root);
    assert_int_equal(system(command), 0);
}

#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNT "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"

static void second_version(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", "21 1 8:1 / / rw - ext4 /dev/root rw\n" V2_MOUNT);
    put("/proc/self/cgroup", "0::/\n");
    assert_int_equal(kn_quota_processors(root), 0); /* no file: no limit */
    put("/sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_int_equal(kn_quota_processors(root), 0);
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    assert_int_equal(kn_quota_processors(root), 2);
    put("/sys/fs/cgroup/cpu.max", "399999 100000\n");
    assert_int_equal(kn_quota_processors(root), 3); /* never more than is granted */
    put("/sys/fs/cgroup/cpu.max", "10000 100000\n");
    assert_int_equal(kn_quota_processors(root), 1);
    forget();
}

/* The least limit of a group and of those above it. */
static void groups_within_groups(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", V2_MOUNT);
    put("/proc/self/cgroup", "0::/kubepods/pod1/box\n");
    put("/sys/fs/cgroup/kubepods/pod1/box/cpu.max", "800000 100000\n");
    assert_int_equal(kn_quota_processors(root), 8);
    put("/sys/fs/cgroup/kubepods/pod1/cpu.max", "250000 50000\n");
    assert_int_equal(kn_quota_processors(root), 5);
    put("/sys/fs/cgroup/kubepods/cpu.max", "max 100000\n");
    assert_int_equal(kn_quota_processors(root), 5);
    put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    assert_int_equal(kn_quota_processors(root), 3);
    forget();
}

static void first_version(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", V1_MOUNT);
    put("/proc/self/cgroup", "5:memory:/docker/ab\n4:cpu,cpuacct:/docker/ab\n3:cpuset:/\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_period_us", "100000\n");
    assert_int_equal(kn_quota_processors(root), 0);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "150000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_period_us", "50000\n");
    assert_int_equal(kn_quota_processors(root), 3);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "100000\n");
    assert_int_equal(kn_quota_processors(root), 3); /* a quota without its period is none */
    put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "50000\n");
    assert_int_equal(kn_quota_processors(root), 2);
    forget();
}

/* A container that sees the path of the machine, but only its own group mounted. */
static void mounted_below(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", "33 31 0:30 /docker/ab /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
    put("/proc/self/cgroup", "4:cpu:/docker/ab/inner\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "600000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(kn_quota_processors(root), 6);
    put("/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "400000\n");
    put("/sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n");
    assert_int_equal(kn_quota_processors(root), 4);
    put("/proc/self/cgroup", "4:cpu:/docker/abc\n"); /* not below the mount */
    assert_int_equal(kn_quota_processors(root), 6);
    forget();
}

/* Both at once: the controllers of the first version, an empty tree of the second. */
static void mixed(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", V1_MOUNT "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("/proc/self/cgroup", "4:cpu,cpuacct:/a\n0::/a\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "700000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    assert_int_equal(kn_quota_processors(root), 7);
    forget();
}

static void damaged(void **state)
{
    (void)state;
    static const char *const lines[] = {"", "\n", "nonsense", "0:", "0::", ":::", "4:cpu:/../..\n", "0::/x\n0::/\n"};
    static const char *const limits[] = {"", "max", "abc 100000\n", "100000\n", "100000 0\n", "-5 100000\n", "nan nan\n", "1e300 1e-300\n"};
    assert_int_equal(kn_quota_processors(root), 0);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
            put("/proc/self/mountinfo", "x - \n1 2 3 - cgroup2\n 4 5 6 / - cgroup2 c c\n" V2_MOUNT "trailing");
            put("/proc/self/cgroup", lines[i]);
            put("/sys/fs/cgroup/cpu.max", limits[k]);
            unsigned n = kn_quota_processors(root);
            assert_true(n == 0 || n == 65536);
        }
    forget();
}

static void this_machine(void **state)
{
    (void)state;
    unsigned n = kn_default_threads();
    assert_true(n >= 1 && n <= 65536);
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_true(n <= (unsigned)CPU_COUNT(&all));
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(kn_default_threads(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    return rmdir(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_version), cmocka_unit_test(groups_within_groups), cmocka_unit_test(first_version), cmocka_unit_test(mounted_below),
        cmocka_unit_test(mixed), cmocka_unit_test(damaged), cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
