"""E4: tosses of a cube; contact parameters from recorded and from generated motions.

Recorded: ContactNets' tosses (Pfrommer, Halm, Posa 2020), `cube_toss_contactnets` under
GRAFTSIM_DATA, or with `--set dair_pll` later ones of the same laboratory, by which nothing here was
chosen. 50 train, all others judge: whole tosses, simulated from their first sample. The start has
the numbers that a model gets where nobody states them: friction 1, no restitution, a stiffness that
carries the weight 1 mm deep, lengths as recorded. Fitted are friction, stiffness and dissipation
(SpringDamper) or friction and restitution (Complementarity), a length scale, and the inertia
between a solid and a hollow cube's (`--inertia given` keeps the published one); on windows of 20
and 50 steps from several starts, then derivative-free on whole tosses, where impacts make the cost
rough. MuJoCo gets the same tosses, windows, restarts and search.

Generated: a 10 kg cube on eight spheres, tossed by the complementarity law, is given a spring of no
stiffness, so that it falls through the floor, and a network for the size of friction.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")

import jax
import jax.numpy as jnp
import judged
import numpy as np
import pictures
import tosses as recorded
from scipy.optimize import least_squares, minimize
from tosses import HALF, INERTIA, MASS, Tosses

import graftsim as gs
from graftsim.model.catalogue import with_leaf
from graftsim.targets import Figures

# Training tosses are taken up to 0.8 s, in which nine of ten end.
TRAIN, SAMPLES = 50, 120
WINDOWS = (20, 50)
# Whole tosses are searched from several samples of the flight: which face a cube falls on hangs on
# little, and the average over neighbouring starts says more of parameters than one.
LATER = (0, 6)
# Starts of a fit: friction, and what the stiffness (MuJoCo: time constant) that nobody stated is
# multiplied by. Friction 1 holds a corner in place, where nothing depends on it.
STARTS = ((1.0, 1.0), (0.3, 1.0), (0.3, 0.1))
# Names of the numbers, where they may lie, and steps of the last search (in logarithms).
SPRING = {
    "pair.friction": (0.02, 2.0, 0.2),
    "pair.stiffness": (1e3, 1e6, 0.7),
    "pair.dissipation": (1e-2, 20.0, 0.3),
}
RIGID = {"pair.friction": (0.02, 2.0, 0.2), "pair.restitution": (1e-3, 0.9, 0.5)}
# Of relative inertia and scale.
CUBE_STEPS, SEARCH = (0.15, 0.01), 150
PARTS = ("spring", "rigid", "mujoco", "generated")


def search(
    score: Callable[[np.ndarray], float], start: np.ndarray, steps: np.ndarray, calls: int = SEARCH
) -> np.ndarray:
    """Nelder-Mead's simplex from a point and its neighbours."""
    simplex = np.vstack([start, start + np.diag(steps)])
    options = {
        "maxfev": calls,
        "initial_simplex": simplex,
        "xatol": 1e-3,
        "fatol": 1e-4,
        "adaptive": len(start) > 6,
    }
    return minimize(score, start, method="Nelder-Mead", options=options).x


def first(pair: tuple[float, Any]) -> float:
    """What to sort by."""
    return pair[0]


def search_all(
    score: Callable[[np.ndarray], float], starts: list[np.ndarray], steps: np.ndarray
) -> np.ndarray:
    """The best of the searches from several points."""
    found = [search(score, x, steps) for x in starts]
    return min(found, key=score)


def bounded(inertia: float) -> float:
    """A relative inertia that a cube can have."""
    return float(np.clip(inertia, recorded.SOLID, recorded.HOLLOW))


def with_numbers(model: gs.Model, names: list[str], x: np.ndarray) -> gs.Model:
    """The cube with surface numbers, relative inertia and length scale, all as logarithms."""
    *numbers, inertia, scale = np.exp(x)
    for name, value in zip(names, numbers, strict=True):
        model = with_leaf(model, name, jnp.asarray([value]))
    return recorded.shrunk(recorded.slower(model, [bounded(inertia)]), [scale])


