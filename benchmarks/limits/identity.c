/* SPDX-License-Identifier: Apache-2.0 */
#include "limits.h"

int limit_identity(void *const *buffers, void *scratch, const void *table, void *call)
{
    (void)scratch, (void)table, (void)call;
    *(float *)buffers[1] = *(const float *)buffers[0];
    return 0;
}
