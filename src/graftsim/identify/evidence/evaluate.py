"""Judgement: errors before and after, on windows that were fitted and on windows that were not."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from graftsim.errors import ModelError
from graftsim.identify import words
from graftsim.identify.doubt.sentences import conditional
from graftsim.identify.doubt.step import change_of_residuals, steps_matter
from graftsim.identify.doubt.verdicts import most_moved
from graftsim.identify.evidence.bootstrap import FEW_BLOCKS
from graftsim.identify.evidence.certainty import Certainty
from graftsim.identify.problem import residuals
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.windows import Windows, unmeasured
from graftsim.identify.results.between_recordings import Spread, disagree
from graftsim.identify.results.result import ErrorRow, ParameterRow, Replay, Trace
from graftsim.identify.runs.initial_states import best_initial_states
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.identify.words import Status
from graftsim.model import checks
from graftsim.model.model import Model
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.optim.local_solver import Point
from graftsim.selectors import row_name

# Iterations for the initial states of windows that the fit has not seen.
LOCAL_ITERATIONS = 15
REPLAYS = 3
# Halving the step may change residuals by so many times the sensor noise without a warning.
STEP_ERROR = 1.0
# And it may move parameters by so many of their deviations.
STEP_SHIFT = 0.5


class Judged(NamedTuple):
    """Errors, traces and replays of a fit, what half the step changes in units of the noise, and
    errors from the start to the fit without grafts.
    """

    errors: tuple[ErrorRow, ...]
    traces: tuple[Trace, ...]
    replays: tuple[Replay, ...]
    step_error: float
    physics: tuple[ErrorRow, ...] = ()


class _Run(NamedTuple):
    """Readings per sensor [w, n, d], positions [w, t, nq], and mismatches [w, n, r]."""

    read: list[np.ndarray]
    q: np.ndarray
    error: list[np.ndarray]


def judge(
    problem: Problem,
    theta: np.ndarray,
    train: Windows,
    train_local: np.ndarray,
    physics: np.ndarray | None = None,
) -> Judged:
    """Simulate all windows with the start and with theta [p], each from its best initial states.

    Initial states of held-out windows see only their first half; their error is of the second.
    physics: [p] theta without grafts.
    """
    held = problem.heldout_windows() if problem.heldout else None
    windows = train if held is None else _join(train, held)
    is_held = np.arange(len(windows)) >= len(train)
    seen = [_first_half(t, windows.steps * problem.dt, is_held) for t in windows.time]
    runner = _Runner(problem, windows, seen)
    guess = np.zeros((len(windows), problem.nlocal))
    start = problem.parameters.start
    before = runner.run(start, runner.initial(start, guess))
    guess[: len(train)] = train_local
    local = runner.initial(theta, guess)
    after = runner.run(theta, local)

    def errors_of(before: _Run, after: _Run) -> tuple[ErrorRow, ...]:
        return _errors(problem, windows, seen, is_held, before, after)

    alone: tuple[ErrorRow, ...] = ()
    if physics is not None:
        alone = errors_of(before, runner.run(physics, runner.initial(physics, guess)))
    traces = _traces(problem, windows, is_held, before, after)
    replays = _replays(problem, windows, is_held, after)
    step_error = _step_error(runner, theta, local)
    return Judged(errors_of(before, after), traces, replays, step_error, alone)


def _errors(
    problem: Problem,
    windows: Windows,
    seen: list[np.ndarray],
    is_held: np.ndarray,
    before: _Run,
    after: _Run,
) -> tuple[ErrorRow, ...]:
    errors = []
    for i, spec in enumerate(problem.setup.sensors.specs):
        mask = windows.mask[i]
        judged = np.where(is_held[:, None], mask & ~seen[i], mask)

        def rms(run: _Run, rows: np.ndarray, i: int = i, judged: np.ndarray = judged) -> float:
            values = run.error[i][rows][judged[rows]]
            return float(np.sqrt(np.mean(np.sum(values**2, -1)))) if values.size else float("nan")

        errors.append(
            ErrorRow(
                spec.channel,
                spec.unit(problem.simulator.model),
                rms(before, ~is_held),
                rms(after, ~is_held),
                rms(before, is_held),
                rms(after, is_held),
            )
        )
    return tuple(errors)


def _step_error(runner: _Runner, theta: np.ndarray, local: np.ndarray) -> float:
    """RMS change of the residuals when the integrator's step is halved, in units of the noise.

    A fit adjusts its parameters to the errors of a coarse step; this says how large they are. As
    many steps of half the length reach the middle of each window, so the program of `runner` serves
    as it is. Zero for RK4, and with networks that remember, for which a step is a unit of time.
    """
    simulator = runner.problem.setup_at(theta).simulator
    if not steps_matter(simulator):
        return 0.0
    change, _ = change_of_residuals(runner.program, simulator, theta, local)
    change = change[np.isfinite(change) & (change != 0)]
    return float(np.sqrt(np.mean(change**2))) if change.size else 0.0


class _Runner:
    """The problem's programs on all windows, for the start and for what was fitted."""

    def __init__(self, problem: Problem, windows: Windows, seen: list[np.ndarray]) -> None:
        self.problem, dtype = problem, problem.simulator.dt.dtype
        self.data = residuals.as_data(windows, problem.sigma, dtype)
        weight = tuple(
            jnp.asarray(np.asarray(w) * s[..., None], dtype)
            for w, s in zip(self.data.weight, seen, strict=True)
        )
        self.program = ResidualProgram(problem, self.data)
        seen_alone = self.program.on(self.data._replace(weight=weight))
        assert seen_alone is not None
        self._seen = seen_alone

    def initial(self, theta: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """Displacements of the initial states that fit what may be seen of each window."""
        options = LevenbergMarquardt(iterations=LOCAL_ITERATIONS, cost_tolerance=1e-4)
        return best_initial_states(self._seen, theta, guess, self.problem.local_std, options)

    def run(self, theta: np.ndarray, local: np.ndarray) -> _Run:
        """Simulate every window."""
        return _Run(*self.program.readings(theta, local))


def _first_half(time: np.ndarray, length: float, is_held: np.ndarray) -> np.ndarray:
    """Samples that initial states may see: all of a fitted window, half of a held-out one."""
    return np.where(is_held[:, None], time <= length / 2, True)


def _join(a: Windows, b: Windows) -> Windows:
    """Two sets of windows in one, samples padded to the same number."""

    def pad(x: np.ndarray, n: int) -> np.ndarray:
        extra = n - x.shape[1]
        width = [(0, 0), (0, extra)] + [(0, 0)] * (x.ndim - 2)
        mode = "constant" if x.dtype == bool else "edge"
        return np.pad(x, width, mode=mode) if extra else x  # type: ignore[call-overload]

    def both(xs: tuple[np.ndarray, ...], ys: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        out = []
        for x, y in zip(xs, ys, strict=True):
            n = max(x.shape[1], y.shape[1])
            out.append(np.concatenate([pad(x, n), pad(y, n)]))
        return tuple(out)

    return Windows(
        a.recording + b.recording,
        np.concatenate([a.start, b.start]),
        np.concatenate([a.controls, b.controls]),
        np.concatenate([a.before, b.before]),
        np.concatenate([a.q0, b.q0]),
        np.concatenate([a.qd0, b.qd0]),
        both(a.time, b.time),
        both(a.value, b.value),
        both(a.mask, b.mask),
    )


def _traces(
    problem: Problem, windows: Windows, is_held: np.ndarray, before: _Run, after: _Run
) -> tuple[Trace, ...]:
    traces = []
    for i, spec in enumerate(problem.setup.sensors.specs):
        for w in range(len(windows)):
            mask = windows.mask[i][w]
            if not mask.any():
                continue
            traces.append(
                Trace(
                    windows.recording[w],
                    spec.channel,
                    spec.unit(problem.simulator.model).split(",")[0],
                    bool(is_held[w]),
                    w,
                    windows.start[w] + windows.time[i][w][mask],
                    windows.value[i][w][mask][:, : spec.drawn],
                    before.read[i][w][mask][:, : spec.drawn],
                    after.read[i][w][mask][:, : spec.drawn],
                )
            )
    return tuple(traces)


def _replays(
    problem: Problem, windows: Windows, is_held: np.ndarray, after: _Run
) -> tuple[Replay, ...]:
    """A few windows to look at in three dimensions: held-out ones first."""
    tree = problem.simulator.model.tree
    by_name = {r.name: r for r in (*problem.heldout, *problem.given)}
    chosen = [*np.flatnonzero(is_held)[:REPLAYS], *np.flatnonzero(~is_held)[:REPLAYS]]
    out = []
    for w in chosen:
        recording = by_name[windows.recording[w]]
        time = problem.dt * np.arange(windows.steps + 1)
        measured = None
        if not unmeasured(problem.simulator.model, recording) and tree.nq == tree.nv:
            at = windows.start[w] + time
            columns = [recording[row_name("joint.q", d)] for d in tree.dofs]
            measured = np.stack([np.interp(at, c.time, c.values[:, 0]) for c in columns], -1)
        kind = "held out" if is_held[w] else "fitted"
        name = f"{windows.recording[w]} at {windows.start[w]:.2f} s ({kind})"
        out.append(Replay(name, time, measured, after.q[w]))
    return tuple(out)


def warnings(
    problem: Problem,
    point: Point,
    known: Certainty,
    judged: Judged,
    fitted: Model,
) -> tuple[str, ...]:
    """What a careful engineer would say about this fit, in sentences."""
    info, rows = known.info, known.rows
    said: list[str] = [*known.failed]
    if point.outcome is not None and point.outcome.advice:
        said.append(point.outcome.advice)
    if not np.isfinite(info.S).all():
        said.append(words.OVERFLOW)
    if info.lack.clear:
        said.append(info.lack.text)
    if known.spread is not None:
        said += _disagreements(known.spread, rows)
    drawn = known.resampled
    if drawn is not None and drawn.lost:
        said.append(words.replicas_lost(drawn.lost))
    if drawn is not None and drawn.blocks < FEW_BLOCKS:
        said.append(words.few_blocks(drawn.blocks))
    law = problem.setup.simulator.contact
    if judged.step_error > STEP_ERROR:
        said.append(words.coarse_step(judged.step_error, law is not None and law.impulsive))
    said += _conditions(known) + _steps(problem, known)
    said += _impossible(fitted)
    for row in rows:
        if row.status == Status.ON_BOUND:
            said.append(words.on_bound(row.name, row.value, row.unit))
        elif row.status == Status.WITHOUT_EFFECT:
            said.append(words.without_effect(row.name))
    for e in judged.errors:
        if np.isfinite(e.heldout_after) and not e.heldout_after <= 1.02 * e.heldout_before:
            said.append(words.heldout_rose(e.channel, e.heldout_before, e.heldout_after, e.unit))
        elif np.isfinite(e.heldout_after) and e.heldout_after > 3 * e.train_after:
            said.append(words.heldout_larger(e.channel, e.heldout_after / e.train_after))
    for recording in problem.given:
        # Columns that were not read do not affect the fit; repairs of the log do.
        kept = [n for n in recording.notes if not n.startswith("columns not read")]
        said += [f"{recording.name}: {note}" for note in kept]
    return tuple(dict.fromkeys(said))


def _disagreements(spread: Spread, rows: tuple[ParameterRow, ...]) -> list[str]:
    """Parameters of which recordings tell different things."""
    by_name = {row.name: row for row in rows}
    free = [by_name[name] for name in spread.parameters]
    return [
        words.recordings_differ(row.name, row.between, row.unit, p)
        for row, p, differ in zip(free, spread.p, disagree(spread), strict=True)
        if differ
    ]


def _conditions(known: Certainty) -> list[str]:
    """Of each withheld quantity, in each of its units, which parameters depend on it most."""
    by_name = {w.name: w for w in known.withheld}
    touched: dict[tuple[str, str], list[ParameterRow]] = {}
    for row in known.rows:
        if row.trades_with in by_name:
            name = row.trades_with
            touched.setdefault((name.split("[")[0], by_name[name].unit), []).append(row)
    said = []
    for (quantity, _), rows in touched.items():
        own = sorted({row.trades_with for row in rows})
        said.append(conditional(rows, quantity, [by_name[name] for name in own]))
    return said


def _steps(problem: Problem, known: Certainty) -> list[str]:
    """That the integrator's step moves a parameter, and how short it should be."""
    found, simulator = most_moved(known.rows), problem.setup.simulator
    if found is None or found[1] <= STEP_SHIFT:
        return []
    row, by = found
    return [words.step_moves(row.name, by, simulator.substeps, simulator.integrator.order)]


def _impossible(model: Model) -> list[str]:
    """Links whose fitted inertia no body has."""
    said = []
    mass, inertia = np.asarray(model.link.mass), np.asarray(model.link.inertia)
    for i, name in enumerate(model.tree.links):
        try:
            checks.body(float(mass[i]), inertia[i], name)
        except ModelError as error:
            names = row_name("link.inertial", name), row_name("link.inertia", name)
            said.append(words.impossible_body(error, *names))
    return said