class Law:
    """A law of contact, what is free in it, and how finely a recorded step is divided."""

    def __init__(
        self,
        label: str,
        law: Any,
        free: dict[str, Any],
        substeps: int,
        given: bool,
        search: bool,
    ) -> None:
        self.label, self.law, self.free, self.substeps = label, law, free, substeps
        self.given, self.search = given, search

    def simulator(self, model: gs.Model) -> gs.Simulator:
        """The cube under this law."""
        return gs.Simulator(model, recorded.DT, substeps=self.substeps, contact=self.law)

    def start(self) -> gs.Simulator:
        """The cube as it comes."""
        return self.simulator(recorded.cube())

    def searches(self, found: list[np.ndarray]) -> list[np.ndarray]:
        """The two best, and the best with a softer spring: windows see little of stiffness."""
        names = list(self.free)
        if "pair.stiffness" not in names:
            return found[:2]
        return [*found[:2], found[0] - np.log(8.0) * (np.arange(len(found[0])) == 1)]

    def fit(self, train: Tosses) -> tuple[gs.Simulator, dict[str, float]]:
        """Windows from several starts; the best of them by whole tosses; a last search there."""
        names = list(self.free)
        free: dict[str, Any] = {
            f"{n}[*]": gs.Bounds(low, high) for n, (low, high, _) in self.free.items()
        }
        # Inertia before scale: lengths change it too.
        free |= {} if self.given else {"inertia": recorded.TURNING}
        free["scale"] = recorded.SCALE
        found = []
        for friction, softer in STARTS:
            model = recorded.cube()
            changes = {
                "pair.friction": friction,
                "pair.stiffness": softer * float(model.pair.stiffness[0]),
                "pair.restitution": 0.1,
            }
            for name in set(changes) & set(names):
                model = with_leaf(model, name, jnp.asarray([changes[name]]))
            result = recorded.fit_windows(self.simulator(model), train, free, WINDOWS)
            x = np.array([max(r.value, 1e-3) for r in result.parameters])
            if self.given:
                x = np.insert(x, -1, 1.0)
            found.append((recorded.score(recorded.simulate(result.simulator, train), train), x))
            print(
                f"{self.label} from {friction, softer}: {np.round(x, 4)}, {found[-1][0]:.4f}, "
                f"{len(result.history)} iterations"
            )
        if not self.search:
            x = min(found, key=first)[1]
            fitted = self.simulator(with_numbers(recorded.cube(), names, np.log(x)))
            return fitted, dict(zip([*names, "inertia", "scale"], x.tolist(), strict=True))
        whole = recorded.from_later(train, LATER)
        steps = np.array([f[2] for f in self.free.values()] + [*CUBE_STEPS])
        if self.given:
            steps[-2] = 0.0

        def score(x: np.ndarray) -> float:
            simulator = self.simulator(with_numbers(recorded.cube(), names, x))
            return recorded.score(recorded.simulate(simulator, whole), whole)

        best = search_all(
            score, self.searches([np.log(x) for _, x in sorted(found, key=first)]), steps
        )
        print(f"{self.label}, searched: {np.round(np.exp(best), 4)}, {score(best):.4f}")
        best[-2] = np.log(bounded(np.exp(best[-2])))
        numbers = dict(zip([*names, "inertia", "scale"], np.exp(best).tolist(), strict=True))
        return self.simulator(with_numbers(recorded.cube(), names, best)), numbers


