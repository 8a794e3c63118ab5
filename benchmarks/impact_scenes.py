"""graftsim's answers to the impact rows: the scenes as models, and their slopes in forward mode.

    python benchmarks/impact_scenes.py ROW ...

prints the slopes of `Complementarity` in float32 at the longer step as JSON, for the column of the
conformance table: float types are chosen when JAX starts, so it is a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from impact_rows import CHECKS, Check
from impacts_scenes import FreeScene, LegScene, PendulumScene, Scene

import graftsim as gs


@dataclass(frozen=True)
class Spring:
    """Of the compliant model: stiffness (N/m^n), exponent n, and the length of a sub-step (s).

    As stiff as to be rigid: 0.3 mm deep at 1 m/s, and 0.04 mm. Where contact begins within a
    sub-step must not matter, so the force begins smoother than that of any real surface.
    """

    stiffness: float
    exponent: float
    substep: float


SPRINGS = (Spring(1e23, 5.0, 4e-6), Spring(1e28, 5.0, 5e-7))  # at the longer and shorter step


def model_of(scene: Scene, stiffness: float = 1e6) -> gs.Model:
    """With the numbers of the surfaces where every pair has them."""
    surface = {"restitution": scene.e, "friction": scene.mu, "stiffness": stiffness,
               "dissipation": 0.0, "friction_velocity": 1e-3}  # fmt: skip
    match scene:
        case FreeScene():
            return _free(scene, surface)
        case PendulumScene():
            return _pendulum(scene, surface)
        case LegScene():
            return _leg(scene)
    raise NotImplementedError(type(scene).__name__)


def _free(scene: FreeScene, surface: dict[str, float]) -> gs.Model:
    builder = gs.Builder("impact", gravity=(0, 0, -scene.gravity))
    for k, f in enumerate(scene.fixed):
        builder.geom(f.kind, f.size, name=f"fixed{k}", position=f.at, rotation=f.rotation)
    for b in scene.bodies:
        corners = np.array(b.vertices) if b.vertices else None
        builder.link(b.name, joint="free", mass=b.mass, inertia=b.inertia)
        builder.geom(b.kind, b.size, b.name, rotation=b.turned, name=b.name, vertices=corners,
                     **surface)  # fmt: skip
    return builder.build()


def _pendulum(scene: PendulumScene, surface: dict[str, float]) -> gs.Model:
    builder = gs.Builder("pendulum", gravity=(0, 0, -scene.gravity))
    half = float(np.sqrt(0.5))
    builder.geom(
        "plane", (), name="wall", position=(scene.wall, 0, 0), rotation=(half, 0, -half, 0)
    )
    p = scene.pendulum
    for k, (name, above) in enumerate((("upper", "world"), ("lower", "upper"))):
        builder.link(
            name, above, axis=(0, 1, 0), origin=(0, 0, -p.lengths[0] * k), mass=p.masses[k],
            com=(0, 0, -p.centres[k]), inertia=p.inertias[k],
        )  # fmt: skip
    builder.geom("sphere", scene.radius, "lower", (0, 0, -p.lengths[1]), name="tip", **surface)
    return builder.build()


def _leg(scene: LegScene) -> gs.Model:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "leg.urdf"
        file.write_text(scene.text(), encoding="utf-8")
        model = gs.load(file, base="fixed", ground=scene.floor)
    model = gs.model.keep_pairs(model, "*toe*")
    return gs.model.with_leaf(model, "joint.armature", jnp.full(model.nv, scene.armature))


def slopes(
    scene: Scene, law: Any, dt: float, *, backend: Any = "kernel", spring: Spring | None = None,
    longest: int = 0, mode: Any = jax.jacfwd,
) -> np.ndarray:  # fmt: skip
    """d(outputs)/d(inputs) [k, n] of a roll-out.

    `longest`: steps to compute, if more than needed: of one number there is one compilation.
    """
    model = model_of(scene) if spring is None else model_of(scene, spring.stiffness)
    names = [list(model.tree.coordinates), list(model.tree.dofs)]
    assert names == list(scene.labels()), (names, scene.labels())
    how: dict[str, Any] = {}
    if spring is not None:
        how = {"substeps": round(dt / spring.substep), "integrator": gs.RungeKutta4()}
    simulator = gs.Simulator(model, dt, contact=law, **how)
    (q, v), (of_q, of_v), B = scene.start(), scene.weights(), scene.spread()
    torques = np.array(getattr(scene, "torques", ()))
    steps = round(scene.T / dt)
    controls = np.tile(torques[: model.nu], (max(steps, longest), 1))

    def final(z: jax.Array) -> jax.Array:
        numbers = {
            "pair.restitution": scene.e + B["e"] @ z,
            "pair.friction": scene.mu + B["mu"] @ z,
        }
        changed = model
        for name, x in numbers.items():
            changed = gs.model.with_leaf(changed, name, jnp.broadcast_to(x, len(model.pair.names)))
        start = simulator.initial_state(q + B["q"] @ z, v + B["v"] @ z)
        path = replace(simulator, model=changed).rollout(start, controls, backend=backend)
        return of_q @ path.q[steps] + of_v @ path.qd[steps]

    return np.asarray(mode(final)(jnp.zeros(len(scene.inputs))), float)


def laws(check: Check) -> dict[str, Any]:
    """The impulse laws that a row is for."""
    more = {} if check.impacts is None else {"max_impacts": check.impacts}
    found = {"ncp": gs.contact.Complementarity(**more)}
    if not check.scene.cone_only:
        found["lcp"] = gs.contact.LinearComplementarity(**more)
    return found


def by_springs(check: Check) -> bool:
    """Whether a stiff spring has the same answer: elastic, and no more than sliding."""
    scene = check.scene
    return scene.e == 1 and not scene.cone_only and "stick" not in scene.modes


def answers(row: str) -> dict[str, list[float]]:
    """Slopes at all steps of a row, for each law that is for it."""
    check = CHECKS[row]
    longest = round(check.scene.T / min(check.steps))
    found = {
        name: [slopes(check.scene, law, dt, longest=longest) for dt in check.steps]
        for name, law in laws(check).items()
    }
    if by_springs(check):
        law = gs.contact.SpringDamper(SPRINGS[0].exponent, friction="coulomb")
        both = zip(check.steps, SPRINGS, strict=True)
        found["compliant"] = [slopes(check.scene, law, dt, spring=spring) for dt, spring in both]
    return {name: np.ravel(each).tolist() for name, each in found.items()}


@cache
def in_single(rows: tuple[str, ...]) -> dict[str, Any]:
    """Slopes by `Complementarity` in float32 at the longer step, or what went wrong, by row."""
    command = [sys.executable, __file__, *rows]
    environment = os.environ | {"JAX_ENABLE_X64": "0"}
    done = subprocess.run(command, text=True, capture_output=True, check=True, env=environment)
    return json.loads(done.stdout)


def main() -> int:
    found: dict[str, Any] = {}
    for row in sys.argv[1:]:
        check = CHECKS[row]
        try:
            found[row] = slopes(check.scene, laws(check)["ncp"], check.steps[0]).ravel().tolist()
        except Exception as error:
            found[row] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
