"""A fit, posed: which simulator, which recordings, what is free, how errors are weighed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from graftsim.displayed import displayed
from graftsim.dynamics.actuation import lag_steps
from graftsim.engine.closing import undetermined
from graftsim.engine.simulator import Simulator
from graftsim.errors import GraftsimWarning, ProblemError, suggest
from graftsim.identify.problem.domains import Domain
from graftsim.identify.problem.graft_scales import set_scales
from graftsim.identify.problem.layout import Layout, layout_of
from graftsim.identify.problem.measurements import channels_of, deviation, held_out, several
from graftsim.identify.problem.parameters import (
    Custom,
    Parameters,
    SimulatorAndSensors,
    default_domain,
    parsed,
)
from graftsim.identify.problem.parts import with_parts
from graftsim.identify.problem.residuals import residual_width
from graftsim.identify.problem.windows import (
    Cutting,
    InitialState,
    Windows,
    check_paths,
    control_channels,
    cut,
    unmeasured,
)
from graftsim.identify.problem.withheld_numbers import WithheldNumber, withheld_numbers
from graftsim.model.catalogue import PARAMETERS
from graftsim.optim.bounded import Bounded
from graftsim.optim.loss import Loss, choose_loss
from graftsim.optim.sparsity import Penalty, SparseGroupLasso
from graftsim.recordings.channels import spelling
from graftsim.recordings.recording import Recording
from graftsim.sensors.noise import estimate_noise
from graftsim.sensors.sensors import Sensors, make_sensors

# Words for `Problem.horizon` and `Problem.initial`.
SAMPLE, FREE, MEASURED = "sample", "free", "measured"
MAX_WINDOWS = 200
MIN_SAMPLES = 4
# Limit of a window's steps: a longer one is a mistake of units, and a few exceed any memory.
MOST_STEPS = 1_000_000
# Weak priors of initial states: they keep those that no sensor determines from diverging.
LOCAL_STD_POSITION = 10.0
LOCAL_STD_VELOCITY = 1e3


@dataclass(frozen=True, eq=False)
class Problem:
    """What to fit to what. Every check is made when it is posed; nothing is simulated then.

    simulator: the start. recordings: one or several. free: parameters by selector, each with a
    `Domain` (`Positive()`, `Bounds(...)`, `Unbounded()`) or a `Custom` reparametrisation; a plain
    sequence of selectors takes the domain that physics allows; nothing, to judge a simulator as it
    is. trained: the grafts of the simulator whose weights are fitted too, all by default. Their
    scales, where the blueprint left them open, are set from the recordings (`prepare`).
    sensors: options by channel, or the channels to use; by default every channel that a sensor
    explains, commands excepted. noise: standard deviation by channel, estimated from the data where
    not given.

    horizon: length of a window (s); "sample": one sample interval, with initial="measured" the
    papers' comparison of single steps. growth: shorter horizons to go through first, as fractions.
    stride: from the start of a window to that of the next (s), by default a window's length; with
    more than max_windows, an even selection is kept.
    initial: "free" (every window's initial state is fitted with the parameters), "measured" (taken
    from the data), or a function of (recording, time) that returns (q, qd), then fitted or not by
    `fit_initial`. holdout: share of each recording, at its end, kept for judgement; or recordings
    that are. loss: `Squared()`, `Huber(width)`, a `Loss` of your own, or "squared" or "huber".
    nuisances: of numbers that are not free, by selector, how wrong they may be (one standard
    deviation, in their unit; 0: exact), in place of standard sizes.

    Raises ProblemError with what is wrong and what would be accepted.
    """

    simulator: Simulator
    recordings: Recording | Sequence[Recording]
    free: Mapping[str, Domain | Custom] | Sequence[str] = ()
    _: KW_ONLY
    trained: bool | Sequence[str] = True
    sensors: Mapping[str, Mapping[str, Any]] | Sequence[str] | None = None
    noise: Mapping[str, float] | None = None
    horizon: float | str | None = None
    growth: Sequence[float] = (0.25, 1.0)
    stride: float | None = None
    max_windows: int = MAX_WINDOWS
    initial: str | InitialState = "free"
    fit_initial: bool | None = None
    holdout: float | Recording | Sequence[Recording] = 0.25
    loss: str | Loss = "squared"
    nuisances: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "recordings", several(self.recordings))
        noise = {spelling(channel): std for channel, std in (self.noise or {}).items()}
        object.__setattr__(self, "noise", noise)
        if not self.given:
            raise ProblemError("There is no recording to fit.")
        if not isinstance(self.free, Mapping):
            domains = {text: default_domain(text) for text in self.free or ()}
            object.__setattr__(self, "free", domains)
        assert isinstance(self.free, Mapping)
        channels = {name for r in self.given for name in r.names}
        object.__setattr__(self, "simulator", with_parts(self.simulator, channels, self.free))
        _ = self.criterion, self.horizons, self.heldout
        self._check_noise()
        self._check_initial_states()
        self._check_windows()
        self._check_nuisances()
        _ = self.parameters

    def prepare(self) -> Problem:
        """This problem with what takes time done: the noise of sensors, windows, scales of grafts.

        Without this call each is computed when it is first needed. None is computed twice.
        """
        _ = self.sigma, self.setup
        for horizon in self.horizons:
            self.train_windows(horizon)
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Windows are not pickled: they are large, and quickly cut from the recordings again.
        return {k: v for k, v in vars(self).items() if k != "_cut"}

    _repr_html_ = displayed

    @cached_property
    def given(self) -> tuple[Recording, ...]:
        """The recordings, nothing held out."""
        return several(self.recordings)

    @cached_property
    def criterion(self) -> Loss:
        """The loss; ProblemError: an unknown name."""
        return choose_loss(self.loss)

    @property
    def dt(self) -> float:
        """Step of the simulator (s)."""
        return float(self.simulator.dt)

    @cached_property
    def _sensors(self) -> Sensors:
        return make_sensors(
            self.simulator.model, *channels_of(self.simulator, self.given, self.sensors)
        )

    @cached_property
    def setup(self) -> SimulatorAndSensors:
        """Simulator and sensors of the start, with the scales of its grafts.

        Open scales are set from roll-outs along the first windows, when this is first asked for.
        """
        scaled = set_scales(self.simulator, self.train_windows(self.horizons[0]))
        return SimulatorAndSensors(scaled, self._sensors)

    @cached_property
    def parameters(self) -> Parameters:
        """What is fitted; ProblemError: a selection that is empty, given twice, out of bounds."""
        return self.parameters_beside(())

    def parameters_beside(self, offsets: Sequence[str]) -> Parameters:
        """What is fitted, and numbers by name that are added to, last in the vector."""
        assert isinstance(self.free, Mapping)
        trained = _trained(self.simulator, self.trained)
        setup = SimulatorAndSensors(self.simulator, self._sensors)
        return Parameters(setup, self.free, trained, offsets)

    @cached_property
    def withheld(self) -> tuple[WithheldNumber, ...]:
        """Numbers of the actuators that are not free, with what they may plausibly be off by."""
        channels = {name for r in self.given for name in r.names}
        return withheld_numbers(self.simulator.model, self.parameters.names, channels)

    @cached_property
    def extended(self) -> Parameters:
        """The parameters, and what is withheld as offsets: one program serves fit and judgement.

        Delays where the simulator remembers no commands excepted: they have no place in it.
        """
        longest = self.simulator.model.actuator.longest_delay
        more = [n.name for n in self.withheld if not n.is_delay or longest[n.actuator]]
        return self.parameters_beside(more) if more else self.parameters

    @cached_property
    def sigma(self) -> tuple[np.ndarray, ...]:
        """Standard deviation of each residual component of each sensor, in its unit."""
        return tuple(
            deviation(s.channel, self.noise[s.channel], width)
            if self.noise and s.channel in self.noise
            else estimate_noise(s, self.given)
            for s, width in zip(self._sensors.specs, residual_width(self._sensors), strict=True)
        )

    @cached_property
    def horizons(self) -> tuple[float, ...]:
        """Lengths of windows (s) to go through, whole steps, the last the longest."""
        horizon = self.horizon
        if isinstance(horizon, str):
            if horizon != SAMPLE:
                raise ProblemError(
                    f"horizon '{horizon}': it is '{SAMPLE}', or a number of seconds."
                )
            horizon = max(self._interval, self.dt)
        horizon = self._default_horizon if horizon is None else float(horizon)
        if not horizon > 0:
            raise ProblemError(f"horizon must be positive, got {horizon} s.")
        if horizon > MOST_STEPS * self.dt:
            raise ProblemError(
                f"A window of {horizon:g} s has {horizon / self.dt:.3g} steps of {self.dt:g} s; at "
                f"most {MOST_STEPS:,} can be simulated. Take a larger dt."
            )
        growth = self.growth if self.horizon != SAMPLE else (1.0,)
        if not growth or not all(0 < g <= 1 for g in growth):
            raise ProblemError(f"growth: shares of the horizon between 0 and 1, got {growth}.")
        return tuple(dict.fromkeys(max(round(g * horizon / self.dt), 1) * self.dt for g in growth))

    @cached_property
    def free_states(self) -> bool:
        """Are initial states of windows fitted?"""
        return (self.initial != MEASURED) if self.fit_initial is None else self.fit_initial

    @property
    def train(self) -> tuple[Recording, ...]:
        """Recordings, or their beginnings, that are fitted."""
        return self._split[0]

    @property
    def heldout(self) -> tuple[Recording, ...]:
        """Recordings, or their ends, that are kept for judgement."""
        return self._split[1]

    @cached_property
    def _split(self) -> tuple[tuple[Recording, ...], tuple[Recording, ...]]:
        if not isinstance(self.holdout, int | float):
            kept = several(self.holdout)
            if not kept:
                raise ProblemError("holdout is empty; 0 holds nothing out.")
            return self.given, kept
        if not 0 <= self.holdout < 0.9:
            raise ProblemError(f"holdout must be a share from 0 to 0.9, got {self.holdout}.")
        return held_out(self.given, self.holdout)

    @property
    def nlocal(self) -> int:
        """Unknowns of each window: its initial state's displacement, or none."""
        model = self.simulator.model
        return 2 * model.nv + model.actuator.na if self.free_states else 0

    @property
    def grafted(self) -> bool:
        """Are weights of grafts fitted?"""
        return not self.parameters.physical.all()

    @property
    def local_std(self) -> np.ndarray:
        """Weak prior of the displacements of initial states [s]: standard deviations."""
        model = self.simulator.model
        std = np.repeat([LOCAL_STD_POSITION, LOCAL_STD_VELOCITY], model.nv)
        memory = np.full(model.actuator.na, LOCAL_STD_POSITION)
        return np.concatenate([std, memory])[: self.nlocal]

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

    def setup_at(self, theta: np.ndarray) -> SimulatorAndSensors:
        """Simulator and sensors with the numbers of theta [p]."""
        return self.parameters.apply(self.setup, jnp.asarray(theta, self.simulator.dt.dtype))

    def train_windows(self, horizon: float | None = None) -> Windows:
        """Windows of a length (the last horizon's) from what is fitted."""
        return self._windows("train", horizon)

    def heldout_windows(self, horizon: float | None = None) -> Windows:
        """Windows of a length (the last horizon's) from what is held out."""
        return self._windows("heldout", horizon)

    def _windows(self, which: str, horizon: float | None) -> Windows:
        key = (which, self.horizons[-1] if horizon is None else horizon)
        if key not in self._cut:
            recordings = self.train if which == "train" else self.heldout
            self._cut[key] = self.windows_of(recordings, key[1])
        return self._cut[key]

    def windows_of(self, recordings: Sequence[Recording], horizon: float) -> Windows:
        """Windows of a length from any recordings, as this problem cuts them."""
        how = Cutting(
            dt=self.dt,
            horizon=horizon,
            stride=self.stride,
            initial=self.initial if callable(self.initial) else None,
            limit=self.max_windows,
            once=self.free_states,
            back=max(self.simulator.back, lag_steps(self.simulator.model.actuator, self.dt)),
        )
        return cut(self.simulator.model, self._sensors, recordings, how)

    @cached_property
    def _cut(self) -> dict[tuple[str, float], Windows]:
        return {}

    def layouts(self, windows: Windows) -> tuple[Layout, ...]:
        """Where the residuals of each channel lie in the row of a window."""
        specs, widths = self._sensors.specs, residual_width(self._sensors)
        return layout_of(
            [
                (s.channel, time.shape[1], width, s.channel in (self.noise or {}))
                for s, time, width in zip(specs, windows.time, widths, strict=True)
            ]
        )

    @cached_property
    def _interval(self) -> float:
        name = self._sensors.specs[0].channel
        return next(r[name].interval for r in self.given if name in r)

    @property
    def _default_horizon(self) -> float:
        """Half a second, shorter for short recordings, and never under four samples."""
        shortest = min(r.overlap[1] - r.overlap[0] for r in self.given)
        return max(min(0.5, shortest / 4), MIN_SAMPLES * self._interval)

    def _check_noise(self) -> None:
        known = [s.channel for s in self._sensors.specs]
        widths = dict(zip(known, residual_width(self._sensors), strict=True))
        for channel, value in (self.noise or {}).items():
            if channel not in known:
                raise ProblemError(f"noise for {channel}: no such sensor. Sensors: {known}.")
            deviation(channel, value, widths[channel])

    def _check_nuisances(self) -> None:
        for text, size in (self.nuisances or {}).items():
            quantity = parsed(text)[1].name
            if quantity not in PARAMETERS and not quantity.startswith("effect."):
                raise ProblemError(
                    f"nuisances: there is no number '{quantity}'. {suggest(quantity, PARAMETERS)}"
                )
            if not 0 <= size < np.inf:
                raise ProblemError(f"nuisances: {text}: a size is zero or positive, got {size}.")

    def _check_windows(self) -> None:
        """The longest windows must fit, for judgement too, before time is spent on short ones."""
        longest = max(self.horizons)
        check_paths(self.simulator, self.train_windows(longest))
        if self.heldout:
            try:
                self.heldout_windows(longest)
            except ProblemError as error:
                raise ProblemError(
                    f"Of what is held out for judgement: {error} Or hold out more, or nothing."
                ) from error
            check_paths(self.simulator, self.heldout_windows(longest))

    def _check_initial_states(self) -> None:
        if callable(self.initial):
            return
        if self.initial not in (FREE, MEASURED):
            raise ProblemError(
                f"initial '{self.initial}' must be 'free', 'measured' or a function."
            )
        model = self.simulator.model
        missing = undetermined(model, unmeasured(model, self.given[0]))
        if missing and not self.free_states:
            raise ProblemError(
                f"initial='measured', but no channel measures {', '.join(missing)}. Use "
                "initial='free', or a function that returns (q, qd)."
            )
        if missing:
            warnings.warn(
                f"No channel measures {', '.join(missing)}: their initial states start at zero and "
                "are found by the fit, which may end in a wrong minimum. Give initial=function.",
                GraftsimWarning,
                stacklevel=4,
            )

    def describe(self) -> dict[str, Any]:
        """Settings for the report."""
        return {
            "sensors": {
                s.channel: {"noise": self.sigma[i].tolist()}
                for i, s in enumerate(self._sensors.specs)
            },
            "controls": list(control_channels(self.simulator.model, self.given)),
            "dt": self.dt,
            "substeps": self.simulator.substeps,
            "integrator": type(self.simulator.integrator).__name__,
            "contact": type(self.simulator.contact).__name__ if self.simulator.contact else "none",
            "grafts": list(self.simulator.grafts.labels if self.simulator.grafts else ()),
            "horizons": list(self.horizons),
            "initial states": "fitted" if self.free_states else "measured",
            "recordings": [r.name for r in self.given],
            "held out": [r.name for r in self.heldout],
            "precision": str(jnp.zeros((), self.simulator.dt.dtype).dtype),
        }


def _trained(simulator: Simulator, trained: bool | Sequence[str]) -> tuple[str, ...]:
    known = simulator.grafts.labels if simulator.grafts is not None else ()
    if isinstance(trained, bool):
        return known if trained else ()
    for name in trained:
        if name not in known:
            raise ProblemError(f"There is no graft '{name}' to train. {suggest(name, known)}")
    return tuple(trained)
