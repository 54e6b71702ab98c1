#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written forms of programs: short listings, HLO before and after optimisation, graphs, pictures, folders of all of them. The feed-forward
# layer of tests/data/feed_forward gives exactly what stands there; StableHLO is a fixed point of reading and printing, and every program
# draws: those of the sources, and the shared cases where they are.
set -u
: "${KILN:?}" "${KILN_SOURCE:?}"
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
unset KILN_DUMP KILN_TIER KILN_QUIET KILN_VERBOSE
KILN_TARGET=x86-64-v3 NO_COLOR=1
export KILN_TARGET NO_COLOR
cp -R "$KILN_SOURCE/tests/data/feed_forward" "$work/layer" && cd "$work/layer" || exit 1
failures=0
bad() { echo "$*"; failures=$((failures + 1)); }
graphviz=$(command -v dot) || graphviz=

# same FILE ARGUMENTS...: the output is the file, byte for byte
same() {
    want=$1; shift
    "$KILN" show "$@" > got 2> err || { bad "kiln show $* fails:"; cat err; }
    cmp -s got "$want" || { bad "kiln show $* does not give $want:"; diff "$want" got | head -20; }
}
for way in layer loop map vmap; do
    same $way.jaxpr $way.jaxpr
    same $way.brief.jaxpr $way.jaxpr --brief
done
same layer.mlir layer.jaxpr --format stablehlo
same layer.hlo layer.jaxpr --format hlo
same layer.brief.hlo layer.jaxpr --format hlo --brief
same layer.optimised.hlo layer.jaxpr --format hlo --stage optimised
same layer.optimised.brief.hlo layer.jaxpr --format hlo --stage optimised --brief
same layer.dot layer.jaxpr --format dot
same layer.brief.dot layer.jaxpr --format dot --brief
same layer.optimised.dot layer.jaxpr --format dot --stage optimised
same layer.optimised.dot layer.jaxpr --format dot --stage loops
for way in loop map; do same $way.dot $way.jaxpr --format dot; done

# every form into a folder
"$KILN" show layer.jaxpr -o forms/deep/ > out 2> err || bad "no folder of forms"
[ -s out ] && bad "a folder of forms prints something"
for form in jaxpr mlir hlo dot; do cmp -s layer.$form forms/deep/layer.$form || bad "forms/deep/layer.$form is not layer.$form"; done
"$KILN" show layer.jaxpr --stage optimised -o forms/ 2> err || bad "no folder of optimised forms"
for form in hlo dot; do cmp -s layer.optimised.$form forms/layer.optimised.$form || bad "forms/layer.optimised.$form is another"; done
"$KILN" show - < layer.jaxpr --format dot -o forms/ || bad "a program without a name"
[ "$(find forms -name 'program.*')" = forms/program.dot ] || bad "--format and a folder: one file"
[ -z "$(find forms -name '*.tmp*' -o -name '.*')" ] || bad "something else stands in the folder"

# without Graphviz: a picture is refused, a folder holds the rest
mkdir empty
PATH=$work/layer/empty "$KILN" show layer.jaxpr --format svg > out 2> err
[ $? -eq 3 ] && [ ! -s out ] && grep -q "apt install graphviz" err || bad "a picture without Graphviz"
PATH=$work/layer/empty "$KILN" show layer.jaxpr -o without/ > out 2> err || bad "a folder without Graphviz fails"
grep -q "warning: .*apt install graphviz.*svg is left out" err || bad "nothing is told about the picture"
[ "$(cd without && echo *)" = "layer.dot layer.hlo layer.jaxpr layer.mlir" ] || bad "a folder without Graphviz holds $(cd without && echo *)"

# a dot that fails, a dot that is killed, one that draws: stood for by scripts
tool() { mkdir -p "$1"; printf '#!/bin/sh\n%s\n' "$2" > "$1/dot"; chmod +x "$1/dot"; }
tool fails 'echo "no fonts here" >&2; exit 7'
PATH=$work/layer/fails:$PATH "$KILN" show layer.jaxpr --format svg > out 2> err
[ $? -eq 3 ] && grep -q "exit code 7: no fonts here" err || bad "a dot that fails"
tool killed 'kill -9 $$'
PATH=$work/layer/killed:$PATH "$KILN" show layer.jaxpr --format svg -o never.svg > out 2> err
[ $? -eq 3 ] && grep -q "ended by signal 9" err && [ ! -e never.svg ] || bad "a dot that is killed"
tool echoes '[ "$*" = -Tsvg ] && cat'
PATH=$work/layer/echoes:$PATH "$KILN" show layer.jaxpr --format svg > got 2> err
cmp -s got layer.dot || bad "dot is given another graph"

