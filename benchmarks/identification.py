"""System identification beside `mujoco.sysid`, MuJoCo's own toolbox, on the same models and logs.

    python benchmarks/identification.py [--cases a b c d e] [--theirs PYTHON] [--assets FOLDER]

Cases (`identification_cases.py`): (a) five rotor inertias of an arm, (b) two lengths of a double
pendulum from 25 starts, (c) thirty numbers of a seven-joint arm, (d) forty of a quadruped, (e) an
arm whose friction no model has. MuJoCo makes the logs, with sensor noise. Both contestants get the
same logs, free numbers, bounds, starts, known initial states, and all cores; each fit is a process
of its own. Theirs runs as its README has it (optimizer "mujoco", defaults), once with the toolbox's
own normalisation of residuals and once with errors over the sensor's noise, as ours has it.

Held-out error: other logs, rolled out by MuJoCo with each contestant's numbers from the same known
states, root mean square over the sensor's noise. Against their run over the noise, which poses the
same problem, "equal" is equal to four digits. Their own normalisation is another estimator, above
or below by the noise's chance: against it the difference of the squared errors is given in its own
standard errors, sample by sample. Seconds: posing and fitting, imports and reading files left out;
"cold" in a new process without any cached code, "warm" again in the same process; of theirs the
quicker run counts.
Ours includes intervals, judgement and warnings, which theirs does not. CPU seconds stand beside,
because they suffer less from what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import identification_cases as cases
import numpy as np
from scenes import Missing, assets_folder

from graftsim.targets import Figures

HERE = Path(__file__).resolve().parent
MANY = 30  # parameters from which ours is to be ten times quicker
SLOW = 30.0  # seconds; a fit of theirs that takes longer is not repeated


class Contestant:
    """Runs a contestant's file on a case in a process of its own."""

    def __init__(self, python: str, file: str, arguments: argparse.Namespace) -> None:
        self.command = [python, str(HERE / "rivals" / file)]
        self.assets = arguments.assets

    def run(self, case: cases.Case, logs: Path, *options: str) -> dict[str, Any]:
        """What it found; Missing with its last words if it could not."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.json"
            command = [*self.command, case.name, str(logs), str(out)]
            command += ["--assets", str(self.assets), *options]
            empty = {"GRAFTSIM_KERNEL_CACHE": str(Path(folder) / "kernels")}
            done = subprocess.run(
                command, env={**os.environ, **empty}, capture_output=True, text=True, check=False
            )
            if done.returncode:
                last = (done.stderr.strip() or "no message").splitlines()[-1]
                raise Missing(f"case {case.name}, {Path(self.command[1]).name}: {last}")
            return json.loads(out.read_text(encoding="utf-8"))


def missed(case: cases.Case, x: Any, read: np.ndarray) -> np.ndarray:
    """Errors of roll-outs by MuJoCo along every log [n, steps + 1, nq]."""
    model = case.model(np.asarray(x))
    pairs = zip(case.poses, case.commands, strict=True)
    return np.array([cases.rollout(model, pose, u) for pose, u in pairs]) - read


def errors(case: cases.Case, x: Any, read: np.ndarray) -> tuple[float, float]:
    """RMS over the noise of the fitted logs and of the others."""
    off = missed(case, x, read)
    return rms(off[: case.fitted], case.noise), rms(off[case.fitted :], case.noise)


def above(case: cases.Case, x: Any, other: Any, read: np.ndarray) -> float:
    """Held-out squared error of x over that of `other`, in standard errors of the difference."""
    a, b = (missed(case, v, read)[case.fitted :, 1:] for v in (x, other))
    change = (a**2 - b**2).ravel()
    return float(change.mean() / max(change.std() / np.sqrt(change.size), 1e-300))


def rms(off: np.ndarray, noise: float) -> float:
    """Root mean square in units of the noise."""
    return float(np.sqrt(np.mean(off**2))) / noise


def median(fits: list[dict[str, Any]], key: str) -> float:
    """Median over repeated fits."""
    return statistics.median(f[key] for f in fits)


def load() -> str:
    """Load of the machine."""
    return f"load {os.getloadavg()[0]:.1f}"


def ours_of(
    case: cases.Case, ours: Contestant, logs: Path, tries: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Cold and warm fits from the only start."""
    runs = [ours.run(case, logs, "--repeats", "2")["runs"] for _ in range(tries)]
    return [r[0][0] for r in runs], [r[1][0] for r in runs]


