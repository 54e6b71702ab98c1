#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header stands alone, twice, in C11, C17 and C++17; the shared library exports what the headers declare and no more.
set -u
: "${KILN_SOURCE:?}" "${KILN_BUILD:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
cc=${CC:-cc}
cxx=
for c in c++ g++ clang++-19; do command -v $c > /dev/null && { cxx=$c; break; }; done
[ -n "$cxx" ] || echo "no C++ compiler: the headers are not tried in C++17"

for header in "$KILN_SOURCE"/include/kiln/*.h; do
    name=kiln/$(basename "$header")
    printf '#include "%s"\n#include "%s"\nint test_%s(void);\n' "$name" "$name" x > "$work/t.c"
    cp "$work/t.c" "$work/t.cc"
    for std in c11 c17; do
        "$cc" -std=$std -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$KILN_SOURCE/include" "$work/t.c" || { echo "$name in $std"; failures=$((failures + 1)); }
    done
    [ -z "$cxx" ] || "$cxx" -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I "$KILN_SOURCE/include" "$work/t.cc" || { echo "$name in C++17"; failures=$((failures + 1)); }
done

grep -ho 'KILN_API[^;{]*(' "$KILN_SOURCE"/include/kiln/*.h | grep -o 'kiln_[a-z0-9_]*(' | tr -d '(' | LC_ALL=C sort -u > "$work/declared"
if [ -f "$KILN_BUILD/libkiln.so" ]; then
    nm -D --defined-only "$KILN_BUILD/libkiln.so" | awk '$2 == "T" || $2 == "D" || $2 == "B" || $2 == "R" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort -u > "$work/exported"
    if ! LC_ALL=C comm -3 "$work/declared" "$work/exported" > "$work/diff" || [ -s "$work/diff" ]; then
        echo "declared but not exported (left), exported but not declared (right):"
        cat "$work/diff"
        failures=$((failures + 1))
    fi
fi
[ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }
