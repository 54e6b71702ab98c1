/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole-file reading, and writing that a reader never meets half done: a temporary name in the same folder, fsync,
 * rename. Every system call goes through a small table, so that tests can fail the n-th one. */
#ifndef KN_BASE_FILE_H
#define KN_BASE_FILE_H

#include "base/ctx.h"

#include <sys/types.h>

typedef struct kn_io {
    int (*open)(void *ud, const char *path, int flags, mode_t mode);
    ssize_t (*read)(void *ud, int fd, void *p, size_t n);
    ssize_t (*write)(void *ud, int fd, const void *p, size_t n);
    int (*sync)(void *ud, int fd);
    int (*close)(void *ud, int fd);
    int (*rename)(void *ud, const char *from, const char *to);
    int (*unlink)(void *ud, const char *path);
    int (*mkdir)(void *ud, const char *path, mode_t mode);
    void *ud;
} kn_io;

extern const kn_io kn_io_default;

/* A file in memory; s[n] is 0. Released with kn_bytes_free. */
typedef struct kn_bytes {
    char *s;
    size_t n, cap;
} kn_bytes;

/* Errors: KILN_NOTFOUND no such file; KILN_IO; KILN_NOMEM. */
kiln_status kn_file_read(kiln_ctx *ctx, const char *path, kn_bytes *out);
kiln_status kn_file_read_fd(kiln_ctx *ctx, int fd, const char *name, kn_bytes *out); /* to its end; does not close it */
void kn_bytes_free(kiln_ctx *ctx, kn_bytes *b);

/* The same in parts: room for a file of `expect` bytes (0: not known), then at most so many more of them; *more is false at the end. */
kiln_status kn_file_open(kiln_ctx *ctx, const char *path, int *fd); /* for reading; closed with ctx->io->close */
kiln_status kn_file_read_room(kiln_ctx *ctx, size_t expect, kn_bytes *out);
kiln_status kn_file_read_more(kiln_ctx *ctx, int fd, const char *name, size_t most, kn_bytes *b, bool *more);

/* A file being written. Nothing is seen under its name before kn_file_commit. A target that exists and is no regular file (a
 * pipe, a device) is written in place. */
typedef struct kn_file {
    kiln_ctx *ctx;
    char *path, *temp; /* temp is NULL when written in place */
    int fd;
    uint64_t at; /* bytes written so far */
    size_t n;
    char buffer[1 << 14];
} kn_file;

kiln_status kn_file_create(kiln_ctx *ctx, const char *path, kn_file **out);
kiln_status kn_file_write(kn_file *f, const void *p, size_t n); /* after an error only kn_file_cancel is allowed */
kiln_status kn_file_commit(kn_file *f);                         /* frees f, also on failure */
void kn_file_cancel(kn_file *f);                                /* removes what was written, frees f; NULL is fine */

kiln_status kn_file_save(kiln_ctx *ctx, const char *path, const void *p, size_t n); /* the three calls in one */

/* Makes a folder and those above it; one that exists is fine. */
kiln_status kn_folder_make(kiln_ctx *ctx, const char *path);

#endif