def theirs_of(
    case: cases.Case, theirs: Contestant, logs: Path, tries: int, *options: str
) -> list[dict[str, Any]]:
    """Their fits from the only start."""
    fits = [theirs.run(case, logs, *options)["runs"][0][0]]
    while len(fits) < tries and fits[0]["seconds"] < SLOW:
        fits.append(theirs.run(case, logs, *options)["runs"][0][0])
    return fits


def one_start(
    figures: Figures, case: cases.Case, read: np.ndarray, logs: Path,
    ours: Contestant, theirs: Contestant, tries: int,
) -> None:  # fmt: skip
    """Held-out errors and seconds of a case with one start."""
    name = f"{case.name}, {len(case.free)} parameters"
    cold, warm = ours_of(case, ours, logs, tries)
    fitted, held = errors(case, cold[0]["x"], read)
    figures.note(f"{name}: start, held out", errors(case, case.values("start"), read)[1], "noise")
    figures.note(f"{name}: ours, fitted logs", fitted, "noise")
    figures.note(f"{name}: ours, held out", held, "noise")
    figures.note(f"{name}: ours, Jacobians", cold[0]["iterations"])
    for text, fits in (("cold", cold), ("warm", warm)):
        figures.note(f"{name}: ours, {text}", median(fits, "seconds"), "s")
        figures.note(f"{name}: ours, {text}, CPU", median(fits, "cpu"), "CPU s")
    figures.note(f"{name}: ours, cold, until solved", median(cold, "solved"), "s")
    quickest, cpu = np.inf, np.inf
    for text, options in (("own normalisation", ("--plain",)), ("over the noise", ())):
        fits = theirs_of(case, theirs, logs, tries, *options)
        fitted, other = errors(case, fits[0]["x"], read)
        seconds = median(fits, "seconds")
        figures.note(f"{name}: theirs, {text}, fitted logs", fitted, "noise")
        figures.note(f"{name}: theirs, {text}, held out", other, "noise")
        figures.note(f"{name}: theirs, {text}, Jacobians", fits[0]["iterations"])
        figures.note(f"{name}: theirs, {text}", seconds, "s")
        figures.note(f"{name}: theirs, {text}, CPU", median(fits, "cpu"), "CPU s")
        quickest, cpu = min(quickest, seconds), min(cpu, median(fits, "cpu"))
        if options:
            figures.at_most(
                f"{name}: held out, ours above theirs, own normalisation",
                above(case, cold[0]["x"], fits[0]["x"], read), 2.0, "std errors",
            )  # fmt: skip
        else:
            figures.at_most(f"{name}: held out, ours over theirs", round(held / other, 4), 1.0)
            same = seconds / median(cold, "seconds")
            figures.note(f"{name}: theirs, over the noise, over ours, cold", same)
    ratio = quickest / median(cold, "seconds")
    if len(case.free) >= MANY:
        figures.at_least(f"{name}: quicker of theirs over ours, cold", ratio, 10.0)
    else:
        figures.note(f"{name}: quicker of theirs over ours, cold", ratio)
    figures.note(f"{name}: quicker of theirs over ours, warm", quickest / median(warm, "seconds"))
    figures.note(f"{name}: quicker of theirs over ours, cold, CPU", cpu / median(cold, "cpu"))


