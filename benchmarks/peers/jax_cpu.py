#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JAX on the processor, measured beside Kiln: the programs of programs/, written in jax.numpy.

Answers one line of JSON for each line of JSON on standard input; the runner asks in turn with its own samples. Confined to the
processors that the runner left it.

    {"do": "hello"}                                                  versions, processors
    {"do": "values", "program": P, "inputs": [I, ...], "most": N}    of the first result: up to N entries, evenly spread
    {"do": "time", "program": P, "inputs": [I, ...], "calls": N}     seconds of N calls, by the wall and by the processor;
                                                                     compiled before

I is [kind, p, q, dtype, shape]: "sin" is p + sin(q i), "mod" is (p i) mod q, "const" is p, for the flat index i.
An answer with "error" says in one line what went wrong.
"""
import json
import os
import sys
import time
import warnings

from peer import serve

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
os.environ.setdefault("JAX_PLATFORMS", "cpu")
warnings.filterwarnings("ignore")

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError as missing:
    print(json.dumps({"error": f"{missing.name or missing} is not installed in {sys.prefix}"}), flush=True)
    sys.exit(1)

jax.config.update("jax_enable_x64", True)
i32, f32 = jnp.int32, jnp.float32


def while_max(x, least):
    n = i32(x.shape[0])
    return jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + i32(1), jnp.maximum(s[1], x[s[0]])), (i32(0), x.dtype.type(least)))[1]


def fori_at_set(x):
    return jax.lax.fori_loop(i32(0), i32(x.shape[0] - 1), lambda i, a: a.at[i + 1].set(f32(0.5) * a[i] + f32(1)), x)


def scan_matmul3(turn, start):
    return jax.lax.scan(lambda x, _: (turn @ x, x[0, 0]), start, None, length=10000)


def scatter_add(to, x):
    return jnp.zeros((1000,) + x.shape[1:], x.dtype).at[to].add(x)


def layernorm(x, scale, shift):
    mean = x.mean(1, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(1, keepdims=True) + f32(1e-5)) * scale + shift


def heat_rod(start, factor, left, right):
    def step(_, u):
        p = jnp.concatenate([left[None], u, right[None]])
        return u + factor * (p[2:] - 2 * u + p[:-2])
    return jax.lax.fori_loop(0, 100000, step, start)


PROGRAMS = {
    "while_max_i32": lambda x: while_max(x, -1), "while_max_f32": lambda x: while_max(x, -np.inf), "fori_at_set": fori_at_set,
    "scan_matmul3": scan_matmul3, "scatter_add": scatter_add, "segment_sum": scatter_add, "layernorm": layernorm, "heat_rod": heat_rod,
    "sin_exp": lambda x: jnp.sin(x) * jnp.exp(-x), "softmax": lambda x: jax.nn.softmax(x, axis=1), "sum": jnp.sum,
    "matmul_8": jnp.matmul, "matmul_32": jnp.matmul, "matmul_64": jnp.matmul, "matmul_512": jnp.matmul,
}
ready = {}


def filled(kind, p, q, dtype, shape):
    i = np.arange(int(np.prod(shape)), dtype=np.float64)
    v = {"sin": lambda: p + np.sin(q * i), "mod": lambda: np.mod(p * i, q), "const": lambda: np.full(i.shape, p)}[kind]()
    return jax.device_put(v.astype(dtype).reshape(shape))


def start(ask):
    name = ask["program"]
    if name not in ready:
        f, x = jax.jit(PROGRAMS[name]), [filled(*i) for i in ask["inputs"]]
        jax.block_until_ready(f(*x))
        ready[name] = f, x
    return ready[name]


def hello(_):
    return {"jax": jax.__version__, "numpy": np.__version__, "python": sys.version.split()[0],
            "processors": sorted(os.sched_getaffinity(0)), "device": str(jax.devices()[0])}


def values(ask):
    f, x = start(ask)
    v = np.ravel(np.asarray(jax.tree_util.tree_leaves(f(*x))[0], np.float64))
    return {"values": v[:: max(1, len(v) // ask["most"])][: ask["most"]].tolist()}


def timed(ask):
    f, x = start(ask)
    spent, begin = time.process_time(), time.perf_counter()
    for _ in range(ask["calls"]):
        y = f(*x)
    jax.block_until_ready(y)
    end = time.perf_counter()
    return {"seconds": end - begin, "processor_seconds": time.process_time() - spent}


ACTIONS = {"hello": hello, "values": values, "time": timed}


if __name__ == "__main__":
    serve(ACTIONS)
