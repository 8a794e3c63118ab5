"""What `graftsim fit` takes: groups of options, filled by flags and strictly read TOML files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import tyro

from graftsim.cli import run_file
from graftsim.cli.choices import LOGS, described, names
from graftsim.cli.groups import ComparisonOptions, DataOptions, EffortName, SimulationOptions
from graftsim.cli.options import (
    Count,
    Deviation,
    Flag,
    Frequency,
    Number,
    Seed,
    Share,
    Strings,
    TouchOptions,
    shown,
)
from graftsim.optim.strategies import GLOBAL_SEARCHES, LOCAL_SOLVERS
from graftsim.strategies import LOSSES

# A value of --loss that stands for windows of one sample from measured states.
ONE_STEP = "one_step"
# The method that simulates windows.
ROLLOUT = "rollout"
if TYPE_CHECKING:
    SolverName = SearchName = LossName = str
else:
    SolverName = names("auto", strategies=LOCAL_SOLVERS)
    SearchName = names("none", "auto", strategies=GLOBAL_SEARCHES)
    LossName = names(ONE_STEP, strategies=LOSSES)

TABLES = ("free", "graft", "columns", "noise", "sensors", "start", "nuisances")


class SolverOptions(ComparisonOptions, frozen=True, kw_only=True):
    """Options on the comparison with the data and the search."""

    growth: Annotated[
        tuple[Share, ...], msgspec.Meta(min_length=1), tyro.conf.arg(metavar="SHARE...")
    ] = (0.25, 1.0)
    """Shorter horizons to go through first, as shares of the last."""
    loss: LossName = "squared"
    """huber forgives outliers, tukey leaves them out; one_step compares single steps from measured
    states."""
    solver: Annotated[
        SolverName,
        described(
            "Local optimiser; auto: lbfgs for networks with more than some 1,500 weights;",
            LOCAL_SOLVERS,
        ),
    ] = "auto"
    iterations: Annotated[Number, tyro.conf.arg(metavar="N")] = 50
    """At most so many iterations a horizon."""
    search: Annotated[
        SearchName | None,
        described(
            "Begin from many points within the bounds at once, against wrong minima; auto: only if "
            "a local fit leaves more than noise; default: where servo gains, delays or lengths are "
            "free, if it leaves three times the noise or one of them ran away, else none;",
            GLOBAL_SEARCHES,
        ),
    ] = None
    starts: Annotated[Count | None, shown("N")] = None
    """Points of a search, of each of its rounds; default: 16, random_restarts 64, evolution 32."""
    seed: Annotated[Seed, tyro.conf.arg(metavar="N")] = 0
    """Of the search's random numbers."""
    workers: Annotated[Number, shown("N")] = 0
    """Spread search and bootstrap over so many processes; default: this one alone."""
    cluster: Annotated[str, shown("ADDRESS")] = ""
    """Spread them over the workers of a dask scheduler, tcp://host:8786."""


class CertaintyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options on how sure the numbers are."""

    bootstrap: Annotated[Number, shown("N")] = 0
    """Refit to N resampled data sets and take the intervals from there; default: from the
    covariance."""
    bootstrap_by: Literal["window", "recording"] = "window"
    """What is drawn again: windows, or whole recordings if there are many."""
    profile: Annotated[Strings, shown("NAME...")] = ()
    """Draw how the fit worsens when a parameter is held elsewhere; 'weak': of all weak ones."""
    landscape: Annotated[Strings, shown("NAME NAME")] = ()
    """Draw the cost over two parameters, the others held."""
    halves: Flag = False
    """Fit two disjoint halves of the data as well, and say where their intervals disagree."""
    nuisances: Annotated[Strings, shown("SELECTOR=SIZE...")] = ()
    """How wrong numbers that are not free may be, in their unit, 'link.com[*].z=0.001'; 0: exact;
    default: standard sizes, see the documentation."""


class GraftOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options on networks that are trained with the parameters."""

    graft: tyro.conf.UseAppendAction[Annotated[Strings, shown("VARIABLE[=INPUT,...]")]] = ()
    """A variable that a network adds to, 'joint.tau_passive[*]' (see inspect --variables); give it
    again for more. Inputs after '='; default: of a joint its velocity and position,
    'joint.tau_passive[*]=joint.qd[*],joint.q[*]'."""
    hidden: Annotated[tuple[Count, ...], shown("N...")] = (16, 16)
    """Widths of the hidden layers; default: 16 16."""
    sparsity: Annotated[Deviation, shown("X")] = 0.0
    """A cost of X on each unit of weight of an input, which sets what is not needed to exact zero;
    default: none."""


class InverseOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options on inverse dynamics, --method inverse and both."""

    terms: Annotated[
        tuple[Literal["damping", "friction", "offset", "armature", "spring"], ...],
        tyro.conf.arg(metavar="TERM..."),
    ] = ("damping", "friction", "offset", "armature")
    """What joint forces are made of beside the links: damping, friction, offset, armature, spring.
    Torque sensors behind the gears feel no armature: leave it out for them."""
    cutoff: Annotated[Frequency | None, shown("HZ")] = None
    """Cut-off of all filters; default: ten times the motion's bandwidth."""
    gains: Annotated[Strings, shown("JOINT=VALUE...")] = ()
    """Where efforts are currents: N m (N) per unit of each joint; 'file': those that the inertias
    of the robot file tell; default: efforts are forces."""


class FitOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Fit a robot file to recordings, and write a report, the numbers and the fitted robot.

    Example: graftsim fit arm.urdf run*.csv --free 'joint.damping[*]' 'link.mass[arm]=0.1:5'

    Columns of a log are taken by their header when it is a channel name (time, joint.q[elbow],
    joint.tau[elbow], control[motor], link.position[tip]); otherwise map them with --columns.
    Anything longer than a line goes into a TOML file given by --run; flags override it.
    """

    robot: Annotated[str, tyro.conf.Positional, shown("ROBOT")] = ""
    """Robot file, URDF or MJCF."""
    logs: Annotated[Strings, tyro.conf.Positional, shown("LOG...", LOGS)] = ()
    free: Annotated[Strings, shown("SELECTOR[=DOMAIN]...")] = ()
    """What to fit: 'joint.damping[*]', with bounds 'link.mass[arm]=0.1:5', as one number for all
    'sensor.delay[*]=shared' or '=0:0.05,shared'; default: link masses
    (held near the file's values), joint damping and friction; 'none': nothing, for grafts alone.
    Names with , = [ ] in quotes: 'joint.damping["a,b"]=0:1'."""
    out: Annotated[str, shown("FOLDER")] = "fit-out"
    """Folder for report.html, fit.json and the fitted robot; default: fit-out."""
    run: Annotated[str | None, shown("FILE")] = None
    """TOML file with any of these options by the names of their flags (repair_inertia = true), and
    tables for free, graft, columns, noise, sensors, start and nuisances."""
    method: Literal["rollout", "inverse", "both"] = "rollout"
    """How: by simulated windows; by inverse dynamics, one regression of measured forces for all
    inertias and friction at once (joint.q and joint.tau of every joint); or that first, and then
    simulated windows from what it found."""
    effort: EffortName = "torque"
    """current: measured and commanded effort is proportional to torque; the factors are fitted."""
    no_check: Flag = False
    """Fit recordings in which graftsim check finds errors all the same."""
    resume: Flag = False
    """Go on from the checkpoint in the output folder."""
    json: Flag = False
    """Print the result as JSON on standard output, and nothing else there."""
    quiet: Flag = False
    """No progress bar and no tables."""
    data: DataOptions = DataOptions()
    simulation: SimulationOptions = SimulationOptions()
    touch: TouchOptions = TouchOptions()
    solver: SolverOptions = SolverOptions()
    certainty: CertaintyOptions = CertaintyOptions()
    networks: GraftOptions = GraftOptions()
    inverse: InverseOptions = InverseOptions()


def parse_fit(args: Sequence[str]) -> tuple[FitOptions, dict[str, Any]]:
    """Options of `fit` and the tables of its run file (`TABLES`).

    Raises ProblemError: a run file that is wrong, no robot, no recording.
    """
    return run_file.parse_with_file(FitOptions, "fit", args, TABLES)


def read_run_file(path: str | Path) -> tuple[FitOptions, dict[str, Any]]:
    """Options and tables of a run file for `fit`; ProblemError names what is wrong in it."""
    return run_file.read(path, FitOptions, TABLES)
