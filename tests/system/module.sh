#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From outside: objects of every compile ask for no symbol, the code generator holds no pipeline of passes and shows no symbol of
# LLVM, vectors are in the text that it is given.
set -u
: "${KILN:?}" "${KILN_SOURCE:?}" "${KILN_BUILD:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "$*"; failures=$((failures + 1)); }

for graph in pair rods; do
    "$KILN" run "$KILN_SOURCE/examples/graphs/$graph.yaml" --steps 5 -o "$work/$graph/" --dump "$work/dump/$graph" > /dev/null || fail "$graph does not run"
done
objects=0
for o in "$work"/dump/*/*.o; do
    objects=$((objects + 1))
    [ -z "$(nm -u "$o" 2>&1)" ] || fail "$o asks for: $(nm -u "$o")"
    nm "$o" | grep -q ' T kiln_entry$' || fail "$o does not define kiln_entry"
done
[ "$objects" -ge 2 ] || fail "$objects objects were dumped"

for target in x86-64-v3:8 x86-64-v4:16; do
    "$KILN" show "$KILN_SOURCE/examples/graphs/rods.yaml" --stage llvm --target "${target%:*}" > "$work/ll" || fail "show --stage llvm"
    grep -q "fadd <${target#*:} x float>" "$work/ll" || fail "no vector addition of ${target#*:} for ${target%:*}"
    "$KILN" show "$KILN_SOURCE/examples/graphs/rods.yaml" --stage loops --target "${target%:*}" > "$work/a.loops" || fail "show --stage loops"
    "$KILN" show "$KILN_SOURCE/examples/graphs/rods.yaml" --stage asm --target "${target%:*}" > "$work/a.s" || fail "show --stage asm"
done

module=$KILN_BUILD/libkiln-llvm.so
[ -f "$module" ] || fail "no $module"
# Names that stand in LLVM's pipelines of passes, and nowhere else.
for word in cgscc slp-vectorizer loop-vectorize jump-threading gvn-hoist; do
    grep -qaF -- "$word" "$module" && fail "the module holds '$word': a pipeline of passes is linked"
done
grep -q 'LLVMRunPasses\|PassBuilder\|LLVMCreatePassManager' "$KILN_SOURCE"/src/llvm/*.c && fail "src/llvm runs passes"
nm -D --defined-only "$module" | grep -v ' kn_codegen_table$' | grep -q ' [TDBR] ' && fail "the module shows more than kn_codegen_table: $(nm -D --defined-only "$module" | head -5)"
[ $failures -eq 0 ] || exit 1
