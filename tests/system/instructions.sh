#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Instructions of a step, counted by callgrind: the same however long the run is, and linear in the cells. Valgrind knows no
# AVX-512, so the code is that of x86-64-v3.
set -u
: "${KILN_BUILD:?}"
program=$KILN_BUILD/tests/test-system-counts
command -v valgrind > /dev/null || { echo "skipped: valgrind is not installed"; exit 77; }
if grep -qa '__asan_init\|__tsan_init' "$program"; then
    echo "skipped: valgrind does not run programs with sanitizers"
    exit 77
fi
KILN_TARGET=x86-64-v3
export KILN_TARGET
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file="$work/out" "$program" instructions > "$work/log" 2>&1
code=$?
[ $code -ne 77 ] || { echo "skipped: built without valgrind/callgrind.h"; exit 77; }
[ $code -eq 0 ] || { cat "$work/log"; exit 1; }

# Instructions of the run called $1 ("totals" counts since the instrumentation began, "summary" since the last dump).
count() {
    for f in "$work"/out.*; do
        grep -q "^desc: Trigger: Client Request: $1\$" "$f" && sed -n 's/^totals: *\([0-9]*\).*/\1/p' "$f"
    done
}
set -- "$(count 64:200)" "$(count 64:1000)" "$(count 64:3000)"
for cells in 128 256 512; do set -- "$@" "$(count $cells:200)" "$(count $cells:600)"; done
echo "$@" | awk '
NF != 9 { print "counts are missing: " $0; exit 1 }
{
    early = ($2 - $1) / 800; late = ($3 - $2) / 2000; a = ($5 - $4) / 400; b = ($7 - $6) / 400; c = ($9 - $8) / 400
    printf "instructions a step: %.2f, later %.2f, of 64 cells; %.2f of 128, %.2f of 256, %.2f of 512\n", early, late, a, b, c
    if (early < 100) { print "that is no step"; exit 1 }
    if (late > early * 1.005 || late < early * 0.995) { print "a later step costs another number"; exit 1 }
    grown = (c - b) / (2 * (b - a))
    if (grown > 1.02 || grown < 0.98) { printf "not linear in the cells: 256 more cost %.3f times twice of 128 more\n", grown; exit 1 }
}'
