#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MADDENING, measured beside Kiln.

Answers one line of JSON for each line of JSON on standard input; the runner asks in turn with its own samples, so that both sides
meet the same machine. Confined to the processors that the runner left it.

    {"do": "hello"}                                          versions, processors
    {"do": "values", "graph": G, "steps": N, "how": HOW}     the state after N steps from the start
    {"do": "time", "graph": G, "steps": N, "how": HOW}       seconds of N steps from the start, by the wall and by the
                                                             processor; all compiled before
    {"do": "profile", "graph": G}                            what profile_graph says of it

HOW is "step" (one call a step; the results are waited for once, at the end, as a user's loop may do) or "scan" (run_scan).
An answer with "error" says in one line what went wrong.
"""
import json
import os
import sys
import time
import warnings

from peer import serve

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]  # else this file would be the package of its name
os.environ.setdefault("JAX_PLATFORMS", "cpu")
warnings.filterwarnings("ignore")

try:
    import jax
    import jax.numpy as jnp
    import maddening
    import numpy as np
    from maddening.core.graph_manager import GraphManager
    from maddening.core.simulation.profiler import profile_graph
    from maddening.nodes import BallNode, HealthCheckNode, HeartPumpNode, HeatNode, RigidBodyNode, SpringDamperNode, TableNode
except ImportError as missing:
    print(json.dumps({"error": f"{missing.name or missing} is not installed in {sys.prefix}"}), flush=True)
    sys.exit(1)


def spring_body():
    """graphs/spring-body.yaml"""
    g, dt = GraphManager(), 2e-3
    g.add_node(SpringDamperNode(name="spring", timestep=dt, stiffness=30.0, damping=0.5, mass=0.2, rest_length=0.0, initial_position=1.0))
    g.add_node(RigidBodyNode(name="body", timestep=dt, mass=3.0, gravity=(0, 0, -0.2), initial_position=(0, 0, 1.2),
                             initial_velocity=(0.1, 0, 0)))
    g.add_edge("body", "spring", "position", "anchor_position", transform=lambda p: p[2])
    g.add_edge("spring", "body", "position", "force", transform=lambda x: jnp.zeros(3, jnp.float32).at[2].set(-20 * x))
    return g


def rods():
    """graphs/rods-64-aitken.yaml"""
    g, n, alpha = GraphManager(), 64, 0.1
    dt, x = 0.2 / n**2 / alpha, (np.arange(n) + 0.5) / n
    for name, start in (("hot", 300 + 60 * np.sin(np.pi * x)), ("cold", 320 - 20 * x)):
        g.add_node(HeatNode(name=name, timestep=dt, n_cells=n, thermal_diffusivity=alpha, initial_temperature=start))
    g.add_edge("cold", "hot", "temperature", "right_temperature", transform=lambda t: t[0])
    g.add_edge("hot", "cold", "temperature", "left_temperature", transform=lambda t: t[-1])
    g.add_coupling_group(["hot", "cold"], acceleration="aitken", max_iterations=20, tolerance=1e-5)
    return g


def mixed():
    """graphs/mixed-25.yaml"""
    g = GraphManager()
    for i in range(10):
        g.add_node(SpringDamperNode(name=f"s{i}", timestep=0.005, stiffness=80.0 + 5 * i, damping=2.0, rest_length=0.0,
                                    initial_position=0.1 * i))
    for i in range(5):
        g.add_node(SpringDamperNode(name=f"c{i}", timestep=0.01, stiffness=6000.0, damping=90.0, rest_length=0.0,
                                    initial_position=1 - 0.4 * i))
    for i in range(4):
        g.add_node(HeatNode(name=f"rod{i}", timestep=0.005, n_cells=32, thermal_diffusivity=0.02,
                            initial_temperature=300 + 15 * np.arange(32.0)))  # i of that expression counts the cells
    for i in range(2):
        g.add_node(BallNode(name=f"ball{i}", timestep=0.0025, initial_position=1.0 + i))
    g.add_node(TableNode(name="table", timestep=0.0025))
    g.add_node(HeartPumpNode(name="heart", timestep=0.01))
    g.add_node(RigidBodyNode(name="body", timestep=0.005, gravity=(0, 0, 0)))
    g.add_node(HealthCheckNode(name="watch", timestep=0.01, checks={"v": {"finite": True, "max_abs": 5.0}}))

    def pull(source, target, factor):
        g.add_edge(source, target, "position", "anchor_position", transform=lambda x: factor * x, additive=True)

    for i in range(9):
        pull(f"s{i}", f"s{i + 1}", 0.4)
    pull("ball0", "s0", 0.2)
    for i in range(4):
        pull(f"c{i + 1}", f"c{i}", 0.4)
    for i in range(1, 5):
        pull(f"c{i - 1}", f"c{i}", 0.4)
    pull("s9", "c0", 0.1)
    for i in range(3):
        g.add_edge(f"rod{i + 1}", f"rod{i}", "temperature", "right_temperature", transform=lambda t: t[0])
    for i in range(3):
        g.add_edge(f"rod{i}", f"rod{i + 1}", "temperature", "left_temperature", transform=lambda t: t[-1])
    for i in range(2):
        g.add_edge("table", f"ball{i}", "position", "table_position")
    g.add_edge("s3", "heart", "position", "backpressure", transform=lambda x: 10 * x)
    g.add_edge("c2", "body", "position", "force", transform=lambda x: jnp.zeros(3, jnp.float32).at[0].set(x))
    g.add_edge("s5", "watch", "velocity", "v")
    g.add_coupling_group([f"c{i}" for i in range(5)], acceleration="aitken", max_iterations=30, tolerance=1e-4)
    g.add_coupling_group([f"rod{i}" for i in range(4)], max_iterations=20, tolerance=1e-6)
    return g


MAKERS = {"spring-body": spring_body, "rods-64-aitken": rods, "mixed-25": mixed}
graphs, ready = {}, set()


def advance(g, how, steps):
    if how == "scan":
        state = g.run_scan(steps)
    else:
        for _ in range(steps):
            state = g.step()
    return jax.block_until_ready(state)


def start(name, how, steps):
    """The graph at its initial state, with everything that the calls need compiled."""
    if name not in graphs:
        graphs[name] = MAKERS[name]()
    g, key = graphs[name], (name, how, steps if how == "scan" else 0)
    if key not in ready:
        g.reset_state()
        advance(g, how, steps if how == "scan" else 5)
        ready.add(key)
    g.reset_state()
    return g


def hello(_):
    return {"maddening": maddening.__version__, "jax": jax.__version__, "numpy": np.__version__, "python": sys.version.split()[0],
            "processors": sorted(os.sched_getaffinity(0)), "device": str(jax.devices()[0])}


def values(ask):
    g = start(ask["graph"], ask["how"], ask["steps"])
    state = advance(g, ask["how"], ask["steps"])
    fields = {f"{n}.{f}": np.ravel(np.asarray(v, np.float64)).tolist() for n, d in state.items() for f, v in d.items()}
    return {"fields": fields}


def timed(ask):
    g = start(ask["graph"], ask["how"], ask["steps"])
    spent, begin = time.process_time(), time.perf_counter()
    advance(g, ask["how"], ask["steps"])
    end = time.perf_counter()
    return {"seconds": end - begin, "processor_seconds": time.process_time() - spent}


def profiled(ask):
    return {"report": str(profile_graph(start(ask["graph"], "step", 0)))}


ACTIONS = {"hello": hello, "values": values, "time": timed, "profile": profiled}


if __name__ == "__main__":
    serve(ACTIONS)
