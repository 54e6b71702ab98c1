/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline as a table, and the manager that runs it to a fixpoint. */
#include "opt/rules.h"
#include "base/fpmode.h"

#include <stdio.h>

const kn_pass kn_pipeline[] = {
    {"simplify", "algebra that keeps bits, constants folded, moves composed, loops and branches trimmed", kn_pass_simplify},
    {"cse", "equal equations merged", kn_pass_cse},
    {"alike", "while loops that another one contains, trip for trip, left out", kn_pass_alike},
    {"licm", "what no trip of a loop changes, moved before the loop", kn_pass_licm},
    {"updates", "sums with an update of zeros become updates; updates move behind the other readers of their operand", kn_pass_updates},
    {"dce", "what no output needs, removed; carries of loops and results of branches too", kn_pass_dce},
    {NULL, NULL, NULL},
};

extern const kn_rule kn_cse_rules[], kn_alike_rules[], kn_licm_rules[], kn_updates_rules[], kn_dce_rules[];
const kn_rule_group kn_rule_groups[] = {
    {"simplify", kn_arithmetic_rules}, {"simplify", kn_nested_rules}, {"simplify", kn_element_rules}, {"simplify", kn_move_rules},
    {"simplify", kn_control_rules},    {"cse", kn_cse_rules},         {"alike", kn_alike_rules},      {"licm", kn_licm_rules},
    {"updates", kn_updates_rules},     {"dce", kn_dce_rules},         {NULL, NULL},
};

uint32_t kn_pass_bit(const char *name)
{
    for (uint32_t i = 0; kn_pipeline[i].name; i++)
        if (strcmp(kn_pipeline[i].name, name) == 0) return 1u << i;
    return 0;
}

/* ---- rules by number ---- */

static const kn_rule *rule_at(uint32_t k, const char **pass)
{
    for (uint32_t g = 0; kn_rule_groups[g].pass; g++)
        for (uint32_t i = 0; kn_rule_groups[g].rows[i].text; i++)
            if (k-- == 0) {
                *pass = kn_rule_groups[g].pass;
                return &kn_rule_groups[g].rows[i];
            }
    *pass = NULL;
    return NULL;
}

uint32_t kn_rule_count(void)
{
    uint32_t n = 0;
    for (uint32_t g = 0; kn_rule_groups[g].pass; g++)
        for (uint32_t i = 0; kn_rule_groups[g].rows[i].text; i++) n++;
    return n;
}

const char *kn_rule_text(uint32_t rule)
{
    const char *pass;
    const kn_rule *r = rule_at(rule, &pass);
    return r ? r->text : NULL;
}

const char *kn_rule_pass(uint32_t rule)
{
    const char *pass;
    rule_at(rule, &pass);
    return pass;
}

void kn_count_at(kn_pm *pm, const kn_rule *row, uint32_t n, const kn_prim *prim, kn_loc loc)
{
    uint32_t k = 0;
    pm->changes += n;
    for (uint32_t g = 0; n && (pm->fired || pm->tell) && kn_rule_groups[g].pass; g++)
        for (uint32_t i = 0; kn_rule_groups[g].rows[i].text; i++, k++) {
            if (&kn_rule_groups[g].rows[i] != row) continue;
            if (pm->fired) pm->fired[k] += n;
            if (pm->tell) pm->tell(pm->tell_ud, k, n, prim, loc);
        }
}

void kn_count(kn_pm *pm, const kn_rule *row, uint32_t n) { kn_count_at(pm, row, n, NULL, (kn_loc){0}); }

/* ---- the manager ---- */

static void has_constants(void *ud, const kn_jaxpr *body)
{
    bool *found = ud;
    *found = *found || body->nconsts > 0;
    for (uint32_t k = 0; k < body->neqns && !*found; k++) kn_eqn_bodies(&body->eqns[k], has_constants, ud);
}

