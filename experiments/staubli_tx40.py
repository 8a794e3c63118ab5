"""A real industrial arm with a coupled wrist, from motor positions and currents alone.

Data: Stäubli TX40 (`staubli_tx40` under GRAFTSIM_DATA), an exciting motion at 5 kHz. Motor 6 turns
with joints 5 and 6, so its friction and rotor act on both. The last quarter is held out; `--judge`
names a folder with recordings that were not seen. Beside the figures: the plain regression with
Pinocchio's regressor, and what the publishers found.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")

import inverse_figures as shared
import numpy as np
from plain_regression import Plain

import graftsim as gs
from graftsim.identify.problem.measurements import held_out
from graftsim.targets import Figures

DOFS = tuple(f"joint_{i}" for i in range(1, 7))
MOTORS = tuple(f"motor_{i}" for i in range(1, 7))
RATIOS = (32.0, 32.0, 45.0, -48.0, 45.0, 32.0)
OFFSET = (0.0, -np.pi / 2, np.pi / 2, 0.0, 0.0, 0.0)
# What the publishers found, in joint units.
PUBLISHED = {
    "joint.damping": (8.05, 5.53, 1.97, 1.11, 1.86, 0.65),
    "joint.friction": (7.14, 8.26, 6.34, 2.48, 3.03, 0.282),
    "joint.armature": (0.362, 0.362, 0.0988, 0.0313, 0.0468, 0.0105),
    "joint.offset": (0.392, 1.37, 0.326, -0.102, -0.0288, 0.127),
}
COUPLED = {"motor.armature": 0.00964, "motor.damping": 0.616, "motor.friction": 1.95}


def transmission() -> gs.LinearTransmission:
    """q_motor = R q_joint."""
    R = np.diag(RATIOS)
    R[5, 4] = RATIOS[5]
    return gs.LinearTransmission(R, MOTORS)


def read(model: gs.Model, path: Path) -> gs.Recording:
    """Joint positions and forces of motor positions and currents."""
    with np.load(path) as file:
        time, kinds = file["time"], {"q": file["motor_position"], "i": file["motor_current"]}
    channels = {}
    for kind, values in kinds.items():
        for motor, column in zip(MOTORS, values.T, strict=True):
            name = f"signal[{motor}.{kind}]"
            channels[name] = gs.Channel(name, time, column, "SI")
    names = {k: [f"signal[{m}.{k}]" for m in MOTORS] for k in kinds}
    recording = gs.Recording(channels, path.stem)
    return transmission().joints(
        model, recording, positions=names["q"], efforts=names["i"], offset=OFFSET
    )


def friction_figures(figures: Figures, fit: gs.InverseFit) -> None:
    """Joint by joint, beside what is published."""
    published = {
        f"{quantity}[{dof}]": value
        for quantity, values in PUBLISHED.items()
        for dof, value in zip(DOFS, values, strict=True)
    }
    published |= {f"{quantity}[motor_6]": value for quantity, value in COUPLED.items()}
    for row in fit.numbers:
        if row.name in published:
            figures.note(row.name, row.value, row.unit)
            figures.note(f"{row.name}, published", published[row.name], row.unit)


def main() -> int:
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--judge", metavar="FOLDER", help="recordings to judge by, not seen so far")
    arguments = parser.parse_args()
    folder = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data")) / "staubli_tx40"
    if not folder.is_dir():
        print(f"No recordings in {folder}: set GRAFTSIM_DATA to the data folder.", file=sys.stderr)
        return 2
    # The file's last link has a mass and no inertia about its axis.
    model = gs.load(folder / "tx40.urdf", base="fixed", armature={"joint_6": 0.01})
    given = [read(model, folder / "train.npz")]
    train, held = held_out(given, 0.25)
    if arguments.judge:
        train, held = given, [read(model, path) for path in shared.files_of(arguments.judge)]
    fit = shared.fitted(model, train, holdout=held, transmission=transmission())
    figures = Figures("Staubli TX40", seed=arguments.seed, json_path=arguments.json)
    plain = Plain(model, tuple(transmission().speeds), rotor=True)
    shared.force_figures(figures, fit, plain.errors(train, held, fit.filtering))
    friction_figures(figures, fit)
    shared.quarter_figures(figures, model, given[0], plain, transmission=transmission())
    shared.base_figures(figures, fit)
    shared.body_figures(figures, fit.model)
    return shared.finish(figures, fit)


if __name__ == "__main__":
    sys.exit(main())