class MuJoCo:
    """The same cube in MuJoCo: time constant and damping ratio of contact, friction, scale."""

    names = ("time constant", "damping ratio", "friction", "inertia", "scale")
    start = np.log([0.02, 1.0, 1.0, 1.0, 1.0])
    parts = 4

    def __init__(self, given: bool) -> None:
        self.given = given

    def simulate(self, x: np.ndarray, q: np.ndarray, qd: np.ndarray, steps: int) -> np.ndarray:
        """Positions [n, steps + 1, 7] from states [n, 7], [n, 6]."""
        import mujoco
        from mujoco import rollout

        constant, ratio, friction, turning, s = np.exp(x)
        turning = 1.0 if self.given else bounded(turning)
        h = recorded.DT / self.parts
        constant, inertia = max(constant, 2.01 * h), turning * INERTIA / s**2
        model = mujoco.MjModel.from_xml_string(f"""<mujoco>
            <option timestep="{h}" gravity="0 0 {-recorded.GRAVITY / s}" cone="elliptic"/>
            <default>
            <geom condim="3" friction="{friction} 0 0" solref="{constant} {ratio}"/></default>
            <worldbody><geom type="plane" size="0 0 1"/><body><freejoint/>
            <inertial pos="0 0 0" mass="{MASS}" diaginertia="{inertia} {inertia} {inertia}"/>
            <geom type="box" size="{HALF / s} {HALF / s} {HALF / s}"/>
            </body></worldbody></mujoco>""")
        first = np.concatenate([np.zeros((len(q), 1)), q, qd], 1)
        states, _ = rollout.rollout(
            [model] * len(q), mujoco.MjData(model), initial_state=first, nstep=steps * self.parts
        )
        later = states[:, self.parts - 1 :: self.parts, 1:8]
        return np.concatenate([q[:, None], later], 1)

    def whole(self, x: np.ndarray, tosses: Tosses) -> np.ndarray:
        """Whole tosses from their first samples."""
        return self.simulate(x, tosses.q[:, 0], tosses.qd[:, 0], tosses.q.shape[1] - 1)

    def searches(self, found: list[np.ndarray]) -> list[np.ndarray]:
        """As `Law.searches`: a stiffness of an eighth."""
        return [*found[:2], found[0] + 0.5 * np.log([8.0, 1, 1, 1, 1])]

    def fit(self, train: Tosses) -> np.ndarray:
        """As `Law.fit`, with differences for derivatives."""
        found = []
        for friction, softer in STARTS:
            x = self.start + np.log([1 / softer**0.5, 1, friction, 1, 1])
            for steps in WINDOWS:
                w = recorded.windows(train, steps)

                def residual(x: np.ndarray, w: Tosses = w, steps: int = steps) -> np.ndarray:
                    q = self.simulate(x, w.q[:, 0], w.qd[:, 0], steps)
                    return recorded.residual(q, w).reshape(-1)

                x = least_squares(
                    residual, x, loss="huber", f_scale=2.0, diff_step=1e-2, max_nfev=15
                ).x
            found.append((recorded.score(self.whole(x, train), train), x))
            print(f"MuJoCo from {friction, softer}: {np.round(np.exp(x), 4)}, {found[-1][0]:.4f}")
        whole = recorded.from_later(train, LATER)
        best = search_all(
            lambda x: recorded.score(self.whole(x, whole), whole),
            self.searches([x for _, x in sorted(found, key=first)]),
            np.array([0.5, 0.3, 0.2, *CUBE_STEPS]),
        )
        print(f"MuJoCo, searched: {np.round(np.exp(best), 4)}")
        return best


def draw_tosses(
    folder: str | None, name: str, tosses: Tosses, start: np.ndarray, fitted: np.ndarray
) -> None:
    """Height of three unseen tosses, and all errors of position and rotation, sorted."""
    if folder is None:
        return
    figure, grid = pictures.axes(2, 2, width=4.6)
    length = np.minimum(tosses.real.sum(1), 120)
    for k in range(3):
        n, a = length[k], grid.flat[k]
        for q, colour, label, width in (
            (start, pictures.PLAIN, "start", 1.2),
            (tosses.q, pictures.TRUTH, "recorded", 2.6),
            (fitted, pictures.HYBRID, "fitted", 1.2),
        ):
            along = np.linalg.norm(q[k, :n, :2] - q[k, 0, :2], axis=1)
            a.plot(along, q[k, :n, 2], color=colour, label=label, linewidth=width)
        a.set(xlabel="distance (m)", ylabel="height of the centre (m)")
    grid[0, 0].legend(frameon=False)
    share = np.linspace(0, 1, len(tosses))
    for q, colour, label in ((start, pictures.PLAIN, "start"), (fitted, pictures.HYBRID, "fitted")):
        for values, style in zip(recorded.errors(q, tosses), ("-", "--"), strict=True):
            unit = "m" if style == "-" else "rad"
            grid[1, 1].semilogy(
                share, np.sort(values), style, color=colour, label=f"{label} ({unit})"
            )
    grid[1, 1].set(xlabel="share of unseen tosses", ylabel="mean error of a toss")
    grid[1, 1].set_ylim(top=12)
    grid[1, 1].legend(frameon=False, ncol=2, loc="upper left")
    pictures.save(figure, folder, name)


