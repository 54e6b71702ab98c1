#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What README.md and docs/ show is true. Blocks by their mark:
#   console            commands behind `$ ` run at the top of a copy of the sources; what they print must be what follows (standard
#                      output, then errors); a line `...` stands for any lines
#   console varies     the commands must succeed: what they print has times in it
#   c                  C at the top level of a file that includes kiln.h: must compile
#   c in a function    statements with a `ctx`: must compile
# README's first C program is examples/c/damped_sine.c.
set -u
: "${KILN:?}" "${KILN_SOURCE:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset KILN_DUMP KILN_TARGET KILN_TIER KILN_QUIET KILN_VERBOSE
NO_COLOR=1 LC_ALL=C
export NO_COLOR LC_ALL
mkdir "$work/bin" "$work/top"
ln -s "$KILN" "$work/bin/kiln"
PATH=$work/bin:$PATH
cp -R "$KILN_SOURCE/examples" "$work/top/examples"
cc=${CC:-cc}
cd "$work/top" || exit 1

# one file a block: PAGE.NUMBER.MARK
for page in "$KILN_SOURCE"/README.md "$KILN_SOURCE"/docs/*.md; do
    base=$(basename "$page" .md)
    awk -v out="$work/$base" '
        /^```/ && inside { inside = 0; close(file); next }
        /^```(console|c)( |$)/ {
            mark = substr($0, 4); gsub(/ /, "-", mark)
            file = sprintf("%s.%03d.%s", out, ++n, mark); printf "" > file; inside = 1; next
        }
        /^```/ { inside = 1; file = "/dev/null"; next }
        inside { print > file }' "$page"
done

failures=0
blocks=0
for block in "$work"/*.console; do
    [ -f "$block" ] || continue
    blocks=$((blocks + 1))
    : > "$work/got"
    sed -n 's/^\$ //p' "$block" > "$work/commands"
    while IFS= read -r command; do
        printf '$ %s\n' "$command" >> "$work/got"
        sh -c "$command" >> "$work/got" 2> "$work/err" < /dev/null
        cat "$work/err" >> "$work/got"
    done < "$work/commands"
    awk -v want="$block" '
        { got[++n] = $0 }
        END {
            g = 1
            while ((getline line < want) > 0) {
                if (line == "...") { any = 1; continue }
                if (any) while (g <= n && got[g] != line) g++
                any = 0
                if (g > n || got[g] != line) { printf "expected: %s\nfound:    %s\n", line, (g > n ? "(nothing)" : got[g]); exit 1 }
                g++
            }
            if (!any && g <= n) { printf "not shown: %s\n", got[g]; exit 1 }
        }' "$work/got" || { echo "in $(basename "$block")"; failures=$((failures + 1)); }
done
for block in "$work"/*.console-varies; do
    [ -f "$block" ] || continue
    blocks=$((blocks + 1))
    sed -n 's/^\$ //p' "$block" > "$work/commands"
    while IFS= read -r command; do
        sh -c "$command" > "$work/got" 2>&1 < /dev/null || { cat "$work/got"; echo "$command fails, in $(basename "$block")"; failures=$((failures + 1)); }
    done < "$work/commands"
done
for block in "$work"/*.c "$work"/*.c-in-a-function; do
    [ -f "$block" ] || continue
    blocks=$((blocks + 1))
    {
        printf '#include <kiln/kiln.h>\n#include <stdio.h>\n#include <stdlib.h>\n'
        case $block in
        *-function) printf 'int block(kiln_ctx *ctx);\nint block(kiln_ctx *ctx)\n{\n'; cat "$block"; printf 'return 0;\n}\n' ;;
        *) cat "$block" ;;
        esac
    } > "$work/block.c"
    "$cc" -std=c17 -Wall -Wextra -Werror -fsyntax-only -I "$KILN_SOURCE/include" "$work/block.c" || { echo "in $(basename "$block")"; failures=$((failures + 1)); }
done
[ "$blocks" -gt 20 ] || { echo "only $blocks blocks found"; failures=$((failures + 1)); }
sed 1d "$KILN_SOURCE/examples/c/damped_sine.c" > "$work/example"
cat "$work"/README.*.c | diff - "$work/example" > "$work/diff" || { echo "README's C program is not examples/c/damped_sine.c:"; cat "$work/diff"; failures=$((failures + 1)); }

# links between pages lead somewhere
for page in "$KILN_SOURCE"/README.md "$KILN_SOURCE"/docs/*.md; do
    grep -o '](\([^)#:]*\))' "$page" | sed 's/^](//;s/)$//' | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || echo "$(basename "$page") links to $link, which does not exist"
    done
done > "$work/links"
[ ! -s "$work/links" ] || { cat "$work/links"; failures=$((failures + 1)); }
[ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }
echo "$blocks blocks"
