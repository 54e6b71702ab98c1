#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every shared program on its recorded inputs, interpreted and compiled: the recorded results within their tolerance, and the same
# bits on both sides.
set -eu
exec sh "$KILN_SOURCE/tests/conformance/cases" programs programs --bits
