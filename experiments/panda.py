"""A Franka Panda's inertias and friction, from the torque sensors of its joints.

Data: `panda_exciting` under GRAFTSIM_DATA. The kinematics are the maker's (Denavit-Hartenberg after
Craig), the start are the published inertias (Gaz, Cognetti, Oliva, Robuffo Giordano, De Luca, RA-L
2019). The sensors sit behind the gears, so a rotor's inertia is not felt. The last quarter is held
out; `--judge` names a folder with recordings that were not seen.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")

import inverse_figures as shared
import numpy as np
from plain_regression import Plain

import graftsim as gs
from graftsim.identify.inverse.forces.term import Motion
from graftsim.identify.inverse.forces.terms import Inertias
from graftsim.identify.inverse.signals import parallel, samples
from graftsim.identify.problem.measurements import held_out
from graftsim.targets import Figures

# a (m), d (m), alpha (quarter turns) of each joint.
DH = (
    (0, 0.333, 0),
    (0, 0, -1),
    (0, 0.316, 1),
    (0.0825, 0, 1),
    (-0.0825, 0.384, -1),
    (0, 0, 1),
    (0.088, 0, 1),
)
# Published: mass, centre of mass, xx yy zz xy xz yz about it.
# fmt: off
INERTIAS = (
    (4.970684, (3.875e-3, 2.081e-3, -4.762e-2),
     (0.70337, 0.70661, 0.0091170, -0.00013900, 0.0067720, 0.019169)),
    (0.646926, (-3.141e-3, -2.872e-2, 3.495e-3),
     (0.0079620, 0.028110, 0.025995, -0.003925, 0.010254, 0.000704)),
    (3.228604, (2.7518e-2, 3.9252e-2, -6.6502e-2),
     (0.037242, 0.036155, 0.010830, -0.004761, -0.011396, -0.012805)),
    (3.587895, (-5.317e-2, 1.04419e-1, 2.7454e-2),
     (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641)),
    (1.225946, (-1.1953e-2, 4.1065e-2, -3.8437e-2),
     (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229)),
    (1.666555, (6.0149e-2, -1.4117e-2, -1.0517e-2),
     (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341)),
    (0.735522, (1.0517e-2, -4.252e-3, 6.1597e-2),
     (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741)),
)
# fmt: on
# Published friction, A / (1 + exp(-alpha (qd + v))) less its value at rest: A, v and alpha.
FRICTION = (
    (0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489),
    (0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526),
    (5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336),
)
CUT = 0.25


def model() -> gs.Model:
    """The arm as published."""
    b = gs.Builder("panda")
    for i, ((a, d, quarters), (mass, com, inertia)) in enumerate(zip(DH, INERTIAS, strict=True)):
        alpha = quarters * np.pi / 2
        b.link(
            f"link{i + 1}",
            f"link{i}" if i else "world",
            joint_name=f"joint{i + 1}",
            axis=(0, 0, 1),
            origin=(a, -d * np.sin(alpha), d * np.cos(alpha)),
            rotation=(np.cos(alpha / 2), np.sin(alpha / 2), 0, 0),
            mass=mass,
            com=com,
            inertia=inertia,
        )
    return b.build()


def read(path: Path) -> gs.Recording:
    """On the clock of its time stamps. They jitter, but on an even grid of 1 ms a quarter of a
    second would be lost over the run, and derivatives with it.
    """
    channels = {}
    with np.load(path) as file:
        for quantity, array, unit in (
            ("joint.q", "q", "rad"),
            ("joint.qd", "qd", "rad/s"),
            ("joint.tau", "tau", "N m"),
        ):
            for i, column in enumerate(file[array].T):
                name = f"{quantity}[joint{i + 1}]"
                channels[name] = gs.Channel(name, file["t"], column, unit)
    return gs.Recording(channels, path.stem)


def published_error(panda: gs.Model, held: Sequence[gs.Recording], fit: gs.InverseFit) -> float:
    """Root-mean-square torque that published inertias and friction leave, in the same band."""
    A, v, alpha = map(np.array, FRICTION)
    errors = []
    for piece in samples(panda, tuple(held), fit.filtering):
        motion = Motion(panda, piece.q, piece.qd, piece.qdd)
        links = Inertias().columns(motion)
        sigmoid = A / (1 + np.exp(-alpha * (piece.qd + v))) - A / (1 + np.exp(-alpha * v))
        left = piece.tau - links.forces @ links.start - sigmoid
        errors.append(parallel(piece.t, left, fit.filtering))
    return shared.together(np.concatenate(errors))


def main() -> int:
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--judge", metavar="FOLDER", help="recordings to judge by, not seen so far")
    arguments = parser.parse_args()
    folder = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data")) / "panda_exciting"
    if not folder.is_dir():
        print(f"No recordings in {folder}: set GRAFTSIM_DATA to the data folder.", file=sys.stderr)
        return 2
    panda, given = model(), [read(path) for path in shared.files_of(folder)]
    train, held = held_out(given, CUT)
    if arguments.judge:
        train, held = given, [read(path) for path in shared.files_of(arguments.judge)]
    terms = [t for t in gs.FORCE_TERMS if t.name != "joint.armature"]
    fit = shared.fitted(panda, train, holdout=held, terms=terms)
    figures = Figures("Franka Panda", seed=arguments.seed, json_path=arguments.json)
    shared.force_figures(figures, fit, Plain(panda).errors(train, held, fit.filtering))
    shared.quarter_figures(figures, panda, given[0], Plain(panda), terms=terms)
    figures.note("all joints, held out, published", published_error(panda, held, fit), "N m")
    shared.base_figures(figures, fit)
    for i, amplitude in enumerate(FRICTION[0]):
        name = f"joint.friction[joint{i + 1}]"
        figures.note(name, fit.value(name), "N m")
        figures.note(f"{name}, published, half of the sigmoid", amplitude / 2, "N m")
    shared.body_figures(figures, fit.model)
    return shared.finish(figures, fit)


if __name__ == "__main__":
    sys.exit(main())
