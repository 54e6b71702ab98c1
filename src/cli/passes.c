/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "opt/opt.h"

static int print_one(cli *c, const char *name)
{
    for (const kn_pass *p = kn_pipeline; p->name; p++) {
        if (strcmp(p->name, name) != 0) continue;
        printf("%s: %s\n\nrules:\n", p->name, p->doc);
        for (uint32_t i = 0; i < kn_rule_count(); i++)
            if (strcmp(kn_rule_pass(i), name) == 0) printf("  %s\n", kn_rule_text(i));
        return CLI_DONE;
    }
    return cli_bad(c, "usage", "no pass '%s'; kiln passes lists them", name);
}

static int run(cli *c)
{
    if (c->n_operands == 1) return print_one(c, c->operands[0]);
    printf("In this order, again until nothing changes (at most %d rounds):\n", KN_OPT_ROUNDS);
    for (const kn_pass *p = kn_pipeline; p->name; p++) {
        uint32_t rules = 0;
        for (uint32_t i = 0; i < kn_rule_count(); i++) rules += strcmp(kn_rule_pass(i), p->name) == 0;
        printf("  %-10s %3u rules  %s\n", p->name, rules, p->doc);
    }
    return CLI_DONE;
}

const cli_command cli_passes = {
    .name = "passes",
    .operands = "[NAME]",
    .summary = "lists the optimisation passes in order, or one with its rules",
    .most = 1,
    .run = run,
};
