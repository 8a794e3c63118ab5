"""A fit, posed: which simulator, which recordings, what is free, how errors are weighed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from graftsim.engine.simulator import Simulator
from graftsim.errors import GraftsimWarning, ProblemError, suggest
from graftsim.identify.problem.domains import Domain
from graftsim.identify.problem.graft_scales import set_scales
from graftsim.identify.problem.noise import estimate_noise
from graftsim.identify.problem.parameters import Custom, Parameters, Setup, default_domain
from graftsim.identify.problem.residuals import residual_width
from graftsim.identify.problem.sensor import KINDS
from graftsim.identify.problem.sensors import make_sensors
from graftsim.identify.problem.whiteness import Layout, layout_of
from graftsim.identify.problem.windows import (
    InitialState,
    Windows,
    control_channels,
    cut,
    unmeasured,
)
from graftsim.optim.least_squares import Bounded
from graftsim.optim.sparsity import Penalty, SparseGroupLasso
from graftsim.recordings.channels import spelling
from graftsim.recordings.recording import Recording

MAX_WINDOWS = 200
MIN_SAMPLES = 4
# Of a window: one of more is a mistake of units, and no memory holds a few of them.
MOST_STEPS = 1_000_000
# Weak beliefs about initial states, only there to keep unmeasured ones from running away.
LOCAL_STD_POSITION = 10.0
LOCAL_STD_VELOCITY = 1e3


class Problem:
    """What to fit to what. All checks are made here, before any time is spent.

    simulator: the start. recordings: one or several. free: parameters by selector, each with a
    `Domain` (`Positive()`, `Bounds(...)`, `Unbounded()`) or a `Custom` reparametrisation; a plain
    sequence of selectors takes the domain that physics allows; None is for judging a simulator as
    it is. train: the grafts of the simulator
    whose weights are fitted too, all by default. Their scales, where the blueprint left them open,
    are set from the recordings. sensors: options by channel, or the
    channels to use; by default every channel that a sensor explains, commands excepted.
    noise: standard deviation by channel, estimated from the data where not given.

    horizon: length of a window (s). growth: shorter horizons to go through first, as fractions.
    initial: "free" (every window's initial state is fitted with the parameters), "measured" (taken
    from the data), or a function of (recording, time) that returns (q, qd), then fitted or not by
    `fit_initial`. holdout: share of each recording, at its end, kept for judgement; or recordings
    given as `heldout`. loss: "squared", "huber", or "one_step" (the papers' form: horizon of one
    sample, measured initial states).

    Raises ProblemError with what is wrong and what would be accepted.
    """

    def __init__(
        self,
        simulator: Simulator,
        recordings: Recording | Sequence[Recording],
        free: Mapping[str, Domain | Custom] | Sequence[str] | None = (),
        *,
        train: bool | Sequence[str] = True,
        sensors: Mapping[str, Mapping[str, Any]] | Sequence[str] | None = None,
        noise: Mapping[str, float] | None = None,
        horizon: float | None = None,
        growth: Sequence[float] = (0.25, 1.0),
        stride: float | None = None,
        initial: str | InitialState = "free",
        fit_initial: bool | None = None,
        holdout: float = 0.25,
        heldout: Recording | Sequence[Recording] = (),
        loss: str = "squared",
        huber_width: float = 3.0,
        max_windows: int = MAX_WINDOWS,
    ) -> None:
        self.simulator = simulator
        self.recordings = _several(recordings)
        self.heldout = _several(heldout)
        if not self.recordings:
            raise ProblemError("There is no recording to fit.")
        if loss not in ("squared", "huber", "one_step"):
            raise ProblemError(f"loss '{loss}'. {suggest(loss, ('squared', 'huber', 'one_step'))}")
        if not 0 <= holdout < 0.9:
            raise ProblemError(f"holdout must be a share from 0 to 0.9, got {holdout}.")
        self.dt = float(simulator.dt)
        self.huber_width = huber_width if loss == "huber" else None
        self.stride, self.max_windows = stride, max_windows

        channels, options = _channels(simulator, self.recordings, sensors)
        self.setup = Setup(simulator, make_sensors(simulator.model, channels, options))
        nothing = free is None
        if not isinstance(free, Mapping):
            free = {text: default_domain(text) for text in free or ()}
        self.sigma = self._noise({spelling(k): v for k, v in (noise or {}).items()})

        if loss == "one_step":
            sample = max(self._interval(), self.dt)
            horizon, growth, initial = sample, (1.0,), "measured"
        self.horizon = self._default_horizon() if horizon is None else float(horizon)
        if not self.horizon > 0:
            raise ProblemError(f"horizon must be positive, got {horizon} s.")
        if self.horizon > MOST_STEPS * self.dt:
            raise ProblemError(
                f"A window of {self.horizon:g} s has {self.horizon / self.dt:.3g} steps of "
                f"{self.dt:g} s; at most {MOST_STEPS:,} can be simulated. Take a larger dt."
            )
        if not growth or not all(0 < g <= 1 for g in growth):
            raise ProblemError(f"growth: shares of the horizon between 0 and 1, got {growth}.")
        self.horizons = tuple(
            dict.fromkeys(max(round(g * self.horizon / self.dt), 1) * self.dt for g in growth)
        )
        self.initial: InitialState | None = initial if callable(initial) else None
        if not callable(initial) and initial not in ("free", "measured"):
            raise ProblemError(f"initial '{initial}' must be 'free', 'measured' or a function.")
        self.fit_initial = (initial != "measured") if fit_initial is None else fit_initial
        self._warn_unmeasured()
        if self.heldout:
            self.train = self.recordings
        else:
            self.train, self.heldout = _split(self.recordings, holdout)
        self._check_windows()
        self.simulator = set_scales(simulator, self.windows(self.train, self.horizons[0]))
        self.setup = Setup(self.simulator, self.setup.sensors)
        trained = _trained(self.simulator, train)
        if not (free or trained or nothing):
            raise ProblemError(
                "Nothing is free. Name what to fit, such as free={'joint.damping[*]': Positive()}, "
                "or graft a network."
            )
        self.parameters = Parameters(self.setup, free, trained)

    @property
    def nlocal(self) -> int:
        """Unknowns of each window: its initial state's displacement, or none."""
        return 2 * self.simulator.model.nv if self.fit_initial else 0

    @property
    def grafted(self) -> bool:
        """Are weights of grafts fitted?"""
        return not self.parameters.physical.all()

    @property
    def local_std(self) -> np.ndarray:
        """Weak beliefs about the displacements of initial states [s]."""
        std = np.repeat([LOCAL_STD_POSITION, LOCAL_STD_VELOCITY], self.simulator.model.nv)
        return std[: self.nlocal]

    def bounds_of(
        self,
        theta: np.ndarray,
        *,
        physics: bool = False,
        sparsity: SparseGroupLasso | None = None,
        zero: np.ndarray | None = None,
    ) -> Bounded:
        """Bounds, priors and penalty for the solver.

        `physics`: weights stay where theta [p] has them. `zero`: [p] weights that stay zero.
        The penalty takes the place of the prior on the weights that it holds down.
        """
        p = self.parameters
        lower, upper, std = p.lower.copy(), p.upper.copy(), p.prior_std
        if physics:
            lower[~p.physical] = upper[~p.physical] = theta[~p.physical]
        if zero is not None:
            lower[zero] = upper[zero] = 0.0
        penalty = None
        if sparsity is not None and not physics:
            penalty = Penalty(p.group, sparsity.l1, sparsity.group)
            std = np.where(p.group >= 0, np.inf, std)
        return Bounded(lower, upper, p.prior_mean, std, self.local_std, penalty)

    def setup_at(self, theta: np.ndarray) -> Setup:
        """Simulator and sensors with the numbers of theta [p]."""
        return self.parameters.apply(self.setup, jnp.asarray(theta, self.simulator.dt.dtype))

    def windows(self, recordings: Sequence[Recording], horizon: float) -> Windows:
        """Windows of the given length from the recordings."""
        return cut(
            self.simulator.model,
            self.setup.sensors,
            recordings,
            dt=self.dt,
            horizon=horizon,
            stride=self.stride,
            initial=self.initial,
            limit=self.max_windows,
            once=self.fit_initial,
        )

    def layouts(self, windows: Windows) -> tuple[Layout, ...]:
        """Where the residuals of each channel lie in the row of a window."""
        specs, widths = self.setup.sensors.specs, residual_width(self.setup)
        return layout_of(
            [
                (s.channel, time.shape[1], width, s.channel in self.noise_given)
                for s, time, width in zip(specs, windows.time, widths, strict=True)
            ]
        )

    def _interval(self) -> float:
        name = self.setup.sensors.specs[0].channel
        return next(r[name].interval for r in self.recordings if name in r)

    def _default_horizon(self) -> float:
        """Half a second, shorter for short recordings, and never under four samples."""
        shortest = min(r.overlap[1] - r.overlap[0] for r in self.recordings)
        return max(min(0.5, shortest / 4), MIN_SAMPLES * self._interval())

    def _noise(self, given: dict[str, float]) -> list[np.ndarray]:
        sigma = []
        self.noise_given = frozenset(given)
        widths = residual_width(self.setup)
        for spec, width in zip(self.setup.sensors.specs, widths, strict=True):
            if spec.channel in given:
                sigma.append(_deviation(spec.channel, given.pop(spec.channel), width))
            else:
                sigma.append(estimate_noise(spec, self.recordings))
        if given:
            known = [s.channel for s in self.setup.sensors.specs]
            raise ProblemError(f"noise for {', '.join(given)}: no such sensor. Sensors: {known}.")
        return sigma

    def _check_windows(self) -> None:
        """The longest windows must fit, for judgement too, before time is spent on short ones."""
        longest = max(self.horizons)
        self.windows(self.train, longest)
        if self.heldout:
            try:
                self.windows(self.heldout, longest)
            except ProblemError as error:
                raise ProblemError(
                    f"Of what is held out for judgement: {error} Or hold out more, or nothing."
                ) from error

    def _warn_unmeasured(self) -> None:
        if self.initial is not None:
            return
        missing = unmeasured(self.simulator.model, self.recordings[0])
        if missing and not self.fit_initial:
            raise ProblemError(
                f"initial='measured', but no channel measures {', '.join(missing)}. Use "
                "initial='free', or a function that returns (q, qd)."
            )
        if missing:
            warnings.warn(
                f"No channel measures {', '.join(missing)}: their initial states start at zero and "
                "are found by the fit, which may end in a wrong minimum. Give initial=function.",
                GraftsimWarning,
                stacklevel=3,
            )

    def describe(self) -> dict[str, Any]:
        """Settings for the report."""
        return {
            "sensors": {
                s.channel: {"noise": self.sigma[i].tolist()}
                for i, s in enumerate(self.setup.sensors.specs)
            },
            "controls": list(control_channels(self.simulator.model, self.recordings)),
            "dt": self.dt,
            "substeps": self.simulator.substeps,
            "integrator": type(self.simulator.integrator).__name__,
            "contact": type(self.simulator.contact).__name__ if self.simulator.contact else "none",
            "grafts": list(self.simulator.grafts.labels if self.simulator.grafts else ()),
            "horizons": list(self.horizons),
            "initial states": "fitted" if self.fit_initial else "measured",
            "recordings": [r.name for r in self.recordings],
            "held out": [r.name for r in self.heldout],
            "precision": str(jnp.zeros((), self.simulator.dt.dtype).dtype),
        }


