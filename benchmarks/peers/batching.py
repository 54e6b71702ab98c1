#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The study of `kiln bench batching` in JAX: a layer max(0, w x + b) over a batch, as a loop in Python, as lax.map and as vmap.

    batching.py [SIZE,SIZE,...] > jax.json      then: kiln bench batching --plot out.svg --beside jax.json
"""
import json
import os
import statistics
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np

COMPILES, SECONDS = 3, 0.1


def layer(w, b, x):
    return jnp.maximum(jnp.dot(w, x) + b, 0)


FORMS = {
    "loop": lambda w, b, x: jnp.array([layer(w, b, v) for v in x]),
    "map": lambda w, b, x: jax.lax.map(lambda v: layer(w, b, v), x),
    "vmap": jax.vmap(layer, in_axes=(None, None, 0)),
}


def compiled(form, arguments):
    """The executable, and the median time from a trace to it."""
    times = []
    for _ in range(COMPILES):
        jax.clear_caches()
        begin = time.perf_counter()
        f = jax.jit(form).lower(*arguments).compile()
        times.append(time.perf_counter() - begin)
    return f, statistics.median(times)


def calls(f, arguments):
    """Times of one call, each from a loop that lasts some milliseconds."""
    jax.block_until_ready(f(*arguments))
    samples, n, begin = [], 1, time.perf_counter()
    while len(samples) < 5 or time.perf_counter() - begin < SECONDS:
        start = time.perf_counter()
        for _ in range(n):
            y = f(*arguments)
        jax.block_until_ready(y)
        taken = time.perf_counter() - start
        if taken < 2e-3 and n < 1 << 20:
            n *= 2
            continue
        samples.append(taken / n)
    return samples, n


def main():
    sizes = [int(s) for s in sys.argv[1].split(",")] if len(sys.argv) > 1 else [2 ** k for k in range(11)]
    rng, rows = np.random.default_rng(1), []
    w, b = (jnp.asarray(rng.uniform(-1, 1, s), jnp.float32) for s in ((32, 64), (32,)))
    for batch in sizes:
        x = jnp.asarray(rng.uniform(-1, 1, (batch, 64)), jnp.float32)
        for name, form in FORMS.items():
            f, seconds = compiled(form, (w, b, x))
            samples, n = calls(f, (w, b, x))
            memory = f.memory_analysis()
            median = statistics.median(samples)
            rows.append({
                "case": "batching", "row": f"{name}, batch {batch}", "form": name, "batch": batch, "compile_s": seconds,
                "equations": len(jax.make_jaxpr(form)(w, b, x).eqns),
                "peak_bytes": memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes,
                "a": {"name": "JAX", "calls_per_sample": n, "median_s": median,
                      "mad_s": statistics.median(abs(s - median) for s in samples), "wall_s": samples}})
    json.dump({"format": "kiln-bench/1", "suite": "JAX", "machine": {"jax": jax.__version__, "python": sys.version.split()[0]}, "rows": rows}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
