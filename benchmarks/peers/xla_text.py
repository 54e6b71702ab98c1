#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""XLA on the processor, measured beside Kiln: it compiles the very StableHLO text that Kiln reads, and runs it without jit's dispatch.

Answers one line of JSON for each line of JSON on standard input; the runner asks in turn with its own samples. Confined to the
processors that the runner left it.

    {"do": "hello"}                                           versions, processors
    {"do": "compile", "program": PATH, "calls": N}            seconds of N times from text to executable
    {"do": "load", "program": PATH, "inputs": [[FILE, DTYPE], ...], "near": [[rtol, atol], ...], "outputs": [FILE, ...]}
                                                              compiles, runs once; "differ": the first result that is not near
                                                              Kiln's, or null; files are .npy
    {"do": "time", "calls": N}                                seconds of N calls of what was loaded, by the wall and by the processor

An answer with "error" says in one line what went wrong.
"""
import json
import os
import sys
import time

from peer import serve

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
os.environ.setdefault("JAX_PLATFORMS", "cpu")

try:
    import jax
    import jax.numpy as jnp
    import ml_dtypes
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir
except ImportError as missing:
    print(json.dumps({"error": f"{missing.name or missing} is not installed in {sys.prefix}"}), flush=True)
    sys.exit(1)

jax.config.update("jax_enable_x64", True)
device = jax.devices()[0]
ready = {}


def hello(_):
    a = jnp.eye(2)  # what registers the routines that texts call by name
    for f in (jnp.linalg.eigh, jnp.linalg.svd, jnp.linalg.qr, jnp.linalg.cholesky, jnp.linalg.inv, lambda m: jnp.fft.fft2(m).real):
        jax.block_until_ready(f(a))
    jax.block_until_ready(jax.lax.linalg.tridiagonal_solve(a[0], a[0] + 1, a[0], a))
    return {"jax": jax.__version__, "numpy": np.__version__, "python": sys.version.split()[0],
            "processors": sorted(os.sched_getaffinity(0)), "device": str(device)}


def build(text):
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        options = compiler.get_compile_options(num_replicas=1, num_partitions=1, backend=device.client)
        devices = xla_client.DeviceList((device,))
        return compiler.backend_compile_and_load(device.client, module, devices, options, [])


def taken(action, calls):
    spent, begin = time.process_time(), time.perf_counter()
    for _ in range(calls):
        last = action()
    jax.block_until_ready(last)
    end = time.perf_counter()
    return {"seconds": end - begin, "processor_seconds": time.process_time() - spent}


def compiled(ask):
    with open(ask["program"]) as f:
        text = f.read()
    return taken(lambda: (build(text), None)[1], ask["calls"])


def read(path, dtype):
    """bfloat16 travels as words of 16 bits."""
    v = np.load(path)
    return v.view(ml_dtypes.bfloat16) if dtype == "bfloat16" else v


def loaded(ask):
    with open(ask["program"]) as f:
        ready["f"] = build(f.read())
    ready["x"] = [jax.device_put(read(*i)) for i in ask["inputs"]]
    for k, (mine, theirs) in enumerate(zip(run(), ask["outputs"])):
        mine, theirs = np.asarray(mine), read(theirs, str(mine.dtype))
        rtol, atol = ask["near"][k]
        if mine.shape != theirs.shape or not np.allclose(mine.astype(complex), theirs.astype(complex), rtol, atol, equal_nan=True):
            return {"differ": k}
    return {"differ": None}


def run():
    return ready["f"].execute(ready["x"])


ACTIONS = {"hello": hello, "compile": compiled, "load": loaded, "time": lambda ask: taken(run, ask["calls"])}


if __name__ == "__main__":
    serve(ACTIONS)
