/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int io_open(void *ud, const char *path, int flags, mode_t mode) { return (void)ud, open(path, flags | O_CLOEXEC, mode); }
static ssize_t io_read(void *ud, int fd, void *p, size_t n) { return (void)ud, read(fd, p, n); }
static ssize_t io_write(void *ud, int fd, const void *p, size_t n) { return (void)ud, write(fd, p, n); }
static int io_sync(void *ud, int fd) { return (void)ud, fsync(fd); }
static int io_close(void *ud, int fd) { return (void)ud, close(fd); }
static int io_rename(void *ud, const char *from, const char *to) { return (void)ud, rename(from, to); }
static int io_unlink(void *ud, const char *path) { return (void)ud, unlink(path); }
static int io_mkdir(void *ud, const char *path, mode_t mode) { return (void)ud, mkdir(path, mode); }

const kn_io kn_io_default = {io_open, io_read, io_write, io_sync, io_close, io_rename, io_unlink, io_mkdir, NULL};

static kiln_status failed(kiln_ctx *ctx, int error, const char *what, const char *path)
{
    char why[128];
    if (strerror_r(error, why, sizeof why) != 0) snprintf(why, sizeof why, "error %d", error);
    return kn_fail(ctx, error == ENOENT ? KILN_NOTFOUND : error == ENOMEM ? KILN_NOMEM : KILN_IO, "%s '%s': %s", what, path, why);
}

/* ---- reading ---- */

static bool reserve(kiln_ctx *ctx, kn_bytes *b, size_t cap)
{
    if (cap <= b->cap) return true;
    char *s = ctx->alloc.fn(ctx->alloc.ud, b->s, b->cap, cap, 16);
    if (!s) return false;
    b->s = s;
    b->cap = cap;
    return true;
}

kiln_status kn_file_read_room(kiln_ctx *ctx, size_t expect, kn_bytes *out)
{
    enum { FIRST = 1 << 14 };
    *out = (kn_bytes){0};
    /* one byte more than the size shows the end of a regular file without growing; one for the final 0 */
    if (!reserve(ctx, out, (expect ? expect : FIRST) + 2)) return kn_nomem(ctx);
    out->s[0] = 0;
    return KILN_OK;
}

kiln_status kn_file_read_more(kiln_ctx *ctx, int fd, const char *name, size_t most, kn_bytes *b, bool *more)
{
    size_t want = most < SIZE_MAX - b->n ? b->n + most : SIZE_MAX;
    *more = true;
    while (*more && b->n < want) {
        if (b->n + 1 == b->cap && (b->cap > SIZE_MAX / 2 || !reserve(ctx, b, b->cap * 2))) return kn_nomem(ctx);
        size_t room = b->cap - b->n - 1;
        ssize_t k = ctx->io->read(ctx->io->ud, fd, b->s + b->n, room < want - b->n ? room : want - b->n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return failed(ctx, errno, "cannot read", name);
        b->n += (size_t)k;
        *more = k > 0;
    }
    b->s[b->n] = 0;
    return KILN_OK;
}

kiln_status kn_file_read_fd(kiln_ctx *ctx, int fd, const char *name, kn_bytes *out)
{
    struct stat st;
    bool more;
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
    KILN_TRY(kn_file_read_room(ctx, regular ? (size_t)st.st_size : 0, out));
    kiln_status status = kn_file_read_more(ctx, fd, name, SIZE_MAX, out, &more);
    if (status != KILN_OK) kn_bytes_free(ctx, out);
    return status;
}

kiln_status kn_file_open(kiln_ctx *ctx, const char *path, int *fd)
{
    *fd = ctx->io->open(ctx->io->ud, path, O_RDONLY, 0);
    return *fd < 0 ? failed(ctx, errno, "cannot open", path) : KILN_OK;
}

kiln_status kn_file_read(kiln_ctx *ctx, const char *path, kn_bytes *out)
{
    int fd;
    *out = (kn_bytes){0};
    KILN_TRY(kn_file_open(ctx, path, &fd));
    kiln_status status = kn_file_read_fd(ctx, fd, path, out);
    ctx->io->close(ctx->io->ud, fd);
    return status;
}

void kn_bytes_free(kiln_ctx *ctx, kn_bytes *b)
{
    kn_free(&ctx->alloc, b->s, b->cap);
    *b = (kn_bytes){0};
}

/* ---- writing ---- */

static char *copy_text(kiln_ctx *ctx, const char *s, const char *tail)
{
    size_t n = strlen(s), m = strlen(tail);
    char *q = kn_new(&ctx->alloc, n + m + 1);
    if (!q) return NULL;
    memcpy(q, s, n);
    memcpy(q + n, tail, m);
    return q;
}

static void free_text(kiln_ctx *ctx, char *s)
{
    if (s) kn_free(&ctx->alloc, s, strlen(s) + 1);
}

static void destroy(kn_file *f)
{
    kiln_ctx *ctx = f->ctx;
    if (f->fd >= 0) ctx->io->close(ctx->io->ud, f->fd);
    if (f->temp) ctx->io->unlink(ctx->io->ud, f->temp);
    free_text(ctx, f->temp);
    free_text(ctx, f->path);
    kn_free(&ctx->alloc, f, sizeof *f);
}

/* Opens a new file beside the target; the name is its own even among threads and processes that write the same target. */
static kiln_status open_temp(kn_file *f, mode_t mode)
{
    enum { TRIES = 1000 };
    kiln_ctx *ctx = f->ctx;
    for (int k = 0; k < TRIES; k++) {
        char tail[48];
        snprintf(tail, sizeof tail, ".%ld-%d.tmp", (long)getpid(), k);
        f->temp = copy_text(ctx, f->path, tail);
        KILN_TRY_MEM(ctx, f->temp);
        f->fd = ctx->io->open(ctx->io->ud, f->temp, O_WRONLY | O_CREAT | O_EXCL, mode);
        if (f->fd >= 0) return KILN_OK;
        int error = errno;
        free_text(ctx, f->temp);
        f->temp = NULL;
        if (error != EEXIST) return failed(ctx, error, "cannot write", f->path);
    }
    return kn_fail(ctx, KILN_IO, "cannot write '%s': every temporary name beside it is taken", f->path);
}

static kiln_status open_target(kn_file *f, const char *path)
{
    kiln_ctx *ctx = f->ctx;
    struct stat st;
    char real[PATH_MAX];
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && realpath(path, real)) path = real; /* a link stays a link */
    KILN_TRY_MEM(ctx, f->path = copy_text(ctx, path, ""));
    bool there = stat(path, &st) == 0;
    if (there && S_ISDIR(st.st_mode)) return failed(ctx, EISDIR, "cannot write", path);
    if (there && !S_ISREG(st.st_mode)) {
        f->fd = ctx->io->open(ctx->io->ud, path, O_WRONLY, 0);
        return f->fd >= 0 ? KILN_OK : failed(ctx, errno, "cannot write", path);
    }
    KILN_TRY(open_temp(f, 0666));
    if (there) (void)!fchmod(f->fd, st.st_mode & 07777); /* a file that is replaced keeps its permissions, where allowed */
    return KILN_OK;
}