def _deviation(channel: str, given: Any, width: int) -> np.ndarray:
    """Noise of a channel that was given, [width]. ProblemError: not one positive number or each."""
    try:
        value = np.broadcast_to(np.asarray(given, float), (width,)).copy()
    except (TypeError, ValueError):
        value = np.array([np.nan])
    if not np.all((value > 0) & (value < np.inf)):
        each = f", or {width}" if width > 1 else ""
        raise ProblemError(f"noise of {channel} must be a positive number{each}, got {given}.")
    return value


def _trained(simulator: Simulator, train: bool | Sequence[str]) -> tuple[str, ...]:
    known = simulator.grafts.labels if simulator.grafts is not None else ()
    if isinstance(train, bool):
        return known if train else ()
    for name in train:
        if name not in known:
            raise ProblemError(f"There is no graft '{name}' to train. {suggest(name, known)}")
    return tuple(train)


def _several(recordings: Recording | Sequence[Recording]) -> list[Recording]:
    return [recordings] if isinstance(recordings, Recording) else list(recordings)


def _channels(
    simulator: Simulator,
    recordings: Sequence[Recording],
    sensors: Mapping[str, Mapping[str, Any]] | Sequence[str] | None,
) -> tuple[list[str], dict[str, Any]]:
    """Channels to explain, and their options."""
    recorded = dict.fromkeys(n for r in recordings for n in r.names)
    driving = control_channels(simulator.model, recordings)
    if sensors is not None:
        if isinstance(sensors, Mapping):
            sensors = {spelling(name): options for name, options in sensors.items()}
        else:
            sensors = [spelling(name) for name in sensors]
        for name in sensors:
            if name not in recorded:
                raise ProblemError(f"Sensor {name} is not recorded. {suggest(name, recorded)}")
        options = dict(sensors) if isinstance(sensors, Mapping) else {}
        return list(sensors), options
    channels = [n for n in recorded if n.split("[")[0] in KINDS and n not in driving]
    if not channels:
        raise ProblemError(
            f"None of the recorded channels is a sensor: {', '.join(recorded)}. "
            f"Sensors: {', '.join(KINDS)}, each with a label in brackets."
        )
    return channels, {}


def _split(
    recordings: Sequence[Recording], share: float
) -> tuple[list[Recording], list[Recording]]:
    """The end of each recording is held out; a stretch too short to be cut stays whole."""
    if share == 0:
        return list(recordings), []
    train, held = [], []
    for r in recordings:
        start, end = r.overlap
        middle = end - share * (end - start)
        train.append(r.trim(None, middle))
        held.append(r.trim(middle, None))
    return train, held
