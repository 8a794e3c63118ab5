"""A fit whose step is too long for its own intervals is made again, in shorter ones."""

from __future__ import annotations

from dataclasses import replace

from graftsim.identify import Problem, Result
from graftsim.identify.doubt.verdicts import most_moved
from graftsim.identify.words import finer

# The step may move a parameter by this share of its deviation.
NEGLIGIBLE = 0.1
# A fit may become so many times as dear by it.
DEAREST = 16


def finer_problem(problem: Problem, result: Result) -> tuple[Problem, str] | None:
    """The problem in sub-steps short enough, and why; None if it is already.

    Each parameter is to move by a tenth of its deviation at most if steps were shorter still.
    """
    found = most_moved(result.parameters)
    if found is None:
        return None
    (row, moved), old = found, problem.simulator.substeps
    order = problem.simulator.integrator.order
    new = min(finer(moved, old, order), DEAREST * old)
    if moved <= NEGLIGIBLE or new <= old:
        return None
    why = (
        f"The step of {problem.dt / old:.3g} s puts {row.name} {moved:.2g} of its deviations off: "
        f"fitting again with {new} sub-steps for {old} (--substeps {old} keeps them)."
    )
    return replace(problem, simulator=replace(problem.simulator, substeps=new)), why
