#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kiln bench batching: forms agree to the bit, the record says what each costs, the picture is XML, kiln compare reads the record; what is
# no size, form or kind is refused.
set -u
: "${KILN:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
fail() { echo "$*"; failures=$((failures + 1)); }

"$KILN" bench batching --sizes 1,3,8 --json record.json --plot plot.svg > table || fail "the study failed"
[ "$(grep -c . table)" = 10 ] || fail "a table of other length than 3 sizes of 3 forms"
"$KILN" bench batching --sizes 2 --forms vmap --beside record.json --plot - > both || fail "a record cannot stand beside"
python3 - <<'PY' || fail "the record or the picture is wrong"
import json
import xml.etree.ElementTree as tree
record = json.load(open("record.json"))
assert record["format"] == "kiln-bench/1" and record["suite"] == "batching" and record["machine"]["kiln"]
rows = {(r["form"], r["batch"]): r for r in record["rows"]}
assert sorted(rows) == [(f, n) for f in ("loop", "map", "vmap") for n in (1, 3, 8)]
for (form, batch), r in rows.items():
    assert r["compile_s"] > 0 and r["a"]["median_s"] > 0 and r["nests"] > 0
    assert r["peak_bytes"] >= 4 * (32 * 64 + 32 + batch * (64 + 32))
    assert r["equations"] == {"loop": 6 * batch + 1 if batch > 1 else 5, "map": 4, "vmap": 5}[form]
lines = [e for e in tree.parse("plot.svg").iter() if e.tag.endswith("polyline")]
assert len(lines) == 6 and all(len(e.get("points").split()) == 3 for e in lines)
both = open("both").read()
both = tree.fromstring(both[both.index("<svg"):])
assert len([e for e in both.iter() if e.tag.endswith("polyline")]) == 8
PY
"$KILN" compare record.json record.json > same || fail "a record differs from itself"
grep -q "9 rows in both: 0 faster, 0 slower, 9 within the noise" same || fail "$(cat same)"
for wrong in "nosuch" "program" "batching --sizes 0" "batching --sizes 1,," "batching --sizes 99999999" "batching --forms lop" "batching --forms" \
    "batching --beside table" "batching --beside nowhere.json"; do
    "$KILN" bench $wrong > out 2> err
    code=$?
    { [ $code = 2 ] || [ $code = 3 ]; } && [ "$(grep -c error: err)" = 1 ] && [ ! -s out ] || fail "bench $wrong: exit code $code: $(cat out err)"
done
[ $failures = 0 ]
