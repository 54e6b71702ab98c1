/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/kinds.h"

#include <stddef.h>

const kn_text_kind kn_text_kinds[] = {
#define KN_TEXT_KIND(name, text, example) {name, text, example},
#include "ir/kinds.def"
#undef KN_TEXT_KIND
    {NULL, NULL, NULL},
};
