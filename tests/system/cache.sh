#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From outside: a second process finds what the first one made, with the same bits, and opens no library that it does not need;
# what the settings say is done.
set -u
: "${KILN:?}" "${KILN_SOURCE:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "$*"; failures=$((failures + 1)); }
unset KILN_CACHE
export HOME="$work/home"
mkdir "$HOME"
graph=$KILN_SOURCE/examples/graphs/rods.yaml

# The code generator, LAPACK, FFT: what is mapped at the end, by the dynamic linker's own account.
opened() { LD_DEBUG=files LD_DEBUG_OUTPUT="$work/ld" "$@" > "$work/out" 2> "$work/err"; code=$?; cat "$work"/ld.* > "$work/opened"; rm -f "$work"/ld.*; return $code; }
opened "$KILN" run "$graph" --steps 20 -o "$work/cold.npz" || fail "cold: $(cat "$work/err")"
grep -q 'libkiln-llvm' "$work/opened" || fail "a cold start opens no code generator"
opened "$KILN" run "$graph" --steps 20 -o "$work/warm.npz" || fail "warm: $(cat "$work/err")"
grep -qi 'kiln-llvm\|libLLVM\|lapack\|fftw\|blas' "$work/opened" && fail "a warm start opens $(grep -io 'file=[^ ]*\(llvm\|lapack\|fftw\|blas\)[^ ]*' "$work/opened" | sort -u | tr '\n' ' ')"
cmp "$work/cold.npz" "$work/warm.npz" || fail "other results"

# What a process holds: less than a tenth of what an interpreter of Python with JAX does.
resident() { "$KILN" eval "$KILN_SOURCE/examples/programs/weighted.jaxpr" f64[3]:1,2,3 f64[]:2 --time --json - --cache "$work/small" | sed -n 's/.*"peak_rss_kb": *\([0-9]*\).*/\1/p'; }
if ! grep -qa '__asan_init\|__tsan_init' "$KILN"; then
    cold=$(resident) warm=$(resident)
    [ "$cold" -gt 0 ] && [ "$cold" -le 70000 ] || fail "a cold start holds $cold kB"
    [ "$warm" -gt 0 ] && [ "$warm" -le 25000 ] || fail "a warm start holds $warm kB"
fi

# The same by the system's account, where processes may be traced: no file of theirs is opened or even looked for.
if strace -o "$work/traced" true 2> /dev/null; then
    # (a leak sanitizer traces its process itself, which only one can)
    ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" strace -f -e trace=%file -o "$work/traced" "$KILN" run "$graph" --steps 20 -o "$work/traced.npz" > /dev/null || fail "traced"
    grep -q '\.cache/kiln/.*\.kiln' "$work/traced" || fail "the trace shows no entry of the cache"
    grep -qi 'kiln-llvm\|libLLVM\|lapack\|fftw\|blas' "$work/traced" && fail "a warm start touches $(grep -i 'llvm\|lapack\|fftw\|blas' "$work/traced" | head -3)"
    cmp "$work/cold.npz" "$work/traced.npz" || fail "other results"
else
    echo "strace is not here: what is opened is known from the dynamic linker alone"
fi
[ -n "$(ls "$HOME/.cache/kiln"/*.kiln)" ] || fail "nothing in ~/.cache/kiln"

# Even where there is no code generator to open: it is beside the command, so the command goes elsewhere.
cp "$KILN" "$work/kiln"
KILN_LIBDIR=$work "$work/kiln" run "$graph" --steps 20 -o "$work/alone.npz" > /dev/null || fail "the cache does not do without the code generator"
cmp "$work/cold.npz" "$work/alone.npz" || fail "other results without the code generator"
KILN_LIBDIR=$work "$work/kiln" run "$graph" --steps 20 --cache none > /dev/null 2>&1 && fail "without code generator and cache it runs"

# Settings.
before=$(ls "$HOME/.cache/kiln" | wc -l)
"$KILN" run "$graph" --steps 3 --cache "$work/a" -v > /dev/null 2> "$work/err" || fail "--cache DIR"
grep -q "^cache $work/a: 0 found .* not found, .* kept" "$work/err" || fail "-v says: $(cat "$work/err")"
KILN_CACHE="$work/b" "$KILN" run "$graph" --steps 3 > /dev/null || fail "KILN_CACHE"
[ "$(ls "$work/a")" = "$(ls "$work/b")" ] || fail "folders differ"
KILN_CACHE="$work/b" "$KILN" run "$graph" --steps 3 --cache "$work/c" > /dev/null || fail "both"
[ -d "$work/c" ] || fail "the option does not win over the variable"
for off in check counts; do KILN_CACHE="$work/d" "$KILN" $off "$graph" > /dev/null || fail "$off"; done
[ -e "$work/d" ] && fail "check or counts use the cache"
"$KILN" profile "$graph" --steps 3 > /dev/null || fail "profile"
[ "$(ls "$HOME/.cache/kiln" | wc -l)" = "$before" ] || fail "profile uses the cache unasked"
"$KILN" doctor | grep -q "cache folder *$HOME/.cache/kiln" || fail "doctor: $("$KILN" doctor | grep cache)"
KILN_CACHE=none "$KILN" doctor | grep -q "cache folder *none" || fail "doctor: none"
env -u HOME "$KILN" run "$graph" --steps 3 > /dev/null || fail "without a home"

# Damage of the whole folder.
for f in "$HOME/.cache/kiln"/*; do printf 'nonsense' > "$f"; done
"$KILN" run "$graph" --steps 20 -o "$work/damaged.npz" > /dev/null || fail "a damaged folder"
cmp "$work/cold.npz" "$work/damaged.npz" || fail "other results from a damaged folder"

# Sixteen at once on an empty folder.
i=0 pids=
while [ $i -lt 16 ]; do "$KILN" run "$graph" --steps 5 -v --cache "$work/race" > /dev/null 2> "$work/race.$i" & pids="$pids $!"; i=$((i + 1)); done
for pid in $pids; do wait "$pid" || fail "one of sixteen processes fails: $(cat "$work"/race.*)"; done
kept=$(cat "$work"/race.* | sed -n 's/.*, \([0-9]*\) kept.*/\1/p' | awk '{ n += $1 } END { print n }')
[ "$kept" = "$(ls "$work/race"/*.kiln | wc -l)" ] || fail "sixteen processes kept $kept entries"
[ $failures -eq 0 ] || exit 1
