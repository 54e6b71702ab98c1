/* SPDX-License-Identifier: Apache-2.0 */
/* The folder. Beside the entries it holds
 *
 *   lock    an empty file of which processes lock single bytes: byte 0 while the folder is counted and swept, byte k while the entry
 *           whose hash says k is made. The system lets go of locks when their owner dies, and the file is never removed
 *   index   how many bytes there are, so that a store need not look at every file. It is a hint with a checksum: what is missing,
 *           damaged or old is counted anew
 *
 * An entry's time of change is that of its last use; those used least recently leave first. */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "cache/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define ENDING ".kiln"
enum { HASH_DIGITS = 32, RECOUNT = 100, OLD_TEMP_S = 3600 };

void kn_store_begin(kn_store *s, kiln_ctx *ctx, const char *dir, const char *key, size_t key_bytes)
{
    XXH128_hash_t h = XXH3_128bits(key, key_bytes);
    *s = (kn_store){.ctx = ctx, .dir = dir, .locks = -1, .lock_at = 1 + (h.low64 >> 2)};
    snprintf(s->path, sizeof s->path, "%s/%016llx%016llx" ENDING, dir, (unsigned long long)h.high64, (unsigned long long)h.low64);
}

bool kn_store_load(kn_store *s, kn_bytes *out)
{
    if (kn_file_read(s->ctx, s->path, out) != KILN_OK) return false;
    utimensat(AT_FDCWD, s->path, NULL, 0); /* in a folder that may not be written to, times stay */
    return true;
}

/* ---- locks ---- */

static bool try_lock(int fd, short type, uint64_t at)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &l) == 0;
}

/* False: not had within the time, or locks do not work here. */
static bool wait_lock(int fd, uint64_t at, double seconds)
{
    double left = seconds * 1e9;
    for (long pause = 100000; !try_lock(fd, F_WRLCK, at); pause = pause < 10000000 ? 2 * pause : pause) {
        if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || left <= 0) return false;
        nanosleep(&(struct timespec){0, pause}, NULL);
        left -= (double)pause;
    }
    return true;
}

static bool open_locks(kn_store *s)
{
    char path[KN_CACHE_PATH + 64];
    if (s->locks >= 0) return true;
    snprintf(path, sizeof path, "%s/lock", s->dir);
    s->locks = s->ctx->io->open(s->ctx->io->ud, path, O_RDWR | O_CREAT, 0666);
    if (s->locks < 0 && errno == ENOENT && kn_folder_make(s->ctx, s->dir) == KILN_OK)
        s->locks = s->ctx->io->open(s->ctx->io->ud, path, O_RDWR | O_CREAT, 0666);
    return s->locks >= 0;
}

void kn_store_lock(kn_store *s)
{
    const double patience = 60; /* seconds: whoever makes the entry may be stopped */
    if (open_locks(s)) s->locked = wait_lock(s->locks, s->lock_at, patience);
}

void kn_store_end(kn_store *s)
{
    if (s->locks < 0) return;
    if (s->locked) try_lock(s->locks, F_UNLCK, s->lock_at); /* closing is not enough once the process has forked */
    s->ctx->io->close(s->ctx->io->ud, s->locks);
    s->locks = -1;
}

/* ---- what is there ---- */

typedef struct item {
    char name[HASH_DIGITS + sizeof ENDING];
    uint64_t bytes;
    struct timespec used;
} item;

typedef struct listing {
    item *v;
    size_t n, cap;
    uint64_t bytes;
} listing;

static bool is_entry(const char *name)
{
    return strlen(name) == HASH_DIGITS + sizeof ENDING - 1 && strspn(name, "0123456789abcdef") == HASH_DIGITS &&
           strcmp(name + HASH_DIGITS, ENDING) == 0;
}

/* A file that a process left half written when it was killed. */
static bool is_old_temp(const char *name, const struct stat *st)
{
    size_t n = strlen(name);
    return n > HASH_DIGITS + 4 && strspn(name, "0123456789abcdef") == HASH_DIGITS && strcmp(name + n - 4, ".tmp") == 0 &&
           time(NULL) - st->st_mtime > OLD_TEMP_S;
}

static bool add(const kn_alloc *a, listing *l, const char *name, const struct stat *st)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 256;
        item *v = a->fn(a->ud, l->v, l->cap * sizeof *v, cap * sizeof *v, 16);
        if (!v) return false;
        l->v = v;
        l->cap = cap;
    }
    item *i = &l->v[l->n++];
    memcpy(i->name, name, sizeof i->name);
    i->bytes = (uint64_t)st->st_size;
    i->used = st->st_mtim;
    l->bytes += i->bytes;
    return true;
}

static bool list(kn_store *s, listing *l)
{
    DIR *d = opendir(s->dir);
    bool ok = d != NULL;
    for (struct dirent *e; ok && (e = readdir(d));) {
        struct stat st;
        if (strlen(e->d_name) <= HASH_DIGITS || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) continue;
        if (is_entry(e->d_name)) ok = add(&s->ctx->alloc, l, e->d_name, &st);
        else if (is_old_temp(e->d_name, &st)) unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d) closedir(d);
    return ok;
}

static int by_use(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Removes entries until a part of the limit is free again, so that the next stores need not; never the one just written. */
static void sweep(kn_store *s, listing *l)
{
    uint64_t most = s->ctx->cache.most_bytes, keep = most - most / 8;
    char path[KN_CACHE_PATH + 64];
    if (l->bytes <= most) return;
    qsort(l->v, l->n, sizeof *l->v, by_use);
    for (size_t i = 0; i < l->n && l->bytes > keep; i++) {
        snprintf(path, sizeof path, "%s/%s", s->dir, l->v[i].name);
        if (strcmp(path, s->path) == 0 || s->ctx->io->unlink(s->ctx->io->ud, path) != 0) continue;
        l->bytes -= l->v[i].bytes;
        s->ctx->cache.counts.evictions++;
    }
}

/* ---- the index ---- */

typedef struct index_data {
    uint64_t bytes, stores; /* since they were counted */
    uint64_t sum;
} index_data;

static uint64_t index_sum(const index_data *i) { return XXH3_64bits(i, offsetof(index_data, sum)); }

static void index_path(const kn_store *s, char *path, size_t size) { snprintf(path, size, "%s/index", s->dir); }

static bool index_read(kn_store *s, index_data *out)
{
    char path[KN_CACHE_PATH + 64];
    kn_bytes b;
    index_path(s, path, sizeof path);
    if (kn_file_read(s->ctx, path, &b) != KILN_OK) return false;
    bool ok = b.n == sizeof *out;
    if (ok) memcpy(out, b.s, sizeof *out);
    kn_bytes_free(s->ctx, &b);
    return ok && out->sum == index_sum(out);
}

/* In place: half an index is a damaged one, and that is only counted anew. */
static void index_write(kn_store *s, index_data i)
{
    char path[KN_CACHE_PATH + 64];
    const kn_io *io = s->ctx->io;
    index_path(s, path, sizeof path);
    i.sum = index_sum(&i);
    int fd = io->open(io->ud, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0) return;
    ssize_t n = io->write(io->ud, fd, &i, sizeof i);
    io->close(io->ud, fd);
    if (n != (ssize_t)sizeof i) io->unlink(io->ud, path);
}

/* `more` bytes were stored. Another process that counts at the moment has them, too, or the next one will. */
static void account(kn_store *s, uint64_t more)
{
    index_data i = {0};
    if (s->locks < 0 || !wait_lock(s->locks, 0, 0.1)) return;
    bool known = index_read(s, &i);
    i.bytes += more;
    if (!known || ++i.stores >= RECOUNT || i.bytes > s->ctx->cache.most_bytes) {
        listing l = {0};
        if (list(s, &l)) sweep(s, &l);
        i = (index_data){.bytes = l.bytes};
        kn_free(&s->ctx->alloc, l.v, l.cap * sizeof *l.v);
    }
    index_write(s, i);
    try_lock(s->locks, F_UNLCK, 0);
}

/* ---- changes ---- */

bool kn_store_save(kn_store *s, const void *p, size_t n)
{
    if (n > s->ctx->cache.most_bytes) return true; /* it would only push out all others */
    if (!open_locks(s) || kn_file_save(s->ctx, s->path, p, n) != KILN_OK) return false;
    s->ctx->cache.counts.stores++;
    s->ctx->cache.counts.bytes_written += n;
    account(s, n);
    return true;
}

void kn_store_remove(kn_store *s) { s->ctx->io->unlink(s->ctx->io->ud, s->path); }
