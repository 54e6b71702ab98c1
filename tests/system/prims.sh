#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of primitives: the list, its JSON and the page of each primitive say the same rules; every primitive has a type rule, a sample
# and a text, and either a rule that lowers it or both an evaluation and loops.
set -u
: "${KILN:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
"$KILN" prims > list && "$KILN" prims --json prims.json || exit 1
sed '1d;/^$/,$d' list > rows
failures=0
while read -r name letters _; do
    "$KILN" prims "$name" > page || failures=$((failures + 1))
    sed -n 's/^rules: //p' page | tr ' ' '\n' > rules
    from_page=$(awk 'BEGIN { split("type eval lower loop jvp transpose batch sample", all); split("t e l n j r b s", letter) }
        { has[$1] = 1 } END { for (i = 1; i <= 8; i++) printf "%s", has[all[i]] ? letter[i] : "-" }' rules)
    [ "$from_page" = "$letters" ] || { echo "$name: the list says $letters, its page $from_page"; failures=$((failures + 1)); }
    [ -n "$(sed -n 3p page)" ] || { echo "$name has no text"; failures=$((failures + 1)); }
    case $name:$letters in
    custom_lin:te--jrb-) ;; # stands in programs only while they are transformed
    *:t?l????s | *:te?n???s) ;;
    *) echo "$name: $letters lacks a rule that every primitive has"; failures=$((failures + 1)) ;;
    esac
done < rows
awk '{ print $1 }' rows > names
sort -c names || failures=$((failures + 1))
python3 - <<'PY' || failures=$((failures + 1))
import json
letters = dict(zip("type eval lower loop jvp transpose batch sample".split(), "telnjrbs"))
rows = [line.split() for line in open("rows")]
table = json.load(open("prims.json"))
assert [r[0] for r in rows] == [p["name"] for p in table], "names"
for r, p in zip(rows, table):
    assert [c for c in r[1] if c != "-"] == [letters[x] for x in p["rules"]], p["name"]
    assert r[2:] == p["parameters"] and p["doc"], p["name"]
last = open("list").read().split("\n")[-3]
counts = {c: sum(c in r[1] for r in rows) for c in "telnjrbs"}
want = f"{len(rows)} primitives; rules: " + ", ".join(f"{c} {n} ({counts[c]})" for n, c in letters.items())
assert last == want, (last, want)
PY
[ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }
echo "$(wc -l < rows) primitives"
