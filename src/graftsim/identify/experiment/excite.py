"""The next experiment: a trajectory within the machine's limits that teaches most.

What a fit of the recording would know is the information S = sum_w J_w^T J_w of its windows, their
initial states unknown, added to what is known already, P. Coefficients of a Fourier series of each
joint maximise log det(S + P): D-optimality, the smallest ellipsoid of what is left unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.engine.simulator import Simulator
from graftsim.errors import ProblemError
from graftsim.identify.experiment.motions import SAFE, Motions
from graftsim.identify.problem.domains import Domain
from graftsim.identify.problem.parameters import Custom
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import WindowData
from graftsim.identify.runs.residual_program import compile_windows
from graftsim.optim.arrowhead import inverse
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import row_name

# Before any data a parameter is known to so many times its size (of one that starts at zero: 1).
UNKNOWN = 10.0
POPULATION = 16


@dataclass(frozen=True)
class FourierSearch:
    """Motions of so many `harmonics` a joint, improved for so many `generations` (CMA-ES)."""

    harmonics: int = 5
    generations: int = 40
    seed: int = 0


FOURIER = FourierSearch()


@dataclass(frozen=True)
class Expected:
    """A parameter's standard deviation before, and after a fit of the proposed recording."""

    name: str
    unit: str
    value: float
    before: float
    after: float


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


@one_blas_thread
def excite(
    simulator: Simulator,
    free: Mapping[str, Domain | Custom] | Sequence[str],
    *,
    seconds: float = 10.0,
    noise: float = 1e-3,
    velocity: float | Mapping[str, float] | None = None,
    middle: Mapping[str, float] | None = None,
    known: Mapping[str, float] | np.ndarray | None = None,
    horizon: float = 0.5,
    search: FourierSearch = FOURIER,
) -> Excitation:
    """Propose commands that make the free parameters best known.

    Positions stay within the model's joint limits, forces within its actuators', speeds below
    `velocity` (rad/s, m/s; one number, or by joint). middle: by joint, where to move about.
    noise: of the joint sensors (rad, m). known: standard deviations by name, or the covariance
    [p, p] of an earlier fit of the same parameters; what is not known is taken as unknown.
    horizon: of the windows of the fit to come (s).

    Raises ProblemError: a joint that nothing drives or that is no hinge or slide; the package
    `cmaes` is missing; the middle of the motion already asks for more force than there is.
    """
    try:
        from cmaes import CMA
    except ImportError as error:
        raise ProblemError("excite needs cmaes: pip install graftsim[search]") from error
    planner = _Planner(simulator, free, seconds, noise, horizon)
    motions = Motions(simulator.model, planner.time, search.harmonics, middle or {}, velocity)
    prior = _prior(planner.problem, known)
    walk = CMA(
        mean=np.zeros(motions.size), sigma=0.5, seed=search.seed, population_size=POPULATION
    )  # fmt: skip
    best, least = motions.sines(), float(planner.cost(motions, motions.sines()[None], prior)[0])
    first = -least
    for _ in range(search.generations):
        asked = np.array([walk.ask() for _ in range(POPULATION)])
        cost = planner.cost(motions, asked, prior)
        k = int(np.argmin(cost))
        if cost[k] < least:
            best, least = asked[k].copy(), float(cost[k])
        if walk.should_stop():
            break
        walk.tell(list(zip(asked, cost.tolist(), strict=True)))
    best = _feasible(motions, best)
    return planner.plan(motions, best, prior, first)


def _feasible(motions: Motions, x: np.ndarray) -> np.ndarray:
    """The motion, made smaller until no force is beyond its limit."""

    def inside(size: float) -> bool:
        return float(motions.command(*motions.motion(size * x[None]))[1].max()) <= SAFE

    if inside(1.0):
        return x
    if not inside(0.0):
        raise ProblemError(
            f"Holding still at the middle of the motion already takes more than {SAFE:.0%} of an "
            "actuator's force: give another middle=."
        )
    low, high = 0.0, 1.0
    for _ in range(20):
        half = (low + high) / 2
        low, high = (half, high) if inside(half) else (low, half)
    return low * x


def _prior(problem: Problem, known: Mapping[str, float] | np.ndarray | None) -> np.ndarray:
    """What is known before [p, p], as information in the parameters' units."""
    by_name, covariance = (known, None) if isinstance(known, Mapping) else ({}, known)
    p = problem.parameters
    size = np.where(p.start != 0, np.abs(p.start), 1.0)
    std = np.minimum(UNKNOWN * size, p.prior_std)
    for name, value in by_name.items():
        if name in p.names and np.isfinite(value):
            std[p.names.index(name)] = value
    prior = np.diag(std**-2.0)
    if covariance is None:
        return prior
    if np.shape(covariance) != prior.shape:
        raise ProblemError(
            f"known, a covariance, has the shape {np.shape(covariance)}, but {len(p)} parameters "
            "are free: "
            f"{', '.join(p.names)}."
        )
    free = np.isfinite(np.diag(covariance))
    inside = np.asarray(covariance, float)[np.ix_(free, free)]
    prior[np.ix_(free, free)] = np.linalg.pinv(inside, hermitian=True)
    return prior


class _Planner:
    """What recordings of motions would teach, many side by side."""

    def __init__(
        self, simulator: Simulator, free: Any, seconds: float, noise: float, horizon: float
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
            noise=dict.fromkeys(names, noise), horizon=self.steps * dt,
        )  # fmt: skip
        self.compiled = compile_windows(self.problem, self.problem.train_windows())

    def information(self, motions: Motions, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """S [n, p, p] that recordings of motions x would give, and the shares of limits [n, nu]."""
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
        program = self.compiled.on(data)
        assert program is not None
        local = np.zeros((n * W, self.problem.nlocal))
        _, J, L = program.jacobian(self.problem.parameters.start, local)
        C = np.swapaxes(L, 1, 2) @ L + np.diag(self.problem.local_std**-2.0)
        B = np.swapaxes(J, 1, 2) @ L
        S = np.swapaxes(J, 1, 2) @ J - B @ inverse(C) @ np.swapaxes(B, 1, 2)
        return S.reshape(n, W, *S.shape[1:]).sum(1), share

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
        S, share = self.information(motions, x[None])
        q, qd, qdd = motions.motion(x[None])
        u, q, qd = motions.command(q, qd, qdd)[0][0], q[0], qd[0]
        before, after = (_std(m) for m in (prior, S[0] + prior))
        p, model = self.problem.parameters, self.simulator.model
        rows = zip(p.names, p.units, p.start, before, after, strict=True)
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
            tuple(Expected(n, u_, float(v), float(b), float(a)) for n, u_, v, b, a in rows),
            used,
            -float(self.cost(motions, x[None], prior)[0]),
            first,
        )


def _std(information: np.ndarray) -> np.ndarray:
    d = 1 / np.sqrt(np.diag(information))
    return np.sqrt(np.diag(np.linalg.pinv(information * np.outer(d, d), hermitian=True))) * d