def judge(figures: Figures, name: str, q: np.ndarray, tosses: Tosses) -> tuple[float, float]:
    """Mean errors of whole tosses, into the table."""
    distance, angle = (float(e.mean()) for e in recorded.errors(q, tosses))
    figures.note(f"{name}: position error", distance, "m")
    figures.note(f"{name}: rotation error", angle, "rad")
    return distance, angle


def real(
    figures: Figures, data: Path, arguments: argparse.Namespace, parts: tuple[str, ...]
) -> None:
    """Recorded tosses: both laws and MuJoCo, on tosses that none has seen."""
    name, seed, folder = arguments.set, arguments.seed, arguments.pictures
    given, search = arguments.inertia == "given", not arguments.gradients
    everything = recorded.read(data / recorded.SETS[name], name)
    order = np.random.default_rng(seed).permutation(len(everything))
    train = everything[order[:TRAIN]].trimmed(SAMPLES)
    unseen = judged.folder(arguments, recorded.SETS[name])
    judged.say(figures, unseen)
    test = everything[order[TRAIN:]] if unseen is None else recorded.read(unseen, name)
    further = next(n for n in recorded.SETS if n != name)
    other = recorded.read(data / recorded.SETS[further], further)
    laws = {
        "spring": Law("SpringDamper", gs.contact.SpringDamper(), SPRING, 10, given, search),
        "rigid": Law("Complementarity", gs.contact.Complementarity(), RIGID, 1, given, search),
    }
    for law in (laws[p] for p in parts if p in laws):
        began = time.perf_counter()
        before = judge(figures, f"{law.label} start", recorded.simulate(law.start(), test), test)
        fitted, numbers = law.fit(train)
        seconds = time.perf_counter() - began
        after = judge(figures, f"{law.label} fitted", recorded.simulate(fitted, test), test)
        figures.at_most(f"{law.label}: position error over the start's", after[0] / before[0], 0.5)
        figures.at_most(f"{law.label}: rotation error over the start's", after[1] / before[1], 0.5)
        judge(figures, f"{law.label} fitted, other set", recorded.simulate(fitted, other), other)
        draw_tosses(
            folder,
            f"e04_{law.label.lower()}",
            test,
            recorded.simulate(law.start(), test),
            recorded.simulate(fitted, test),
        )
        for name, value in numbers.items():
            figures.note(f"{law.label}: {name}", value)
        figures.note(f"{law.label}: time of the fit", seconds, "s")
    if "mujoco" not in parts:
        return
    rival = MuJoCo(given)
    began = time.perf_counter()
    judge(figures, "MuJoCo start", rival.whole(rival.start, test), test)
    x = rival.fit(train)
    seconds = time.perf_counter() - began
    judge(figures, "MuJoCo fitted", rival.whole(x, test), test)
    judge(figures, "MuJoCo fitted, other set", rival.whole(x, other), other)
    x[3] = np.log(bounded(np.exp(x[3])))
    for name, value in zip(rival.names, np.exp(x), strict=True):
        figures.note(f"MuJoCo: {name}", float(value))
    figures.note("MuJoCo: time of the fit", seconds, "s")


# The generated toss [R]: corners, start (height, roll pitch yaw, velocity), truth, its step.
CORNERS = np.stack(np.meshgrid(*[[-0.4, 0.4]] * 3), -1).reshape(-1, 3)
START, TURN, SPEED = (0.0, 0.0, 1.2), (0.8, 1.1, 0.9), (0.7, 5.0, 0.0, 0.0, 0.0, 0.0)
STEP, STEPS, SUBSTEPS = 0.01, 300, 10
TRUTH = {"friction": 0.2, "restitution": 0.0, "cfm": 1e-5}
SPRINGS = {
    "pair.stiffness[*]": gs.Bounds(0.0, 2e4, shared=True),
    "pair.dissipation[*]": gs.Bounds(0.0, 2e4, shared=True),
}
KEYS = 3


