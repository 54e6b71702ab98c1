# SPDX-License-Identifier: Apache-2.0
"""A peer answers one line of JSON for each line of JSON on standard input; or the one that is its argument, and leaves."""
import json
import os
import sys


def serve(actions):
    """Each line's "do" names the action that answers it."""
    lines = sys.argv[1:] or sys.stdin
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the packages print must not mix with the answers
    for line in lines:
        try:
            ask = json.loads(line)
            answer = actions[ask["do"]](ask)
        except Exception as problem:  # the runner reports it and goes on with its other cases
            answer = {"error": f"{type(problem).__name__}: {problem}".splitlines()[0]}
        out.write(json.dumps(answer) + "\n")
