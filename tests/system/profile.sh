#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kiln profile from outside: what the demo shows, text and JSON, what is refused.
set -u
: "${KILN:?}" "${KILN_SOURCE:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
fail() { echo "$*"; failures=$((failures + 1)); }
graphs=$KILN_SOURCE/examples/graphs

for graph in pair rods; do
    "$KILN" profile "$graphs/$graph.yaml" > out 2> err || fail "profile of $graph: $(cat err)"
    [ "$(grep -c '^=== Graph Profile: ' out)" -eq 1 ] || fail "$graph: no report"
    [ -s err ] && fail "$graph: $(cat err)"
    for line in 'Nodes: 2' 'JIT compile:' 'Mean step:' 'Dispatch floor:' 'Throughput:' 'Per-node estimated cost:' 'Coupling groups: 1' \
        'per extra iteration' 'step retraces:           1' 'Time by scope' 'Bottleneck:'; do
        grep -q "$line" out || fail "$graph: no '$line'"
    done
done

"$KILN" profile "$graphs/pair.yaml" --steps 10 --scan-steps 4 --json - > out 2> err || fail "json: $(cat err)"
[ "$(head -c 1 out)" = '{' ] || fail "--json - prints JSON alone"
grep -q '"scan_steps": 4' out || fail "scan counts are missing"
"$KILN" profile "$graphs/pair.yaml" --steps 10 --no-measure-coupling --json p.json > out 2> err || fail "json: $(cat err)"
grep -q '"coupling_overhead_method": "estimated"' p.json || fail "not estimated"
grep -q '(estimated' out || fail "the text comes too"
grep -q '"scan_steps"' p.json && fail "scan counts without being asked"
LC_ALL=de_DE.UTF-8 "$KILN" profile "$graphs/pair.yaml" --steps 10 > out 2> err || fail "locale: $(cat err)"
grep -q 'Mean step: *[0-9]*\.[0-9]' out || fail "the decimal point depends on the locale"

for option in --html --trace --perfetto; do
    "$KILN" profile "$graphs/pair.yaml" "$option" x > out 2> err
    [ $? -eq 2 ] && grep -qF '[unsupported]' err || fail "$option is not refused"
done
for bad in '--steps 0' '--warmup 0' '--stat-steps 0' '--scan-steps 0'; do
    # shellcheck disable=SC2086 # two words
    "$KILN" profile "$graphs/pair.yaml" $bad > out 2> err
    [ $? -eq 2 ] || fail "$bad is not refused"
done
echo "$failures failures"
[ "$failures" -eq 0 ]
