#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command from outside: arguments, exit codes, what goes where, files.
set -u
: "${KILN:?}" "${KILN_SOURCE:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset KILN_DUMP KILN_TARGET KILN_TIER KILN_QUIET KILN_VERBOSE NO_COLOR
failures=0

# run CODE ARGUMENTS...: the exit code is CODE; output in out, errors in err
run() {
    want=$1; shift
    "$KILN" "$@" > out 2> err < /dev/null
    got=$?
    [ "$got" -eq "$want" ] && return 0
    echo "kiln $*: exit code $got, expected $want"; cat err
    failures=$((failures + 1))
}
says() { grep -qF -- "$1" out || { echo "  no '$1' in the output:"; head -5 out; failures=$((failures + 1)); }; }
complains() { grep -qF -- "$1" err || { echo "  no '$1' in the errors:"; head -5 err; failures=$((failures + 1)); }; }
silent() { [ ! -s err ] || { echo "  errors where none should be:"; head -5 err; failures=$((failures + 1)); }; }
holds() { [ -s "$1" ] || { echo "  no file $1"; failures=$((failures + 1)); }; }
check() { "$@" || { echo "  failed: $*"; failures=$((failures + 1)); }; }

cat > f.jaxpr <<'END'
{ lambda ; a:f64[3] b:f64[]. let
    c:f64[3] = mul a b
    d:f64[] = reduce_sum[axes=(0,) out_sharding=None] c
  in (c, d) }
END
cat > bad.jaxpr <<'END'
{ lambda ; a:f64[3]. let
    b:f64[3] = sinus a
  in (b,) }
END

