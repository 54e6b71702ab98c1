/* SPDX-License-Identifier: Apache-2.0 */
/** Element types, array types and arrays.
 *
 *      kiln_array *x;
 *      kiln_array_create(ctx, (kiln_type){KILN_F64, 1, (int64_t[]){3}}, &x);
 *      double *v = kiln_array_data(x);
 *
 *  Arrays are dense, row-major, and aligned to 64 bytes unless they wrap the caller's memory.
 */
#ifndef KILN_ARRAY_H
#define KILN_ARRAY_H

#include "kiln/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name, spelling in jaxprs, numpy's name, bits in memory, kind: b bool, i signed, u unsigned, f float, c complex, k key,
 * 8 floats of 4, 6 and 8 bits, which are stored and converted, not computed with; t token: no value, a byte of 0 */
#define KILN_DTYPE_LIST(X)                                                                         \
    X(BOOL, "bool", "bool", 8, 'b')                                                                \
    X(I2, "i2", "int2", 8, 'i')                                                                    \
    X(I4, "i4", "int4", 8, 'i')                                                                    \
    X(I8, "i8", "int8", 8, 'i')                                                                    \
    X(I16, "i16", "int16", 16, 'i')                                                                \
    X(I32, "i32", "int32", 32, 'i')                                                                \
    X(I64, "i64", "int64", 64, 'i')                                                                \
    X(U2, "u2", "uint2", 8, 'u')                                                                   \
    X(U4, "u4", "uint4", 8, 'u')                                                                   \
    X(U8, "u8", "uint8", 8, 'u')                                                                   \
    X(U16, "u16", "uint16", 16, 'u')                                                               \
    X(U32, "u32", "uint32", 32, 'u')                                                               \
    X(U64, "u64", "uint64", 64, 'u')                                                               \
    X(F4E2M1FN, "f4_e2m1fn", "float4_e2m1fn", 8, '8')                                              \
    X(F6E2M3FN, "f6_e2m3fn", "float6_e2m3fn", 8, '8')                                              \
    X(F6E3M2FN, "f6_e3m2fn", "float6_e3m2fn", 8, '8')                                              \
    X(F8E3M4, "f8_e3m4", "float8_e3m4", 8, '8')                                                    \
    X(F8E4M3, "f8_e4m3", "float8_e4m3", 8, '8')                                                    \
    X(F8E4M3B11FNUZ, "f8_e4m3b11fnuz", "float8_e4m3b11fnuz", 8, '8')                               \
    X(F8E4M3FN, "f8_e4m3fn", "float8_e4m3fn", 8, '8')                                              \
    X(F8E4M3FNUZ, "f8_e4m3fnuz", "float8_e4m3fnuz", 8, '8')                                        \
    X(F8E5M2, "f8_e5m2", "float8_e5m2", 8, '8')                                                    \
    X(F8E5M2FNUZ, "f8_e5m2fnuz", "float8_e5m2fnuz", 8, '8')                                        \
    X(F8E8M0FNU, "f8_e8m0fnu", "float8_e8m0fnu", 8, '8')                                           \
    X(F16, "f16", "float16", 16, 'f')                                                              \
    X(BF16, "bf16", "bfloat16", 16, 'f')                                                           \
    X(F32, "f32", "float32", 32, 'f')                                                              \
    X(F64, "f64", "float64", 64, 'f')                                                              \
    X(C64, "c64", "complex64", 64, 'c')                                                            \
    X(C128, "c128", "complex128", 128, 'c')                                                        \
    X(KEY, "key<fry>", "key<fry>", 64, 'k')                                                        \
    X(FLOAT0, "float0", "float0", 0, '0')                                                          \
    X(TOKEN, "Tok", "Tok", 8, 't')

typedef enum kiln_dtype {
#define KILN_DTYPE_ENUM(name, text, numpy, bits, kind) KILN_##name,
    KILN_DTYPE_LIST(KILN_DTYPE_ENUM)
#undef KILN_DTYPE_ENUM
        KILN_N_DTYPES
} kiln_dtype;

KILN_API const char *kiln_dtype_name(kiln_dtype d);   /**< "f32" */
KILN_API const char *kiln_dtype_numpy(kiln_dtype d);  /**< "float32" */
KILN_API size_t kiln_dtype_bytes(kiln_dtype d);       /**< of one element */
KILN_API char kiln_dtype_kind(kiln_dtype d);          /**< 'b' 'i' 'u' 'f' 'c' 'k' ... */
/** false when no dtype has this name (either spelling). */
KILN_API bool kiln_dtype_from_name(const char *name, size_t n, kiln_dtype *out);

/** An element type and a shape. `dims` is borrowed: whoever returns a type says how long it lives. */
typedef struct kiln_type {
    kiln_dtype dtype;
    uint32_t rank;
    const int64_t *dims;
} kiln_type;

/** Stands for a size that is given when a program runs: KILN_DIM_N in a shape prints as n, 2 * KILN_DIM_N + 1 as 2*n + 1. Inputs of
 *  programs have it as their leading dimension; arrays never do. */