def corner_cube(**surface: float) -> gs.Model:
    """A rounded cube of 10 kg on eight spheres."""
    b = gs.Builder("cube")
    b.link("cube", joint="free", mass=10.0, inertia=1.0)
    b.geom("plane", (), name="ground", **surface)
    for k, corner in enumerate(CORNERS):
        b.geom("sphere", 0.1, "cube", corner, name=f"corner{k}")
    return b.build()


def quaternion(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """About x, then y, then z, all fixed."""
    (cr, cp, cy), (sr, sp, sy) = (f(np.array([roll, pitch, yaw]) / 2) for f in (np.cos, np.sin))
    return np.array(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ]
    )


def soft_cube(stiffness: float, key: int) -> gs.Simulator:
    """The cube on springs without dissipation, the size of friction left to a network."""
    model = corner_cube()
    for name, value in (("pair.stiffness", stiffness), ("pair.dissipation", 0.0)):
        model = with_leaf(model, name, jnp.full(len(CORNERS), value))
    plain = gs.Simulator(model, STEP, substeps=SUBSTEPS, contact=gs.contact.SpringDamper())
    drag = gs.Graft(
        "contact.drag[*]",
        ("contact.force_n[*]", "contact.slip[*]"),
        gs.MLP(3, 2, activation="elu"),
        mode="replace",
        input_scale={"contact.force_n[*]": "100 N", "contact.slip[*]": "3 m/s"},
        output_scale="20 N",
        name="drag",
    )
    return plain.graft(gs.Blueprint(drag), key=jax.random.key(key))


