"""What a fit returns: plain data that the table, the report and the files are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import numpy as np

from graftsim.displayed import displayed
from graftsim.engine.simulator import Simulator
from graftsim.identify.results.common_factor import CommonFactor
from graftsim.identify.results.whiteness import LackOfFit
from graftsim.identify.words import Status
from graftsim.model.model import Model
from graftsim.optim.outcome import Outcome

# Half-width of a 95 % interval in standard deviations.
QUANTILE = 1.959963984540054


@dataclass(frozen=True)
class ParameterRow:
    """One fitted number. `low`, `high`: 95 % interval; `lower`, `upper`: where it was sought.

    `between`: its standard deviation between recordings beyond what noise explains; NaN of one
    recording, or where single ones do not determine it.
    """

    name: str
    unit: str
    start: float
    value: float
    std: float
    low: float
    high: float
    status: Status = Status.IDENTIFIED
    between: float = float("nan")
    lower: float = float("-inf")
    upper: float = float("inf")
    # If what was not free may be wrong as well: deviation, 95 % interval, and the largest causes by
    # name, each with its share of what that adds to the variance. step: how far very short steps of
    # the integrator would move the value, which is in them.
    std_with_file: float = float("nan")
    low_with_file: float = float("nan")
    high_with_file: float = float("nan")
    causes: Mapping[str, float] = field(default_factory=dict)
    step: float = 0.0
    # The number of the file whose measurement would make that deviation smallest, and to what.
    measure: str = ""
    std_if_measured: float = float("nan")

    @property
    def trades_with(self) -> str:
        """What was not free and moves this number most, if it is known on a condition alone."""
        return next(iter(self.causes), "") if self.status == Status.CONDITIONAL else ""


@dataclass(frozen=True)
class Withheld:
    """A number that was not free.

    size: how wrong it may be, in its unit, as source says. std: how well the data would know it,
    infinite if not at all. asked: where they would like it, as a change of its value; gain: by
    which half the weighted sum of squares would fall. moves: by how much each parameter may be off
    because of it. worst: the largest of them, in deviations of that parameter. order: whether moves
    are of first order or of a refit, or of first order where that is known not to be enough.
    """

    name: str
    unit: str
    size: float
    source: str
    std: float
    asked: float
    gain: float
    moves: dict[str, float]
    worst: float
    order: str = "first order"


@dataclass(frozen=True)
class ErrorRow:
    """Root-mean-square error of one channel, before (start model) and after the fit.

    Held-out windows took no part: the first half of each sets its initial state, the error is of
    the second half. NaN where nothing was held out.
    """

    channel: str
    unit: str
    train_before: float
    train_after: float
    heldout_before: float
    heldout_after: float


def error_line(e: Any) -> str:
    """An `ErrorRow`, or a row of an inverse fit, in one line; held out only what was."""
    line = f"{e.channel:<32} RMS {e.train_before:.3g} -> {e.train_after:.3g} {e.unit}"
    if np.isnan(e.heldout_before) and np.isnan(e.heldout_after):
        return line
    return f"{line}, held out {e.heldout_before:.3g} -> {e.heldout_after:.3g}"


@dataclass(frozen=True)
class Trace:
    """One channel over one window of a recording: measured [n, d], simulated before and after."""

    recording: str
    channel: str
    unit: str
    heldout: bool
    window: int
    time: np.ndarray
    measured: np.ndarray
    before: np.ndarray
    after: np.ndarray


@dataclass(frozen=True)
class Replay:
    """Motion of one window for the 3-D replay: positions [n, nq], measured (or None), simulated."""

    name: str
    time: np.ndarray
    measured: np.ndarray | None
    simulated: np.ndarray


@dataclass(frozen=True)
class Curve:
    """What a graft learned of one input, the others at their medians: y [n] over x [n] with a 95 %
    band, in physical units. `row` is the row it is for, "" for all; `held` [k] where all the inputs
    of the graft are held but this one.
    """

    row: str
    column: str
    output: str
    x_unit: str
    y_unit: str
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    held: tuple[float, ...] = ()


@dataclass(frozen=True)
class GraftSummary:
    """What a trained graft does along the fitted windows.

    `output_rms` [R, m] of what it gives, `value_rms` [R, m] of the variable it acts on,
    `sensitivity` [R, m, n]: mean absolute derivative of each output by each input, in physical
    units; `reach` [R, m, n]: RMS change of the output when an input is held at its median.
    """

    label: str
    mode: str
    targets: tuple[str, ...]
    outputs: tuple[str, ...]
    output_units: tuple[str, ...]
    columns: tuple[str, ...]
    units: tuple[str, ...]
    rows: tuple[str, ...]
    weights: int
    output_rms: np.ndarray
    value_rms: np.ndarray
    sensitivity: np.ndarray
    reach: np.ndarray
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Iteration:
    """One iteration of the solver. `horizon` in s; `cost` is half the weighted sum of squares;
    `seconds` since the fit began.
    """

    stage: int
    horizon: float
    iteration: int
    cost: float
    gradient: float
    damping: float
    seconds: float


@dataclass(frozen=True)
class WeakDirection:
    """A combination of parameters that the data hardly determines; `text` says so in words."""

    text: str
    relative_std: float
    weights: dict[str, float]


@dataclass(frozen=True)
class Profile:
    """Rise [n] of the cost over values [n] of a parameter; `limit` is the rise at the ends of the
    95 % interval from `low` to `high`, which are infinite where it is open within the values.
    """

    name: str
    unit: str
    values: np.ndarray
    rise: np.ndarray
    limit: float
    low: float
    high: float


@dataclass(frozen=True)
class Landscape:
    """Cost [len(y), len(x)] over two parameters, the others held; infinite where it is not finite.

    `names` and `units` of x and y, `start` and `found` (x, y) of a fit, found None without one.
    """

    names: tuple[str, str]
    units: tuple[str, str]
    x: np.ndarray
    y: np.ndarray
    cost: np.ndarray
    start: tuple[float, float]
    found: tuple[float, float] | None = None

    @property
    def wells(self) -> int:
        """Cells that are lower than their eight neighbours."""
        c = np.pad(self.cost, 1, constant_values=np.inf)
        ny, nx = self.cost.shape
        around = [
            c[1 + i : 1 + i + ny, 1 + j : 1 + j + nx]
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i, j) != (0, 0)
        ]
        return int(np.count_nonzero(self.cost < np.min(around, 0)))


@dataclass(frozen=True, repr=False)
class Result:
    """What a fit found, numbers only; `outcome`: how its last stage ended."""

    outcome: Outcome
    parameters: tuple[ParameterRow, ...]
    errors: tuple[ErrorRow, ...]
    traces: tuple[Trace, ...]
    replays: tuple[Replay, ...]
    history: tuple[Iteration, ...]
    covariance: np.ndarray
    weak: tuple[WeakDirection, ...]
    warnings: tuple[str, ...]
    start: Simulator
    simulator: Simulator
    seconds: float
    settings: dict[str, Any] = field(default_factory=dict)
    command: str = ""
    # The flat vector that was fitted, weights of grafts included.
    theta: np.ndarray = field(default_factory=lambda: np.zeros(0))
    grafts: tuple[GraftSummary, ...] = ()
    # With grafts and parameters: the errors when the parameters alone are fitted.
    physics: tuple[ErrorRow, ...] = ()
    # What the residuals say of the model.
    lack: LackOfFit | None = None
    # What the data say of the factor that all forces and masses share; None where none is free.
    forces: CommonFactor | None = None
    profiles: tuple[Profile, ...] = ()
    # What was not free and may be wrong, and how far it may move each parameter.
    withheld: tuple[Withheld, ...] = ()
    landscape: Landscape | None = None
    # Parameters of each replica [n, p] of a bootstrap, as `parameters`; empty without one.
    replicas: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def __str__(self) -> str:
        rows = [
            f"{r.name:<32} {r.start:>12.5g} -> {r.value:>12.6g}  +- {QUANTILE * r.std:<10.2g} "
            f"{r.unit}{'' if r.status == Status.IDENTIFIED else f' ({r.status})'}"
            for r in self.parameters
        ]
        rows += map(error_line, self.errors)
        return "\n".join([f"{self.outcome} in {self.seconds:.1f} s", *rows])

    __repr__ = __str__
    _repr_html_ = displayed

    @property
    def model(self) -> Model:
        """The fitted model."""
        return self.simulator.model

    @property
    def correlation(self) -> np.ndarray:
        """Correlation matrix of the parameters [p, p]; NaN rows for undetermined ones."""
        std = np.sqrt(np.diag(self.covariance))
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.covariance / np.outer(std, std)

    def value(self, name: str) -> float:
        """Fitted value of a parameter by its name; KeyError lists the names."""
        for row in self.parameters:
            if row.name == name:
                return row.value
        raise KeyError(f"{name!r}; fitted: {', '.join(r.name for r in self.parameters)}")

    def as_dict(self) -> dict[str, Any]:
        """Numbers of the result for JSON: no arrays over time, of grafts their curves."""
        return {
            "outcome": self.outcome,
            "seconds": self.seconds,
            "command": self.command,
            "settings": self.settings,
            "parameters": [vars(r) for r in self.parameters],
            "errors": [vars(r) for r in self.errors],
            "physics": [vars(r) for r in self.physics],
            "grafts": [plain(g) for g in self.grafts],
            "weak": [vars(r) for r in self.weak],
            "lack of fit": None
            if self.lack is None
            else plain(self.lack) | {"text": self.lack.text},
            "forces": None
            if self.forces is None
            else plain(self.forces) | {"unknown": self.forces.unknown, "text": self.forces.text},
            "profiles": [plain(q) for q in self.profiles],
            "withheld": [plain(w) for w in self.withheld],
            "landscape": plain(self.landscape) if self.landscape else None,
            "covariance": self.covariance.tolist(),
            "warnings": list(self.warnings),
            "iterations": len(self.history),
        }

    def as_json(self) -> dict[str, Any]:
        """`as_dict` with NaN and infinity as None, so that any JSON reader takes it."""
        return finite(self.as_dict())


def plain(value: Any) -> Any:
    """Dataclasses, named tuples and arrays, however nested, as dictionaries and lists."""
    if is_dataclass(value):
        value = vars(value)
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(v) for v in value] if isinstance(value, list | tuple) else value


def finite(value: Any) -> Any:
    """Dictionaries and lists with NaN and infinity as None."""
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value
