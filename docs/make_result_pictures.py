"""Draw the gallery's pictures of experiments that draw none: numbers of docs/results.md as bars.

python docs/make_result_pictures.py
"""

import re
from dataclasses import dataclass
from pathlib import Path

from make_gallery import IMAGES
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

RESULTS = (Path(__file__).parent / "results.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True)
class Bar:
    """A number of a table: beginning of its row, its column, its place in the cell. In prose the
    line is the row, and column 0 all of it.
    """

    label: str
    row: str
    column: int = 1
    place: int = 0

    def value(self, heading: str) -> float:
        """The number under a heading. Raises SystemExit: it is not there."""
        text = RESULTS.split(f"\n## {heading}", 1)[-1].split("\n## ")[0]
        for line in text.splitlines():
            cells = [x.strip(" *") for x in line.strip("|").split("|")]
            if cells[0].startswith(self.row):
                return float(NUMBER.findall(cells[self.column])[self.place])
        raise SystemExit(f"results.md, {heading}: there is no row '{self.row}'.")


def held_out(quantity: str, whose: dict[str, str]) -> tuple[Bar, ...]:
    """Rows of one quantity, by what was done."""
    return tuple(Bar(label, f"{quantity}{end}") for label, end in whose.items())


SCALES = ("1/64", "1/16", "1/4", "4", "16", "64")
BALLS = ("whiffle 2", "orange whiffle", "whiffle 1", "tennis", "basketball", "baseball", "bowling")
LINKS = {"file, no friction": "the file's", "plain regression": "plain", "ours": "links that can"}
# Picture: heading of the results, what the bars are, the bars.
PICTURES = {
    "e06_headings": (
        "E6: link lengths", "error of a length",
        (Bar("length 1, 2 mrad", "2 mrad, 20 windows: error of length 1"),
         Bar("length 2, 2 mrad", "2 mrad, 20 windows: error of length 2")),
    ),
    "dfki_pendulum": (
        "DFKI double pendulum", "held-out error (rad)",
        held_out("slow held-out run, ", {"authors' model": "authors'", "fitted": "fitted"}),
    ),
    "panda": (
        "Arms by inverse dynamics", "held-out error (N m), Panda",
        tuple(Bar(k, x) for k, x in LINKS.items()),
    ),
    "staubli": (
        "Arms by inverse dynamics", "held-out error (N m), TX40",
        tuple(Bar(k, x, 2) for k, x in LINKS.items()),
    ),
    "real_servos": (
        "Servos of real robots", "error of a Go2's joints on unseen runs (mrad)",
        (Bar("file", "before, runs"), Bar("fitted", "fitted, runs 4"),
         Bar("with a graft", "and friction of each")),
    ),
    "triple_pendulum": (
        "Triple pendulum", "held-out error of the third arm (rad)",
        held_out("joint.q[arm3], held out, ", {
            "rods": "rods", "authors": "authors'", "fitted": "fitted from rods",
        }),
    ),
    "chain_mass": (
        "E12: a chain's mass", "time of a gradient in masses over differences",
        tuple(
            Bar(f"in {n}", "gradient in 1, 2, 5, 20", 1, k) for k, n in enumerate((1, 2, 5, 20))
        ),
    ),
    "ball_drops": (
        "Drag of dropped balls", "quadratic drag over mass (1/m)",
        tuple(Bar(ball, "quadratic drag", k) for k, ball in enumerate(BALLS, 1)),
    ),
    "policy_contact": (
        "A policy by gradient", "miss at the end (mm)",
        (Bar("untrained", "nothing", 2), Bar("gradient", "gradient", 2),
         Bar("REINFORCE", "REINFORCE, best", 2), Bar("5 x the steps", "REINFORCE, five", 2)),
    ),
    "cartpole": (
        "E14: control while", "return with all numbers off by a factor",
        tuple(Bar(x, "return with all numbers", 1, k) for k, x in enumerate(SCALES)),
    ),
    "breakout": (
        "E14: control while", "mean score",
        (Bar("iLQR on a learned paddle", "iLQR, mean"),
         Bar("tracker without physics", "tracker without physics, mean")),
    ),
    "planar_impacts": (
        "Tosses and impacts", "velocity after an impact off by (m/s)",
        (Bar("start", "Planar impacts: the ellipse", 0, 1),
         Bar("fitted", "Planar impacts: the ellipse", 0)),
    ),
}  # fmt: skip


def draw(name: str, heading: str, axis: str, bars: tuple[Bar, ...]) -> None:
    """Horizontal bars with their numbers."""
    figure = Figure(figsize=(4, 2.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    values = [b.value(heading) for b in bars]
    drawn = axes.barh([b.label for b in bars], values, color="#3d85d6", height=0.6)
    for bar, x in zip(drawn, values, strict=True):
        place = max(x, 0.0), bar.get_y() + bar.get_height() / 2
        axes.annotate(
            f"{x:.3g}", place, (4, 0), textcoords="offset points", va="center", fontsize=9
        )
    axes.set_xticks([])
    axes.invert_yaxis()
    axes.margins(x=0.22)
    axes.set_xlabel(axis)
    axes.spines[["top", "right"]].set_visible(False)
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    for name, (heading, axis, bars) in PICTURES.items():
        draw(name, heading, axis, bars)