# bad asks
refuse() {
    want=$1; says=$2; shift 2
    "$KILN" show "$@" > out 2> err
    code=$?
    [ $code -eq "$want" ] && grep -qF -- "$says" err || { bad "kiln show $*: exit code $code"; cat err; }
}
refuse 2 "stablehlo has no short form" layer.jaxpr --format stablehlo --brief
refuse 2 "not --stage llvm" layer.jaxpr --stage llvm --format dot
refuse 2 "not --stage asm" layer.jaxpr --stage asm -o forms/
refuse 2 "--brief shortens programs" layer.jaxpr --stage loops --brief
refuse 3 "cannot make the folder 'layer.jaxpr'" layer.jaxpr -o layer.jaxpr/
refuse 2 "cannot make the folder '/proc/shut'" layer.jaxpr -o /proc/shut/
if [ "$(id -u)" -ne 0 ]; then
    mkdir shut && chmod 555 shut
    refuse 3 "shut/" layer.jaxpr -o shut/
    [ -z "$(ls shut)" ] || bad "files in a folder that is shut"
fi

# labels: quotes, backslashes, entities, line breaks and long texts
cat > labels.mlir <<'MLIR'
module @"a\"b" {
  func.func public @main(%x: tensor<2xf32>) -> (tensor<2xf32> {jax.result_info = "result['a&amp;\\b<c>']"}) {
    %0 = call @"q\"&lt;name"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func private @"q\"&lt;name"(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
MLIR
"$KILN" show labels.mlir --format dot > labels.dot || bad "labels"
awk '{ s = $0; gsub(/\\./, "", s); if (gsub(/"/, "", s) % 2) exit 1 }' labels.dot || bad "quotes in labels do not match"
if grep -v 'amp;' labels.dot | grep -q '&'; then bad "an entity in a label"; fi
[ -z "$graphviz" ] || dot -Tsvg labels.dot > labels.svg || bad "labels do not draw"

# 10^5 equations: linear
awk 'BEGIN { n = 100000; print "{ lambda ; v0:f32[8]. let"
    for (i = 1; i <= n; i++) printf "    v%d:f32[8] = add v%d v%d\n", i, i - 1, int(i / 2)
    printf "  in (v%d,) }\n", n }' > long.jaxpr
timeout 60 "$KILN" show long.jaxpr --format dot > long.dot || bad "10^5 equations as a graph"
[ "$(grep -c ' -> ' long.dot)" -eq 200001 ] || bad "edges of 10^5 equations"
timeout 300 "$KILN" show long.jaxpr --stage optimised --format dot > long.dot || bad "10^5 optimised equations as a graph"
refuse 2 "boxes would take hours" long.jaxpr --format svg

# programs: StableHLO comes back the same, every stage is a graph, and the graph a picture
programs=0
try() {
    programs=$((programs + 1))
    if grep -q ':[a-z0-9]*\[n[],]' "$1"; then # a size that is given when it runs
        refuse 2 "written for fixed shapes" "$1" --format stablehlo
        refuse 2 "written for fixed shapes" "$1" --format hlo
        "$KILN" show "$1" --format dot > a.dot 2> err || { bad "$1: no graph:"; head -2 err; }
        return
    fi
    "$KILN" show "$1" --format stablehlo > a.mlir 2> err || { bad "$1 does not print as StableHLO:"; head -2 err; return; }
    "$KILN" show a.mlir --format stablehlo > b.mlir 2> err || { bad "$1: its StableHLO is not read:"; head -2 err; }
    cmp -s a.mlir b.mlir || bad "$1: its StableHLO changes when it is read"
    for stage in traced lowered optimised; do "$KILN" show "$1" --stage $stage --format dot > a.dot 2> err || { bad "$1, $stage: no graph:"; head -2 err; }; done
    [ -z "$graphviz" ] && return
    timeout 300 "$KILN" show "$1" --format svg > a.svg 2> err || { bad "$1: no picture:"; head -2 err; return; }
    [ "$(tail -n 1 a.svg)" = "</svg>" ] || bad "$1: half a picture"
}
for p in "$KILN_SOURCE"/examples/programs/*.jaxpr "$KILN_SOURCE"/tests/data/feed_forward/[lmv]*p.jaxpr; do try "$p"; done
for p in "${KILN_CASES:-nowhere}"/programs/*/*.mlir; do [ ! -f "$p" ] || try "$p"; done

[ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }
echo "$programs programs${graphviz:+, drawn}"