def toss(simulator: gs.Simulator, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, ...]:
    """Positions [t, 7], velocities [t, 6], greatest depth (m)."""
    state = simulator.initial_state(q, qd)
    motion = simulator.rollout(state, steps=STEPS, record=("contact.depth",))
    return np.asarray(motion.q), np.asarray(motion.qd), np.asarray(motion.recorded["contact.depth"])


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Mean distance of positions (m)."""
    return float(np.linalg.norm(a[:, :3] - b[:, :3], axis=1).mean())


def toss_problem(
    simulator: gs.Simulator, q: np.ndarray, qd: np.ndarray, horizons: tuple[int, ...]
) -> gs.Problem:
    """All 13 numbers of the state, in windows from true states."""
    model, time = simulator.model, STEP * np.arange(len(q))
    columns = {f"joint.qd[{d}]": qd[:, i] for i, d in enumerate(model.tree.dofs)}
    channels = {
        name: gs.Channel(name, time, x, "m/s" if i < 3 else "rad/s")
        for i, (name, x) in enumerate(columns.items())
    }
    channels["link.pose[cube]"] = gs.Channel("link.pose[cube]", time, q, "m, rad")
    longest = max(horizons)

    def true(_: gs.Recording, t: float) -> tuple[np.ndarray, np.ndarray]:
        return q[round(t / STEP)], qd[round(t / STEP)]

    return gs.Problem(
        simulator,
        gs.Recording(channels, name="toss"),
        SPRINGS,
        noise=dict.fromkeys(columns, 0.1) | {"link.pose[cube]": 0.01},
        holdout=0,
        horizon=STEP * longest,
        growth=tuple(h / longest for h in horizons),
        stride=STEP * min(horizons),
        initial=true,
        fit_initial=False,
        loss="huber",
    )


def inside(problem: gs.Problem, x: np.ndarray) -> np.ndarray:
    """The nearest point within the bounds."""
    return np.clip(x, problem.parameters.lower, problem.parameters.upper)


def generated(figures: Figures, folder: str | None, quick: bool) -> None:
    """The toss of the complementarity law, learned by springs and a network."""
    truth = gs.Simulator(corner_cube(**TRUTH), STEP, contact=gs.contact.Complementarity(0.01))
    state = np.concatenate([START, quaternion(*TURN)]), np.array(SPEED)
    q, qd, _ = toss(truth, *state)
    start = distance(toss(soft_cube(0.0, 0), *state)[0], q)
    figures.at_least("generated: start, mean position error", start, 1.0, "m")
    began = time.perf_counter()
    best = (np.inf, np.zeros(0), None)
    for key in range(1 if quick else KEYS):
        # At stiffness 0 nothing depends on dissipation, which `Problem` refuses.
        problem = toss_problem(soft_cube(1.0, key), q, qd, (5, 20))
        found = gs.fit(problem, local=gs.LevenbergMarquardt(2 if quick else 20)).simulator
        problem = toss_problem(found, q, qd, (STEPS,))
        theta = problem.parameters.start

        def score(x: np.ndarray, problem: gs.Problem = problem) -> float:
            simulated = toss(problem.setup_at(inside(problem, x)).simulator, *state)[0]
            turned = np.abs(np.sum(simulated[:, 3:] * q[:, 3:], 1))
            off = distance(simulated, q) + float(np.arccos(np.clip(turned, 0, 1)).mean())
            return off if np.isfinite(off) else 1e3

        got = score(theta)
        print(f"generated, key {key}: {theta[:2]}, {got:.3f}")
        if got < best[0]:
            best = (got, theta, score, problem)
    theta = search(best[2], best[1], 0.05 * np.abs(best[1]) + 0.02, 5 if quick else 1500)
    theta = inside(best[3], theta)
    fitted = best[3].setup_at(theta).simulator
    print(f"generated, searched: {theta[:2]}, {best[2](theta):.3f}")
    seconds = time.perf_counter() - began
    simulated, _, depth = toss(fitted, *state)
    after = distance(simulated, q)
    figures.at_most("generated: fitted, mean position error over 3 s", after, 0.15, "m")
    figures.at_most("generated: fitted, share of the start's error", after / start, 0.1)
    figures.at_most("generated: fitted, deepest", float(depth.max()), 0.05, "m")
    figures.note("generated: stiffness", float(fitted.model.pair.stiffness[0]), "N/m^1.5")
    figures.note("generated: dissipation", float(fitted.model.pair.dissipation[0]), "s/m")
    figures.note("generated: time of the fit", seconds, "s")
    if folder is None:
        return
    figure, grid = pictures.axes(2, width=4.6)
    at = STEP * np.arange(STEPS + 1)
    sinking = toss(soft_cube(0.0, 0), *state)[0]
    for path, colour, label, width in (
        (sinking, pictures.PLAIN, "start", 1.2),
        (q, pictures.TRUTH, "truth", 2.6),
        (simulated, pictures.HYBRID, "fitted", 1.2),
    ):
        for a, row, what in ((grid[0, 0], 1, "y"), (grid[0, 1], 2, "z")):
            a.plot(at, path[:, row], color=colour, label=label, linewidth=width)
            a.set(xlabel="time (s)", ylabel=f"{what} (m)")
    grid[0, 1].set_ylim(-1, 1.4)
    grid[0, 0].legend(frameon=False)
    pictures.save(figure, folder, "e04_generated")


def main() -> int:
    parser = judged.add_option(pictures.add_option(Figures.arguments(__doc__ or "")))
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all")
    parser.add_argument("--set", choices=tuple(recorded.SETS), default="contactnets")
    parser.add_argument("--inertia", choices=("fitted", "given"), default="fitted")
    parser.add_argument("--gradients", action="store_true", help="no derivative-free last stage")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", gs.GraftsimWarning)
    data = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data"))
    figures = Figures("E4 cube toss", seed=arguments.seed, json_path=arguments.json)
    parts = PARTS if arguments.part == "all" else (arguments.part,)
    if arguments.quick:
        parts = ("generated",)
    if set(parts) - {"generated"}:
        if not (data / recorded.SETS[arguments.set]).is_dir():
            print(f"No recordings in {data}: set GRAFTSIM_DATA.", file=sys.stderr)
            return 2
        real(figures, data, arguments, parts)
    if "generated" in parts:
        generated(figures, arguments.pictures, arguments.quick)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