#define KILN_DIM_N INT64_C(120247845941)

#define KILN_SCALAR(dt) ((kiln_type){.dtype = (dt)})
#define KILN_VECTOR(dt, n) ((kiln_type){(dt), 1, (const int64_t[]){(n)}})

KILN_API bool kiln_type_equal(kiln_type a, kiln_type b); /**< same element type and shape */
/** Number of elements; -1 when it does not fit in 63 bits. */
KILN_API int64_t kiln_type_size(kiln_type t);
/** "f32[2,3]"; as snprintf. */
KILN_API size_t kiln_type_format(kiln_type t, char *out, size_t out_bytes);

typedef struct kiln_array kiln_array;

/** A new array, contents zero.
 *  Errors: KILN_NOMEM; KILN_SHAPE a negative or overflowing size. Threads: the context's. Cost: linear in the size. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_array_create(kiln_ctx *ctx, kiln_type type, kiln_array **out);
/** Wraps memory of the caller, which must outlive the array; `release` (may be NULL) is called with it at the end.
 *  Errors: KILN_NOMEM; KILN_SHAPE. Threads: the context's. Cost: constant. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_array_wrap(kiln_ctx *ctx, kiln_type type, void *data,
                                                    void (*release)(void *ud, void *data), void *ud, kiln_array **out);
KILN_API kiln_array *kiln_array_retain(kiln_array *a); /**< atomic; returns a */
KILN_API void kiln_array_release(kiln_array *a);       /**< atomic; NULL is fine */
KILN_API kiln_type kiln_array_type(const kiln_array *a); /**< dims live as long as the array */
KILN_API void *kiln_array_data(kiln_array *a);
KILN_API const void *kiln_array_read(const kiln_array *a);
KILN_API size_t kiln_array_bytes(const kiln_array *a);

/** Reads a .npy file (versions 1 to 3; Fortran order and big endian are converted). bfloat16 is '|V2' there.
 *  Errors: KILN_NOTFOUND no such file; KILN_IO; KILN_CORRUPT it is damaged or no .npy; KILN_UNSUPPORTED objects, records, texts;
 *  KILN_VERSION; KILN_NOMEM. Threads: the context's. Cost: one pass over the file. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_array_load(kiln_ctx *ctx, const char *path, kiln_array **out);
/** Writes a .npy file: a temporary name, then rename, so that a reader never meets half a file.
 *  Errors: KILN_IO; KILN_UNSUPPORTED an element type that .npy does not have (keys). Threads: the context's.
 *  Cost: one pass over the array. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_array_save(kiln_ctx *ctx, const char *path, const kiln_array *a);

/** An array from text: a type, a colon, the elements in row-major order: "f32[2,2]:1,2,3,4". One element fills the array.
 *  Errors: KILN_INVALID with the column. Threads: the context's. Cost: linear. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_array_parse(kiln_ctx *ctx, const char *text, kiln_array **out);
/** Writes "f32[4]: 1.0 2.0 ... 4.0", at most `most` elements from both ends; as snprintf. */
KILN_API size_t kiln_array_format(const kiln_array *a, size_t most, char *out, size_t out_bytes);

/** An archive of named arrays (.npz), open for reading. */
typedef struct kiln_npz kiln_npz;

/** Opens an archive: reads the whole file and its directory; arrays are unpacked when asked for.
 *  Errors: as kiln_array_load. Threads: the context's. Cost: one pass over the file. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_npz_open(kiln_ctx *ctx, const char *path, kiln_npz **out);
KILN_API void kiln_npz_close(kiln_npz *z); /**< NULL is fine; arrays that were read stay valid */
KILN_API uint32_t kiln_npz_count(const kiln_npz *z);
KILN_API const char *kiln_npz_name(const kiln_npz *z, uint32_t i); /**< without ".npy"; lives as long as the archive */
/** Index of the array of this name, or -1. */
KILN_API int64_t kiln_npz_find(const kiln_npz *z, const char *name);
/** Unpacks array i.
 *  Errors: KILN_CORRUPT also for a wrong checksum; KILN_UNSUPPORTED; KILN_NOMEM. Threads: those of the context.
 *  Cost: linear in the array. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_npz_read(kiln_ctx *ctx, const kiln_npz *z, uint32_t i, kiln_array **out);
/** Writes an archive, uncompressed, as a whole or not at all. The same arrays give the same bytes.
 *  Errors: KILN_INVALID a name that is empty or twice; KILN_IO; KILN_UNSUPPORTED; KILN_NOMEM. Threads: the context's.
 *  Cost: two passes over the arrays. Since: 0.1 */
KILN_API KILN_NODISCARD kiln_status kiln_npz_save(kiln_ctx *ctx, const char *path, uint32_t n, const char *const *names,
                                                  kiln_array *const *arrays);

#ifdef __cplusplus
}
#endif
#endif