# about itself
run 0 --version; says "kiln "; silent
run 0 --help; says "Commands:"; silent
for command in $("$KILN" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    run 0 "$command" --help; says "Usage: kiln $command"; silent
    run 0 help "$command"; says "Usage: kiln $command"
done
run 0 --man; says ".TH KILN 1"
run 0 completion bash; says "complete -o filenames -F _kiln kiln"
check sh -c 'bash -n out 2>/dev/null || ! command -v bash >/dev/null'
cp out completion.bash
# complete WORDS...: what bash would offer for the last one
complete() {
    bash -c 'source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kiln; echo "${COMPREPLY[*]}"' _ kiln "$@"
}
if command -v bash > /dev/null; then
    check test "$(complete sh)" = show
    check test "$(complete show --fo)" = --format
    check test "$(complete show --format s)" = "stablehlo svg"
    check test "$(complete show --format = sv)" = svg
    check test "$(complete show --stage =)" = "traced transformed lowered optimised loops llvm asm"
    check test "$(complete eval --tier '')" = "0 2 auto"
    check test "$(complete show f.jax)" = f.jaxpr
fi
run 0 completion zsh; says "#compdef kiln"; says "]:value:(jaxpr stablehlo hlo dot svg)'"
run 2 completion fish; complains "bash and zsh"
run 0 doctor; says "Settings"
run 0 prims; says "dot_general"
run 0 prims scan; says "Runs the body"
run 2 prims scann; complains "did you mean scan?"
run 0 passes; says "simplify"
run 0 nodes; says "HeatNode"
run 0 errors; says "unknown-primitive"
run 0 errors unbound; says "variable c is not bound"

# usage
run 2
run 2 shwo f.jaxpr; complains "did you mean 'show'?"
run 2 show; complains "kiln show needs INPUT"
run 2 show f.jaxpr g.jaxpr; complains "does not take 'g.jaxpr'"
run 2 show f.jaxpr --widht 40; complains "did you mean --width?"
run 2 show f.jaxpr --width; complains "--width needs a value"
run 2 show f.jaxpr --width x; complains "--width takes a whole number, found 'x'"
run 2 show f.jaxpr --stage parsed; complains "takes one of traced, transformed, lowered"
run 2 show f.jaxpr --width 40 --width 50; complains "given twice"
run 2 show f.jaxpr --signature=yes; complains "takes no value"
run 2 show nowhere.jaxpr; complains "cannot open 'nowhere.jaxpr': No such file or directory"
run 2 eval f.jaxpr --transform grad:0; complains "a gradient is that of one"
run 2 show f.jaxpr --seed 4; complains "[unsupported]"
run 2 show f.jaxpr --threads 0; complains "at least 1"
run 2 show f.jaxpr --fast quick; complains "accepted: flush, none"
run 2 show f.jaxpr --fast flush,contract; complains "of the fast modes this version has flush"
run 2 show f.jaxpr --threads 257; complains "at most 256"
KILN_TIER=7 run 2 show f.jaxpr; complains "KILN_TIER takes one of 0, 2, auto, found '7'"
KILN_TARGET=z80 run 2 show f.jaxpr; complains "no target 'z80'"

# show
run 0 show f.jaxpr; silent; check cmp -s f.jaxpr out
"$KILN" show - < f.jaxpr > out 2> err; check test $? -eq 0; check cmp -s f.jaxpr out
run 0 show f.jaxpr -o g.jaxpr; check cmp -s f.jaxpr g.jaxpr; check test ! -s out
run 0 show f.jaxpr --width=20; says "reduce_sum["
run 0 show f.jaxpr --signature; says "input 0 f64[3] a"; says "output 1 f64[]"
run 0 show f.jaxpr --ops; says "1 reduce_sum"
for stage in traced lowered optimised loops llvm asm; do run 0 show f.jaxpr --stage $stage; check test -s out; silent; done
run 0 show "$KILN_SOURCE/examples/programs/before_and_after.jaxpr" --copies; says "copies: 0 in loops, 1 outside"; says "sub reads it afterwards"; silent
run 0 show "$KILN_SOURCE/examples/programs/before_and_after.jaxpr" --stage loops --copies; says "copies: 0 in loops"
run 2 show f.jaxpr --stage llvm --copies; complains "--copies belongs to --stage loops"
run 2 show f.jaxpr --copies --format hlo; complains "--copies belongs to --stage loops"
run 0 show "$KILN_SOURCE/examples/programs/factor.jaxpr" --stage loops; says "# calls 1: cholesky 1"
run 2 show bad.jaxpr; complains "bad.jaxpr:2:16: error: no primitive sinus (did you mean sin?) [unknown-primitive]"
check test "$(grep -c 'error:' err)" -eq 1
check test ! -s out
"$KILN" show f.jaxpr > /dev/full 2> err; check test $? -eq 3; complains "cannot write to standard output"
run 3 show f.jaxpr -o /dev/full; complains "No space left on device"
run 2 show f.jaxpr -o nowhere/g.jaxpr; complains "cannot write"

# check
run 0 check f.jaxpr f.jaxpr; says "2 passed, 0 failed"
run 2 check f.jaxpr bad.jaxpr nowhere; says "1 passed, 2 failed"; complains "bad.jaxpr:2:16"
printf 'not a program\n' > plain.txt
run 2 check plain.txt; complains "[unrecognised]"
run 2 check plain.txt --from jaxpr; complains "plain.txt:1:1"
run 2 check plain.txt --from cobol; complains "--from takes"
printf 'module { }\n' > m.mlir
run 2 check m.mlir; complains "there is no function"
printf '\200\004abc' > p.pickle
run 2 check p.pickle; complains "pickle"
printf 'ML\357R\r' > p.mlirbc
run 2 check p.mlirbc; complains "p.mlirbc:1:1: error: this is MLIR bytecode [unsupported]"; complains "as_text()"
printf '\010\000\000\000\064\000\000\000serialized' > p.export
run 2 show p.export; complains "as jax.export serializes"; complains "exported.mlir_module()"
printf 'module {\n  vhlo.func_v1 @main() {\n  }\n}\n' > vhlo.mlir
run 2 show vhlo.mlir; complains "vhlo.mlir:2:3: error: VHLO"; complains "stablehlo-translate --deserialize"
# modules of StableHLO and HLO: read, or run where they check themselves
data=$KILN_SOURCE/tests/data
run 0 check "$data"/stablehlo/*.mlir "$data"/hlo/*.hlo; says " passed, 0 failed"
cat > wrong.mlir << 'END'
func.func @sum() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = stablehlo.add %0, %0 : tensor<2xf32>
  check.expect_eq_const %1, dense<[2.0, 4.0000005]> : tensor<2xf32>
  func.return
}
func.func @right() {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  check.expect_eq %0, %0 : tensor<i32>
  func.return
}
END
run 1 check wrong.mlir "$data/stablehlo/checks.mlir"; says "1 passed, 1 failed"
says "wrong.mlir:4:3: @sum expect_eq_const, interpreted: 1 of 2 differ, first [1]: 4, should be 4.0000004768371582; at most 1 ULP"
says "wrong.mlir:4:3: @sum expect_eq_const, compiled: 1 of 2 differ"
run 1 check wrong.mlir --interpret; check test "$(wc -l < out)" -eq 2
run 1 check wrong.mlir --compiled; check test "$(wc -l < out)" -eq 2
# their signatures and operations
run 0 show "$data/stablehlo/control.mlir" --signature; says "input 0 i32[] n"; says "input 1 f32[4] x"; says "output 1 f32[4]"
run 0 show "$data/stablehlo/element.mlir" --signature; says "output 0 f32[3] result[0]"
run 0 show "$data/stablehlo/reduce.mlir" --ops; says "1 sort"; check test "$(head -n 1 out | tr -s ' ')" = "$(sort -rn out | head -n 1 | tr -s ' ')"
run 0 show "$data/hlo/linalg.hlo" --ops; says "1 cholesky"

# eval
run 0 eval f.jaxpr 'f64[3]:1,2,3' 'f64[]:2'; says "out0 f64[3]: 2.0 4.0 6.0"; says "out1 f64[]: 12.0"; silent
cp out compiled
run 0 eval f.jaxpr 'f64[3]:1,2,3' 'f64[]:2' --interpret; check cmp -s out compiled
run 0 eval f.jaxpr 'f64[3]:1,2,3' 'f64[]:2' -o r.npz; holds r.npz; check test ! -s out
run 0 eval f.jaxpr 'f64[3]:1,2,3' 'f64[]:2' -o r/; holds r/out0.npy; holds r/out1.npy
run 2 eval f.jaxpr 'f64[3]:1,2,3' 'f64[]:2' -o r.npy; complains "has 2 results"
run 2 eval f.jaxpr 'f64[3]:1,2,3' 'f64[]:2' -o r.txt; complains "-o takes"
run 0 eval f.jaxpr r/out0.npy 'f64[]:1' --expect r.npz --atol 100; says "2 passed, 0 failed"
run 1 eval f.jaxpr 'f64[3]:1,2,3' 'f64[]:3' --expect r.npz; says "out0: 3 of 3 elements differ, first at 0: 3.0, expected 2.0"; says "0 passed, 2 failed"
run 0 eval "$KILN_SOURCE/examples/programs/oscillator.mlir" 'f64[3]:1,0.5,-2' 'f64[3]:0' 'i32[]:100' -o osc.npz
run 0 eval "$KILN_SOURCE/examples/programs/oscillator.mlir" 'f64[3]:1,0.5,-2' 'f64[3]:0' 'i32[]:100' --interpret --expect osc.npz; says "2 passed, 0 failed"
run 1 eval "$KILN_SOURCE/examples/programs/oscillator.mlir" 'f64[3]:1,0.5,-2' 'f64[3]:0' 'i32[]:101' --expect osc.npz; says "0 passed, 2 failed"
run 0 eval "$KILN_SOURCE/examples/programs/oscillator.mlir" 'f64[3]:1,0.5,-2' 'f64[3]:0' 'i32[]:101' --expect osc.npz --atol 0.1; says "2 passed, 0 failed"
run 2 eval f.jaxpr 'f64[3]:1,2,3' 'f64[]:2' --expect osc.txt; complains "osc.txt"
run 2 eval f.jaxpr 'f64[3]:1,2,3'; complains "takes 2 inputs, 1 are given"
run 2 eval f.jaxpr 'f32[3]:1,2,3' 'f64[]:1'; complains "input 0 (a) of the program is f64[3]"
run 2 eval f.jaxpr 'f99[3]:1,2,3' 'f64[]:1'; complains "no element type 'f99'"
echo '{ lambda ; a:f8_e4m3fn[2] b:i4[2]. let in (a, b) }' > narrow.jaxpr
run 0 eval narrow.jaxpr 'f8_e4m3fn[2]:1.5,-0.25' 'i4[2]:-8,7' -o narrow.npz
run 0 eval narrow.jaxpr 'f8_e4m3fn[2]:1.5,-0.25' 'i4[2]:-8,7' --expect narrow.npz
run 0 eval narrow.jaxpr 'f8_e4m3fn[2]:1.5,-0.25' 'i4[2]:-8,7' -o narrow/
run 0 eval narrow.jaxpr narrow/out0.npy narrow/out1.npy --expect narrow.npz
printf "\\223NUMPY\\1\\0v\\0{'descr': '|i1', 'fortran_order': False, 'shape': (2,), }%60s\\n\\10\\7" '' > low.npy # without the sign in the upper bits
run 0 eval narrow.jaxpr narrow/out0.npy low.npy --expect narrow.npz
run 2 eval f.jaxpr r.npz; complains "no array 'a'"
run 0 eval f.jaxpr 'f64[3]:1' 'f64[]:2' --time --json t.json; says "median"; holds t.json
check grep -q '"compile_ms"' t.json
run 0 eval f.jaxpr 'f64[3]:1' 'f64[]:2' --dump d; holds d/001-eval-1.traced.jaxpr; check test "$(ls d | wc -l)" -ge 5

# two programs, dialects, rewrites
printf '{ lambda ; a:f32[3] b:f32[3]. let\n    c:f32[3] = mul a b\n    d:f32[3] = add c 1.0:f32[]\n    e:f32[3] = sub d 0.0:f32[]\n    f:f32[3] = mul e c\n  in (f,) }\n' > one.jaxpr
sed 's/add c 1.0/sub c 1.0/; s/f:f32\[3\] = mul e c/z:f32[3] = neg c; f:f32[3] = mul e z/' one.jaxpr > two.jaxpr
sed 's/\bc\b/other/g' one.jaxpr > renamed.jaxpr
run 1 show one.jaxpr --diff two.jaxpr; says "-  d:f32[3] = add c 1.0"; says "+  d:f32[3] = sub c 1.0"; says "+  f:f32[3] = neg c"; says "   e:f32[3] = sub d"
run 0 show one.jaxpr --diff renamed.jaxpr; check test ! -s out
run 1 show one.jaxpr --diff two.jaxpr --stage loops; says "= add f32"
run 1 show one.jaxpr --diff two.jaxpr --format stablehlo; says "stablehlo.negate"
run 2 show one.jaxpr --diff nosuch.jaxpr; complains "cannot open 'nosuch.jaxpr'"
run 2 show one.jaxpr --diff two.jaxpr --ops; complains "ops does not go with it"
run 2 show one.jaxpr --diff two.jaxpr --format svg; complains "diff compares programs"
run 0 show one.jaxpr --rules; says "1 simplify: x - 0.0 = x"; says "one.jaxpr:4:5: sub"
run 2 show one.jaxpr --rules --stage traced; complains "rules belongs to"
run 0 show one.jaxpr --dialect old -o one.old.jaxpr; check grep -q "add c 1.0$" one.old.jaxpr
run 0 show one.old.jaxpr --dialect new -o one.new.jaxpr; check cmp one.new.jaxpr one.jaxpr
run 0 show one.old.jaxpr; says "add c 1.0"
run 2 show one.jaxpr --dialect older; complains "older"
run 2 show one.jaxpr --dialect old --format hlo; complains "dialect is that of jaxprs"

# one clear error each
run 2 show one.jaxpr -o ''; complains "-o needs a value: FILE"
run 2 eval one.jaxpr 'f32[3]:1' 'f32[3]:2' --threads 99999999999999999999; complains "at most 63 bits"
run 2 eval one.jaxpr 'f32[3]:1' 'f32[3]:2' --transform ''; complains "--transform needs a value"
run 2 eval one.jaxpr 'f32[3]:1' 'f32[3]:2' --transform linearize:0,0; complains "linearize: operand 0 stands behind operand 0"
run 2 eval one.jaxpr 'f32[3]:1' 'f32[3]:2' --transform checkpoint:nosuch; complains "no value of the program is called 'nosuch'"
run 2 eval one.jaxpr 'f32[3]:1' 'f32[3]:2' --transform checkpoint:; complains "empty in 'checkpoint:'"

# counts and graphs
run 0 counts f.jaxpr --write counts.json; check test ! -s out; holds counts.json
run 0 counts f.jaxpr --check counts.json; says "no count moved"
sed 's/"compiles": 1/"compiles": 2/' counts.json > moved.json
run 1 counts f.jaxpr --check moved.json; says "f.jaxpr: compiles: 1, was 2"
KILN_TIER=0 KILN_TARGET=x86-64-v4 run 0 counts f.jaxpr --check counts.json
run 0 counts "$KILN_SOURCE/tests/data/feed_forward/layer.mlir"; says "compiles       1"
run 0 counts "$KILN_SOURCE/tests/data/feed_forward/layer.hlo"; says "equations"
run 2 counts f.jaxpr --fast flush; complains "no fast mode"
run 2 counts f.jaxpr --tier 0; complains "counts are those of x86-64-v3"
run 2 counts f.jaxpr --check nowhere.json
instructions() { echo "{\"f.jaxpr\": {\"instructions\": $1}}" > instructions.json; }
instructions 1000; run 0 counts f.jaxpr --with instructions.json --write counted.json
instructions 1020; run 0 counts f.jaxpr --with instructions.json --check counted.json
instructions 1021; run 1 counts f.jaxpr --with instructions.json --check counted.json; says "instructions: 1021, was 1000"
run 1 counts f.jaxpr --check counted.json; says "instructions: 0, was 1000"
instructions 0; run 0 counts f.jaxpr --with instructions.json --write zero.json
run 1 counts f.jaxpr --with instructions.json --check zero.json; says "instructions: nothing was counted"
echo '{"f.jaxpr": {"scalar_calls": 1}}' > calls.json; run 0 counts f.jaxpr --with calls.json --write scalar.json
run 1 counts f.jaxpr --with calls.json --check scalar.json; says "1 scalar library calls in vector loops, accepted: 0"
echo '{"g.jaxpr": {}}' > other.json; run 2 counts f.jaxpr --with other.json; complains "'g.jaxpr' is not given"
KILN_TARGET=aarch64 run 2 eval f.jaxpr 'f64[3]:1' 'f64[]:2'; complains "does not run code for aarch64"
run 0 show f.jaxpr --stage asm --target x86-64-v2; check test -s out
if [ -e "$KILN_BUILD/libkiln-llvm-aarch64.so" ]; then run 0 show f.jaxpr --stage asm --target aarch64; says "fmul"; fi
cp "$KILN_SOURCE/examples/graphs/pair.yaml" pair.yaml
run 0 check pair.yaml; says "1 passed, 0 failed"
run 0 show pair.yaml --program step --stage optimised; check test -s out
run 0 counts pair.yaml; says "entry_calls    1"; says "compiles       1"
run 2 show f.jaxpr --program step; complains "--program belongs to graphs"
run 2 eval pair.yaml; complains "kiln eval takes a program"

# what a reader sees while a file is written: the old one or the new one
mkdir -p ro && cp r.npz ro/r.npz && chmod 555 ro
if [ "$(id -u)" -ne 0 ]; then run 3 eval f.jaxpr 'f64[3]:1' 'f64[]:2' -o ro/r.npz; check cmp -s r.npz ro/r.npz; fi
chmod 755 ro

# the page is what the tables say
"$KILN" --page > page.md
if ! cmp -s page.md "$KILN_SOURCE/docs/cli.md"; then
    echo "docs/cli.md is not what the tables say; make it again: build/release/kiln --page > docs/cli.md"
    failures=$((failures + 1))
fi

[ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }
echo "all as it should be"