def many_starts(
    figures: Figures, case: cases.Case, read: np.ndarray, logs: Path,
    ours: Contestant, theirs: Contestant,
) -> None:  # fmt: skip
    """How many of the starts end at the truth, and the held-out error of the best."""
    assert case.starts is not None
    count, truth = len(case.starts), case.values()
    held: dict[str, float] = {}
    for who, contestant, options in (
        ("ours", ours, ()),
        ("theirs, own normalisation", theirs, ("--plain",)),
        ("theirs, over the noise", theirs, ()),
    ):
        fits = contestant.run(case, logs, *options)["runs"][0]
        found = np.array([f["x"] for f in fits])
        right = int(np.sum(np.linalg.norm(found - truth, axis=1) < cases.NEAR))
        name = f"b, {count} starts: {who}"
        if who == "ours":
            figures.at_least(f"{name}, at the truth", right, count)
        else:
            figures.note(f"{name}, at the truth", right)
        off = [errors(case, x, read)[1] for x in found]
        held[who] = float(np.median(off))
        figures.note(f"{name}, held out, median", held[who], "noise")
        figures.note(f"{name}, held out, worst", max(off), "noise")
        figures.note(f"{name}, all", sum(f["seconds"] for f in fits), "s")
    best = min(v for k, v in held.items() if k != "ours")
    figures.at_most(
        f"b, {count} starts: held out, ours over theirs", round(held["ours"] / best, 4), 1.0
    )


def lack_of_fit(
    figures: Figures, case: cases.Case, read: np.ndarray, logs: Path, ours: Contestant
) -> None:
    """Is the missing friction reported, and found?"""
    out = ours.run(case, logs, "--discover")
    fit, found = out["runs"][0][0], out["discovered"]
    said = [w for w in fit["warnings"] if "lacks an effect" in w]
    print("\n".join(f"  {line}" for line in [*said, *found["sentences"]]), flush=True)
    figures.at_least("e, without the graft: warnings that the model lacks an effect", len(said), 1)
    figures.note("e, without the graft: residual over noise", fit["residual"])
    off = np.array(found["q"]) - read
    figures.note(
        f"e, discovered ({found['form']}), fitted logs", rms(off[: case.fitted], case.noise)
    )
    figures.at_most(
        f"e, discovered ({found['form']}), held out",
        rms(off[case.fitted :], case.noise), 1.3, "noise",
    )  # fmt: skip
    figures.note("e, discovery", found["seconds"], "s")


def main() -> int:
    parser = Figures.arguments(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--cases", nargs="+", default=list("abcde"), choices=list("abcde"))
    parser.add_argument("--theirs", default=sys.executable, help="Python with mujoco[sysid]")
    parser.add_argument("--assets", type=Path, default=assets_folder())
    parser.add_argument("--tries", type=int, default=3, help="fits whose median is given")
    arguments = parser.parse_args()
    figures = Figures("Identification beside mujoco.sysid", json_path=arguments.json)
    ours = Contestant(sys.executable, "graftsim_fit.py", arguments)
    theirs = Contestant(arguments.theirs, "mujoco_sysid.py", arguments)
    complete = True
    for letter in arguments.cases:
        shown = len(figures.rows)
        try:
            case = cases.make(letter, arguments.assets)
            truth, read = cases.logs(case)
            size = f"{read.shape[1] - 1} steps of {case.dt:.4g} s"
            count = f"{case.fitted} logs fitted, {len(read) - case.fitted} held out"
            print(f"case {letter}: {size}, {count}, {load()}", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                logs = Path(folder) / "logs.npz"
                np.savez(logs, truth=truth, read=read)
                if case.starts is not None:
                    many_starts(figures, case, read, logs, ours, theirs)
                else:
                    one_start(figures, case, read, logs, ours, theirs, arguments.tries)
                if case.friction is not None:
                    lack_of_fit(figures, case, read, logs, ours)
        except Missing as missing:
            complete = False
            print(f"case {letter} is not complete: {missing}", file=sys.stderr)
        for row in figures.rows[shown:]:
            print(f"  {row.name}: {row.value:.5g} {row.unit}", flush=True)
        print(f"  done, {load()}", flush=True)
    return 0 if figures.finish() and complete else 1


if __name__ == "__main__":
    sys.exit(main())
