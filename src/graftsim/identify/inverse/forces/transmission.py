"""Gears from motors to joints, coupled ones too: q_motor = R q_joint, tau_joint = R^T tau_motor.

Both follow from one matrix because a gear passes on all the power. Where a motor moves several
joints (a wrist), its friction and rotor act on all of them: they belong to the motor's speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from graftsim.errors import ProblemError
from graftsim.model.model import Model
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import row_name


@dataclass(frozen=True, eq=False)
class LinearTransmission:
    """R [motors, nv]: turns of each motor (a row) by turns of each degree of freedom.

    motors: their names. Raises ProblemError: R is not square and regular, names do not fit.
    """

    R: Float[np.ndarray, "nv nv"]
    motors: tuple[str, ...]

    def __post_init__(self) -> None:
        R = np.array(self.R, float)
        object.__setattr__(self, "R", R)
        object.__setattr__(self, "motors", tuple(self.motors))
        if R.ndim != 2 or R.shape[0] != R.shape[1] or not np.isfinite(R).all():
            raise ProblemError(f"Transmission: R must be [n, n] finite numbers, got {R.shape}.")
        if len(self.motors) != len(R) or len(set(self.motors)) != len(R):
            raise ProblemError(
                f"Transmission: {len(R)} different names of motors are needed, got {self.motors}."
            )
        if np.linalg.matrix_rank(R) < len(R):
            raise ProblemError("Transmission: R is singular, so motors do not tell the joints.")

    @property
    def coupled(self) -> tuple[int, ...]:
        """Motors that move more than one degree of freedom."""
        return tuple(np.flatnonzero(np.count_nonzero(self.R, 1) > 1).tolist())

    @property
    def speeds(self) -> Float[np.ndarray, "k nv"]:
        """Rows of R of the coupled motors, the largest entry 1: what they turn seen at the joint.

        So a coupled motor's inertia and friction are in joint units, as those of other joints are.
        """
        rows = self.R[list(self.coupled)]
        return rows / np.abs(rows).max(1, keepdims=True)

    def check(self, model: Model) -> None:
        """Raises ProblemError: R is not of the model's degrees of freedom."""
        if len(self.R) != model.nv:
            raise ProblemError(
                f"Transmission: R is {self.R.shape}, but the model has {model.nv} degrees of "
                f"freedom: {', '.join(model.tree.dofs)}."
            )

    def joints(
        self,
        model: Model,
        recording: Recording,
        *,
        positions: Sequence[str],
        efforts: Sequence[str],
        offset: Sequence[float] | None = None,
    ) -> Recording:
        """The recording with channels `joint.q` and `joint.tau` made of those of the motors.

        positions, efforts: a channel of each motor in order, all on one clock: rad and N m (or
        what is proportional to it). offset: added to each joint's position (rad).

        Raises ProblemError: channels that are too few or not on one clock.
        """
        self.check(model)
        channels = []
        for kind, unit, names, M in (
            ("joint.q", "rad", positions, np.linalg.inv(self.R)),
            ("joint.tau", "N m", efforts, self.R.T),
        ):
            given = [recording[name] for name in names]
            if len(given) != model.nv or any(
                not np.array_equal(c.time, given[0].time) for c in given
            ):
                raise ProblemError(
                    f"Transmission: {kind} needs a channel of each of the {model.nv} motors, all "
                    f"on one clock; got {', '.join(names) or 'none'}."
                )
            values = np.stack([c.values[:, 0] for c in given], 1) @ M.T
            if offset is not None and kind == "joint.q":
                values = values + np.asarray(offset, float)
            channels += [
                Channel(row_name(kind, dof), given[0].time, values[:, i], unit, ", ".join(names))
                for i, dof in enumerate(model.tree.dofs)
            ]
        for channel in channels:
            recording = recording.with_channel(channel)
        return recording