kiln_status kn_file_create(kiln_ctx *ctx, const char *path, kn_file **out)
{
    *out = NULL;
    kn_file *f = kn_new(&ctx->alloc, sizeof *f);
    KILN_TRY_MEM(ctx, f);
    f->ctx = ctx;
    f->fd = -1;
    kiln_status status = open_target(f, path);
    if (status != KILN_OK) {
        destroy(f);
        return status;
    }
    *out = f;
    return KILN_OK;
}

static kiln_status put(kn_file *f, const char *p, size_t n)
{
    kiln_ctx *ctx = f->ctx;
    while (n) {
        ssize_t k = ctx->io->write(ctx->io->ud, f->fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return failed(ctx, errno, "cannot write", f->path);
        if (k == 0) return failed(ctx, EIO, "cannot write", f->path);
        p += k;
        n -= (size_t)k;
    }
    return KILN_OK;
}

static kiln_status flush(kn_file *f)
{
    size_t n = f->n;
    f->n = 0;
    return put(f, f->buffer, n);
}

kiln_status kn_file_write(kn_file *f, const void *p, size_t n)
{
    f->at += n;
    if (n > sizeof f->buffer - f->n) KILN_TRY(flush(f));
    if (n >= sizeof f->buffer) return put(f, p, n);
    if (n) memcpy(f->buffer + f->n, p, n);
    f->n += n;
    return KILN_OK;
}

static kiln_status publish(kn_file *f)
{
    kiln_ctx *ctx = f->ctx;
    KILN_TRY(flush(f));
    if (f->temp && ctx->io->sync(ctx->io->ud, f->fd) != 0) return failed(ctx, errno, "cannot write", f->path);
    int fd = f->fd;
    f->fd = -1;
    if (ctx->io->close(ctx->io->ud, fd) != 0) return failed(ctx, errno, "cannot write", f->path);
    if (f->temp) {
        if (ctx->io->rename(ctx->io->ud, f->temp, f->path) != 0) return failed(ctx, errno, "cannot write", f->path);
        free_text(ctx, f->temp);
        f->temp = NULL;
    }
    return KILN_OK;
}

kiln_status kn_file_commit(kn_file *f)
{
    kiln_status status = publish(f);
    destroy(f);
    return status;
}

void kn_file_cancel(kn_file *f)
{
    if (f) destroy(f);
}

kiln_status kn_file_save(kiln_ctx *ctx, const char *path, const void *p, size_t n)
{
    kn_file *f;
    KILN_TRY(kn_file_create(ctx, path, &f));
    kiln_status status = kn_file_write(f, p, n);
    if (status == KILN_OK) return kn_file_commit(f);
    kn_file_cancel(f);
    return status;
}

kiln_status kn_folder_make(kiln_ctx *ctx, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return KILN_OK;
    char *part = copy_text(ctx, path, "");
    KILN_TRY_MEM(ctx, part);
    kiln_status status = KILN_OK;
    for (char *p = part + (part[0] == '/'); status == KILN_OK; p++) {
        if (*p != '/' && *p != 0) continue;
        char end = *p;
        *p = 0;
        if (*part && ctx->io->mkdir(ctx->io->ud, part, 0777) != 0 && (errno != EEXIST || stat(part, &st) != 0 || !S_ISDIR(st.st_mode)))
            status = failed(ctx, errno, "cannot make the folder", part);
        *p = end;
        if (!end) break;
    }
    free_text(ctx, part);
    return status;
}
