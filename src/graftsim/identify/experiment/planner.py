"""What recordings of motions would teach, many side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from graftsim.engine.simulator import Simulator
from graftsim.identify.doubt.columns import Columns
from graftsim.identify.doubt.motion import motion_of
from graftsim.identify.doubt.standard import Number, candidates, nuisances
from graftsim.identify.experiment.motions import SAFE, Motions
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import WindowData
from graftsim.identify.runs.residual_program import ResidualProgram, compile_windows
from graftsim.optim.arrowhead import inverse
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import row_name

# So many numbers that may be wrong are allowed for while a motion is sought.
MOST = 8


@dataclass(frozen=True)
class Expected:
    """A parameter's standard deviation before, and after a fit of the proposed recording.

    after_with_file: if numbers that are not free may be wrong by their plausible sizes.
    """

    name: str
    unit: str
    value: float
    before: float
    after: float
    after_with_file: float


@dataclass(frozen=True)
class Excitation:
    """`plan`: a recording of commands `control[...]` and the motion they should give,
    `signal[desired.q:...]`, `signal[desired.qd:...]`. `used`: largest share of each limit, by name.
    """

    plan: Recording
    parameters: tuple[Expected, ...]
    used: dict[str, float]
    information: float
    information_of_sines: float


class Planner:
    """What recordings of motions would teach, many side by side."""

    def __init__(
        self,
        simulator: Simulator,
        free: Any,
        seconds: float,
        noise: float,
        horizon: float,
        nuisances: Mapping[str, float] | None,
    ) -> None:
        model, dt = simulator.model, float(simulator.dt)
        self.simulator, self.steps = simulator, max(round(horizon / dt), 2)
        self.windows = max(int(seconds / (self.steps * dt)), 1)
        self.time: Any = dt * np.arange(self.windows * self.steps + 1)
        names = {
            row_name("joint.q", n): u
            for n, u in zip(model.tree.dofs, model.tree.dof_units, strict=True)
        }
        still = names | {row_name("control", a): "" for a in model.actuator.names}
        nothing = np.zeros(len(self.time))
        rest = {name: Channel(name, self.time, nothing, unit) for name, unit in still.items()}
        self.problem = Problem(
            simulator, Recording(rest, name="plan"), free, holdout=0, growth=(1.0,),
            noise=dict.fromkeys(names, noise), horizon=self.steps * dt, nuisances=nuisances,
        )  # fmt: skip
        self.compiled = compile_windows(self.problem, self.problem.train_windows())
        # Numbers that are not free and may be wrong: those that the search allows for, of all.
        self.columns: Columns | None = None
        self.numbers: list[Number] = []
        self.sizes = np.zeros(0)

    def doubted(self, motions: Motions, x: np.ndarray, prior: np.ndarray, most: int = MOST) -> None:
        """Numbers that are not free may be wrong from here on: the most important in a motion x.

        most: how many; 0 for all.
        """
        numbers = candidates(self.problem)
        data = self._data(motions, x[None])[0]
        program = self.compiled.on(data)
        assert program is not None
        local = np.zeros((self.windows, self.problem.nlocal))
        theta = self.problem.parameters.start
        listed = nuisances(self.problem, numbers, motion_of(self.problem, program, theta, local))
        every = np.array([n.size for n in listed])
        self._with(program, numbers, every, (every > 0) & np.isfinite(every))
        if self.columns is None:
            return
        S, p = self._whole(data, 1)[0], len(prior)
        # Those without effect say nothing.
        known = np.isfinite(S[p:]).all(1) & (np.diag(S)[p:] > 0)
        if most:
            inside = np.linalg.pinv(S[:p, :p] + prior, hermitian=True)
            moves = np.abs(inside @ S[:p, p:] * self.sizes) / np.sqrt(np.diag(inside))[:, None]
            known[np.argsort(-np.where(known, moves.max(0), -1.0))[most:]] = False
        self._with(program, self.numbers, self.sizes, known)

    def _with(
        self,
        program: ResidualProgram,
        numbers: Sequence[Number],
        sizes: np.ndarray,
        use: np.ndarray,
    ) -> None:
        """Allow for some of these numbers."""
        self.numbers = [n for n, u in zip(numbers, use, strict=True) if u]
        self.sizes, self.columns = sizes[use], None
        if self.numbers:
            windows = self.problem.train_windows()
            self.columns = Columns(self.problem, program, windows, self.numbers, self.sizes)

    def information(self, motions: Motions, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """S [n, p, p] that recordings of motions x would give, and the shares of limits [n, nu].

        Less what goes into telling numbers that may be wrong, each known to its size.
        """
        data, share = self._data(motions, x)
        S = self._whole(data, len(x))
        p = len(self.problem.parameters)
        if S.shape[1] == p:
            return S, share
        across = S[:, :p, p:]
        inside = inverse(S[:, p:, p:] + np.diag(self.sizes**-2.0))
        return S[:, :p, :p] - across @ inside @ np.swapaxes(across, 1, 2), share

    def _data(self, motions: Motions, x: np.ndarray) -> tuple[WindowData, np.ndarray]:
        """Windows of motions x, and the shares of limits [n, nu]."""
        q, qd, qdd = motions.motion(x)
        u, share = motions.command(q, qd, qdd)
        n, W, H = len(x), self.windows, self.steps

        def cut(y: np.ndarray) -> np.ndarray:
            return y[:, :-1].reshape(n * W, H, -1)

        old, dtype = self.compiled.data, self.simulator.dt.dtype

        def again(leaf: Any) -> Any:
            return jnp.tile(jnp.asarray(leaf)[:1], (n * W,) + (1,) * (leaf.ndim - 1))

        data = WindowData(
            controls=jnp.asarray(cut(u), dtype),
            before=self._before(cut(u)),
            q0=jnp.asarray(cut(q)[:, 0], dtype),
            qd0=jnp.asarray(cut(qd)[:, 0], dtype),
            time=tuple(map(again, old.time)),
            value=tuple(map(again, old.value)),
            weight=tuple(map(again, old.weight)),
        )
        return data, share

    def _whole(self, data: WindowData, n: int) -> np.ndarray:
        """S [n, k, k] of n motions: of the parameters, and of numbers that may be wrong."""
        program = self.compiled.on(data)
        assert program is not None
        theta, local = self.problem.parameters.start, np.zeros((len(data.q0), self.problem.nlocal))
        _, J, L = program.jacobian(theta, local)
        if self.columns is not None:
            J = np.concatenate([J, self.columns.on(data).slopes(theta, local)], -1)
        C = np.swapaxes(L, 1, 2) @ L + np.diag(self.problem.local_std**-2.0)
        B = np.swapaxes(J, 1, 2) @ L
        S = np.swapaxes(J, 1, 2) @ J - B @ inverse(C) @ np.swapaxes(B, 1, 2)
        return S.reshape(n, self.windows, *S.shape[1:]).sum(1)

    def _before(self, u: np.ndarray) -> Any:
        """Commands before each window: its first."""
        back = self.simulator.back
        return jnp.asarray(np.repeat(u[:, :1], back, 1), self.simulator.dt.dtype) if back else ()

    def cost(self, motions: Motions, x: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """-log det of the information [n], dearer where more force is asked for than there is."""
        S, share = self.information(motions, x)
        p = self.problem.parameters
        size = np.where(p.start != 0, np.abs(p.start), 1.0)
        value = np.linalg.slogdet((S + prior) * np.outer(size, size))[1]
        over = np.log(np.maximum(share / SAFE, 1.0)).sum(1)
        cost = -value + 30.0 * over + 300.0 * over**2
        return np.where(np.isfinite(cost), cost, 1e9)

    def plan(self, motions: Motions, x: np.ndarray, prior: np.ndarray, first: float) -> Excitation:
        """The recording to be, and what is expected of it."""
        value = -float(self.cost(motions, x[None], prior)[0])
        q, qd, qdd = motions.motion(x[None])
        u, q, qd = motions.command(q, qd, qdd)[0][0], q[0], qd[0]
        doubted = self.columns is not None
        if doubted:
            self.doubted(motions, x, prior, most=0)
        wrong = _std(self.information(motions, x[None])[0][0] + prior)
        self.columns = None
        S, share = self.information(motions, x[None])
        before, after = (_std(m) for m in (prior, S[0] + prior))
        p, model = self.problem.parameters, self.simulator.model
        rows = zip(p.names, p.units, p.start, before, after, wrong, strict=True)
        channels = [
            Channel(row_name("control", name), self.time, u[:, i], "")
            for i, name in enumerate(model.actuator.names)
        ]
        for i, (name, unit) in enumerate(zip(model.tree.dofs, model.tree.dof_units, strict=True)):
            channels.append(Channel(f"signal[desired.q:{name}]", self.time, q[:, i], unit))
            channels.append(Channel(f"signal[desired.qd:{name}]", self.time, qd[:, i], f"{unit}/s"))
        fast = np.abs(qd).max(0) / motions.speed
        used = {
            f"force of {n}": float(x) for n, x in zip(model.actuator.names, share[0], strict=True)
        }
        used |= {f"speed of {n}": float(x) for n, x in zip(model.tree.dofs, fast, strict=True)}
        return Excitation(
            Recording({c.name: c for c in channels}, name="plan"),
            tuple(Expected(n, unit, *map(float, numbers)) for n, unit, *numbers in rows),
            used,
            value,
            first,
        )


def _std(information: np.ndarray) -> np.ndarray:
    d = 1 / np.sqrt(np.diag(information))
    return np.sqrt(np.diag(np.linalg.pinv(information * np.outer(d, d), hermitian=True))) * d
