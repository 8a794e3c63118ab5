"""Draw the README's picture: a filmed double pendulum before and after its fit.

Run in the repository's root after the README's first command: python docs/make_picture.py
"""

import os

os.environ.setdefault("JAX_ENABLE_X64", "1")

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import graftsim as gs

FOLDER = "examples/double_pendulum"
RUN, BEGIN, SECONDS = "run03", 6.0, 0.5


def main() -> None:
    """Simulate a held-out stretch from its measured state: the file's numbers, then the fitted."""
    recording = gs.read_recording(f"{FOLDER}/{RUN}.csv")
    fitted = gs.load("double-pendulum-fit/robot.xml")
    start = gs.load(f"{FOLDER}/double_pendulum.urdf")
    channels = [recording[f"joint.q[arm{i}]"] for i in (1, 2)]
    time = channels[0].time
    inside = (time >= BEGIN) & (time <= BEGIN + SECONDS)
    q = np.stack([c.values[:, 0] for c in channels], -1)
    near = np.abs(time - BEGIN) <= 0.0101
    fits = [np.polyfit(time[near] - BEGIN, q[near, i], 2) for i in range(2)]
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2)
    for model, style in ((start, "robot file"), (fitted, "fitted")):
        simulator = gs.Simulator(model, 1 / 400, integrator=gs.RungeKutta4())
        state = simulator.initial_state([f[2] for f in fits], [f[1] for f in fits])
        motion = np.asarray(simulator.rollout(state, steps=int(inside.sum()) - 1).q)
        color = "tab:orange" if style == "robot file" else "tab:blue"
        for i, ax in enumerate(axes):
            ax.plot(time[inside] - BEGIN, motion[:, i], color=color, label=style, lw=1.6)
    for i, ax in enumerate(axes):
        ax.plot(time[inside] - BEGIN, q[inside, i], "k.", ms=2.5, label="filmed", zorder=0)
        ax.set_title(("inner arm", "outer arm, relative to the inner")[i], fontsize=10)
        ax.set_xlabel("time (s)")
        ax.set_ylabel("angle (rad)")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False)
    figure.savefig("docs/images/double_pendulum.svg")


if __name__ == "__main__":
    main()
