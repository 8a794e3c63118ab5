"""Draw the gallery's pictures of examples that have none: python docs/make_gallery.py."""

import os
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import graftsim as gs

IMAGES = Path(__file__).parent / "images"


def picture(
    name: str, x: str, y: str, *curves: tuple, style: str = "-", scale: str = "linear"
) -> None:
    """A plot of curves (abscissa, ordinate, label); those without a label have no legend."""
    figure = Figure(figsize=(4, 2.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for abscissa, ordinate, label in curves:
        axes.plot(abscissa, ordinate, style, label=label or None, lw=1.5, ms=3)
    axes.set(xlabel=x, ylabel=y, yscale=scale)
    if any(label for _, _, label in curves):
        axes.legend(frameon=False, fontsize=8)
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})


def pendulum(links: int = 1, **numbers: float) -> gs.Model:
    """Rods of 0.4 m, one under the other."""
    builder, parent = gs.Builder("pendulum"), "world"
    for i in range(links):
        origin = (0, 0, -0.4) if i else (0, 0, 0)
        link = {"axis": (0, 1, 0), "mass": 1.0, "com": (0, 0, -0.2), "inertia": 0.013} | numbers
        builder.link(f"rod{i}", parent, origin=origin, **link)
        parent = f"rod{i}"
    return builder.build()


def swing() -> None:
    """A double pendulum, its energy, and how its end depends on a mass."""
    simulator = gs.Simulator(pendulum(2), 0.005, integrator=gs.RungeKutta4())
    run = simulator.rollout(simulator.initial_state([1.2, 0.5]), steps=600)
    both = (np.asarray(run.q)[:, 0], "upper"), (np.asarray(run.q)[:, 1], "lower")
    picture("example_swing", "time (s)", "angle (rad)", *((run.time, q, n) for q, n in both))

    def angles(factor):
        model = gs.model.with_leaf(simulator.model, "link.mass", jnp.array([1.0, 1.0]) * factor)
        other = gs.Simulator(model, 0.005, integrator=gs.RungeKutta4())
        return other.rollout(other.initial_state([1.2, 0.5]), steps=200).q[:, 0]

    lower = jnp.array([0.0, 1.0])
    slope = jax.jvp(lambda s: angles(1 + s * lower), (0.0,), (1.0,))[1]
    h = 1e-5
    differences = (angles(1 + h * lower) - angles(1 - h * lower)) / (2 * h)
    time = run.time[:201]
    curves = (time, slope, "derivative"), (time[::10], differences[::10], "differences")
    picture("example_gradient", "time (s)", "d angle / d mass (rad/kg)", *curves)


def friction() -> None:
    """What dry friction takes, and how well its size is known."""
    model = pendulum(1, friction=0.1, damping=0.02)
    simulator = gs.Simulator(model, 0.005, integrator=gs.ImplicitDamping())
    run = simulator.rollout(
        simulator.initial_state([1.2]), steps=800, record=("joint.tau_friction[*]",)
    )
    tau = run.recorded["joint.tau_friction[*]"][:, 0]
    picture("example_friction", "time (s)", "friction (N m)", (run.time[:-1], tau, ""))


def lanes() -> None:
    """Starts side by side."""
    simulator = gs.Simulator(pendulum(), 0.005, integrator=gs.RungeKutta4())
    starts = jnp.linspace(-3.0, 3.0, 25)
    q = jax.vmap(lambda a: simulator.rollout(simulator.initial_state([a]), steps=400).q[:, 0])(
        starts
    )
    time = 0.005 * np.arange(401)
    picture("example_lanes", "time (s)", "angle (rad)", *((time, x, "") for x in q))


def bounce() -> None:
    """A ball that bounces."""
    builder = gs.Builder("ball")
    builder.link("ball", joint="prismatic", axis=(0, 0, 1), mass=0.2, inertia=1e-4)
    builder.geom("sphere", 0.05, "ball", restitution=0.8).geom("plane", (), name="floor")
    law = gs.contact.Complementarity()
    simulator = gs.Simulator(builder.build(), 0.002, contact=law)
    run = simulator.rollout(simulator.initial_state([1.0]), steps=1200)
    picture("example_bounce", "time (s)", "height (m)", (run.time, run.q[:, 0], ""))


if __name__ == "__main__":
    swing()
    friction()
    lanes()
    bounce()
