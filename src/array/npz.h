/* SPDX-License-Identifier: Apache-2.0 */
/* The marks of the zip format. */
#ifndef KN_ARRAY_NPZ_H
#define KN_ARRAY_NPZ_H

#include "array/npy.h"

enum {
    KN_ZIP_LOCAL = 0x04034b50,
    KN_ZIP_CENTRAL = 0x02014b50,
    KN_ZIP_END = 0x06054b50,
    KN_ZIP_END64 = 0x06064b50,
    KN_ZIP_LOCATOR64 = 0x07064b50,
    KN_ZIP_EXTRA64 = 0x0001
};

#endif
