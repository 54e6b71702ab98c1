#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs of examples/c run and print what tests/data/examples says. Lines that begin with `time:` differ from run to run.
set -u
: "${KILN_SOURCE:?}" "${KILN_BUILD:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset KILN_DUMP KILN_TIER KILN_TARGET
failures=0
for source in "$KILN_SOURCE"/examples/c/*.c; do
    name=$(basename "$source" .c)
    set --
    [ "$name" = load_program ] && set -- "$KILN_SOURCE/examples/programs/oscillator.mlir"
    [ "$name" = graph ] && set -- "$KILN_SOURCE/examples/graphs/rods.yaml" "$work/out/"
    if ! "$KILN_BUILD/examples/$name" "$@" > "$work/out.txt" 2> "$work/err.txt"; then
        echo "$name failed:"
        cat "$work/err.txt"
        failures=$((failures + 1))
        continue
    fi
    sed '/^time:/d' "$work/out.txt" > "$work/stable.txt"
    diff -u "$KILN_SOURCE/tests/data/examples/$name.txt" "$work/stable.txt" || { echo "$name prints something else"; failures=$((failures + 1)); }
done
for file in time step hot.temperature cold.temperature; do
    [ -s "$work/out/$file.npy" ] || { echo "graph has not written $file.npy"; failures=$((failures + 1)); }
done
# what goes wrong is said, with its place
printf 'nodes:\n  a: {type: spring, timestep: 0}\n' > "$work/bad.yaml"
"$KILN_BUILD/examples/graph" "$work/bad.yaml" "$work/bad/" > /dev/null 2> "$work/err.txt" && { echo "a bad graph is accepted"; failures=$((failures + 1)); }
grep -q 'bad.yaml:2:.*\[bad-timestep\]' "$work/err.txt" || { cat "$work/err.txt"; failures=$((failures + 1)); }
printf 'ML\357R\r' > "$work/bytecode"
"$KILN_BUILD/examples/load_program" "$work/bytecode" > /dev/null 2> "$work/err.txt" && { echo "bytecode is accepted"; failures=$((failures + 1)); }
grep -q 'bytecode:1:1: error: this is MLIR bytecode' "$work/err.txt" || { cat "$work/err.txt"; failures=$((failures + 1)); }
[ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }
