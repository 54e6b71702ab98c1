/* SPDX-License-Identifier: Apache-2.0 */
/* Dimension numbers and window of a convolution. */
#include "hlo/mread.h"

kiln_status kn_mread_conv_dims(kn_mreader *r, kn_mattr *out)
{
    kn_lexer *lx = &r->lx;
    kn_mattr *lists = KN_NEWN(r->arena, kn_mattr, 3);
    KILN_TRY_MEM(r->ctx, lists);
    *out = (kn_mattr){.kind = KN_MA_LIST, .n = 3, .at = lx->tok.at, .items = lists};
    KILN_TRY(kn_mread_list(r, &lists[0]));
    KILN_TRY(kn_lex_want_word(lx, "x"));
    KILN_TRY(kn_mread_list(r, &lists[1]));
    if (lx->tok.kind != KN_T_ARROW) return kn_lex_expected(lx, "'->'");
    kn_lex_next(lx);
    return kn_mread_list(r, &lists[2]);
}

kiln_status kn_mread_window(kn_mreader *r)
{
    static const char *const names[][2] = {{"stride", "window_strides"},
                                           {"pad", "padding"},
                                           {"lhs_dilate", "lhs_dilation"},
                                           {"rhs_dilate", "rhs_dilation"},
                                           {"reverse", "window_reversal"}};
    kn_lexer *lx = &r->lx;
    bool any = false;
    KILN_TRY(kn_lex_want(lx, '{'));
    while (!kn_lex_take(lx, '}')) {
        kn_mattr v;
        if (any) KILN_TRY(kn_lex_want(lx, ','));
        any = true;
        const char *name = NULL;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (kn_lex_word(lx, names[i][0])) name = names[i][1];
        if (!name) return kn_lex_expected(lx, "stride, pad, lhs_dilate, rhs_dilate or reverse");
        kn_lex_next(lx);
        KILN_TRY(kn_lex_want(lx, '='));
        KILN_TRY(kn_mread_list(r, &v));
        KILN_TRY(kn_mread_put(r, name, v));
    }
    return KILN_OK;
}

kiln_status kn_mattr_conv(kn_mmodule *m, const kn_mattr *dialect, kn_mattr *out)
{
    kn_mreader r = {.ctx = m->src.ctx, .arena = m->arena, .module = m};
    kn_lex_init(&r.lx, &m->src, dialect->text.s, dialect->text.s + dialect->text.n, 0);
    return kn_mread_conv_dims(&r, out);
}