static kiln_status check(kiln_ctx *ctx, const kn_prog *p, const kn_opt_options *o)
{
    bool found = false;
    if (o->after && !kn_pass_bit(o->after)) {
        char names[128] = "";
        for (uint32_t i = 0; kn_pipeline[i].name; i++) {
            size_t n = strlen(names);
            snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", kn_pipeline[i].name);
        }
        return kn_fail(ctx, KILN_NOTFOUND, "there is no pass '%s'; accepted: %s", o->after, names);
    }
    for (uint32_t k = 0; k < p->main->neqns && !found; k++) kn_eqn_bodies(&p->main->eqns[k], has_constants, &found);
    if (p->level != KN_LOWERED || found) return kn_fail(ctx, KILN_INVALID, "only a lowered program can be optimised");
    return KILN_OK;
}

static kiln_status run_pass(kn_pm *pm, const kn_pass *pass, uint32_t round, const kn_opt_options *o)
{
    const kn_jaxpr *next;
    pm->changes = 0;
    kn_arena_init(&pm->scratch, &pm->ctx->alloc);
    kiln_status status = pass->run(pm, pm->prog->main, &next);
    kn_arena_fini(&pm->scratch);
    if (status == KILN_OK) pm->prog->main = next;
#ifdef KN_DEBUG
    if (status == KILN_OK) status = kn_verify(pm->ctx, pm->prog);
#endif
    if (status == KILN_OK && pm->changes && o->hook) status = o->hook(o->hook_ud, pass->name, round, pm->prog);
    if (status != KILN_OK) kn_note(pm->ctx, "in pass %s, round %u", pass->name, round);
    return status;
}

static kiln_status run_rounds(kn_pm *pm, const kn_opt_options *o, uint32_t *rounds)
{
    uint32_t most = o->max_rounds ? o->max_rounds : KN_OPT_ROUNDS;
    bool changed = true;
    for (*rounds = 0; changed && *rounds < most;) {
        changed = false;
        ++*rounds;
        for (uint32_t i = 0; kn_pipeline[i].name; i++) {
            if (!(o->skip >> i & 1)) KILN_TRY(run_pass(pm, &kn_pipeline[i], *rounds, o));
            changed = changed || (!(o->skip >> i & 1) && pm->changes);
            if (o->after && strcmp(o->after, kn_pipeline[i].name) == 0) return KILN_OK;
        }
    }
    return KILN_OK;
}

static kiln_status copy_prog(kiln_ctx *ctx, const kn_prog *from, kn_prog **out)
{
    KILN_TRY(kn_prog_new(ctx, from, out));
    kiln_status status = kn_jaxpr_copy(ctx, *out, from->main, &(*out)->main);
    if (status == KILN_OK) return KILN_OK;
    kiln_prog_release(*out);
    *out = NULL;
    return status;
}

kiln_status kn_optimise(kiln_ctx *ctx, const kn_prog *lowered, const kn_opt_options *o, kn_prog **out)
{
    static const kn_opt_options nothing;
    if (!o) o = &nothing;
    *out = NULL;
    KILN_TRY(check(ctx, lowered, o));
    kn_opt_stats stats = {0};
    kn_pm pm = {.ctx = ctx, .flush = o->flush, .fired = o->stats ? o->stats->fired : NULL, .tell = o->fired, .tell_ud = o->fired_ud};
    KILN_TRY(kn_prog_new(ctx, lowered, &pm.prog));
    pm.prog->main = lowered->main; /* shared: passes never write to what they were given */
    kn_arena_init(&pm.lasting, &ctx->alloc);
    stats.equations_before = kn_jaxpr_count(pm.prog->main);
    kn_fpmode mode = kn_fpmode_enter_as(o->flush); /* constants are folded in the mode that programs run in */
    kiln_status status = run_rounds(&pm, o, &stats.rounds);
    kn_fpmode_leave(mode);
    stats.equations_after = kn_jaxpr_count(pm.prog->main);
    if (status == KILN_OK) status = copy_prog(ctx, pm.prog, out); /* numbered in order, without the memory of the rounds */
    kn_arena_fini(&pm.lasting);
    kiln_prog_release(pm.prog);
    if (status == KILN_OK && o->stats) {
        stats.fired = o->stats->fired;
        *o->stats = stats;
    }
    return status;
}
