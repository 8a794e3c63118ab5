"""MCube's planar pushes (Yu et al. 2016): outlines of objects, and recorded pushes on one clock.

`mcube_push` has whole pushes, `mcube_push_endpoints` starts and ends of many. Both lie under
GRAFTSIM_DATA and are read from there.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.signal import savgol_filter

TIP = 0.00475
# Control step of recordings (s), the longest push (s), and where a push begins: the tip this far
# (m) from touching.
DT, LONGEST, NEAR = 0.005, 1.0, 0.002
CORNERS, POINTS = 104, 16
# Speed (m/s) at which tips of endpoints go.
PLAYED = 0.1
# Of a whole push, what its last pose weighs in a fit: the one that is judged.
LAST = 0.8
# Tip positions come from joint angles, with steps of 10 um: a local line over so many seconds.
SMOOTHING = 0.05


@dataclass(frozen=True)
class Shape:
    """A steel object: outline [CORNERS, 2] (m, counter-clockwise), mass, inertia about its centre
    of mass, which is `com`, and points [POINTS, 2] that stand for equal parts of its bottom.
    """

    name: str
    outline: np.ndarray
    mass: float
    inertia: float
    com: np.ndarray
    points: np.ndarray
    shares: np.ndarray


@dataclass(frozen=True)
class Pushes:
    """n pushes: file or row, session, shape, surface, outline [n, c, 2] (m, in the object's axes),
    tip [n, t, 2] (m), object [n, t, 3] (m, m, rad), wrench
    on the object [n, t, 3] (N, N, N m; in world axes, the moment at the sensor), the last row that
    counts. Of endpoints only the first and last poses are known; those between are copies.
    """

    names: np.ndarray
    session: np.ndarray
    shape: np.ndarray
    surface: np.ndarray
    outline: np.ndarray
    tip: np.ndarray
    pose: np.ndarray
    wrench: np.ndarray
    last: np.ndarray

    def __len__(self) -> int:
        return len(self.shape)

    def __getitem__(self, rows: np.ndarray) -> Pushes:
        fields = self.__dataclass_fields__
        return replace(self, **{k: getattr(self, k)[rows] for k in fields})

    @property
    def kind(self) -> np.ndarray:
        """[n]: surface and shape."""
        return np.array([f"{a} {b}" for a, b in zip(self.surface, self.shape, strict=True)])

    @property
    def whole(self) -> bool:
        """Whether more is known than start and end."""
        return self.wrench.shape[1] > 1

    @property
    def counts(self) -> np.ndarray:
        """[n, t]: samples that are known and count."""
        t = np.arange(self.pose.shape[1])
        return t <= self.last[:, None] if self.whole else t == self.last[:, None]

    @property
    def weights(self) -> np.ndarray:
        """[n, t]: what samples weigh in a fit, the last one LAST of a push, those before the rest.

        While the tip moves, clocks of robot and cameras that differ by 10 ms are a millimetre.
        """
        t, last = np.arange(self.pose.shape[1]), self.last[:, None]
        share = (1 - LAST) / last if self.whole else 0.0
        return np.where(t == last, LAST if self.whole else 1.0, np.where(t < last, share, 0.0))


def read_shapes(folder: Path) -> dict[str, Shape]:
    """All objects of the data set by name."""
    found = json.loads((folder / "shapes.json").read_text(encoding="utf-8"))
    return {k: _shape(k, x) for k, x in found.items() if not k.startswith("_")}


def _shape(name: str, given: dict) -> Shape:
    if "ellipse" in given:
        angle = 2 * np.pi * np.arange(CORNERS) / CORNERS
        outline = np.stack([np.cos(angle), np.sin(angle)], 1) * given["ellipse"]
    else:
        outline = _resampled(np.array(given["polygon"], float))
    points, shares = _parts(outline)
    com = np.array(given["centroid"], float)
    return Shape(name, outline, given["mass"], given["inertia_zz"], com, points, shares)


def _resampled(corners: np.ndarray) -> np.ndarray:
    """The same outline with CORNERS corners: long edges divided, or the flattest corners left."""
    if corners[:, 0] @ np.roll(corners[:, 1], -1) < corners[:, 1] @ np.roll(corners[:, 0], -1):
        corners = corners[::-1]
    while len(corners) > CORNERS:
        a, c = np.roll(corners, 1, 0), np.roll(corners, -1, 0)
        u, v = corners - a, c - a
        area = np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
        corners = np.delete(corners, np.argmin(area), 0)
    while len(corners) < CORNERS:
        ends = np.roll(corners, -1, 0)
        k = int(np.argmax(np.linalg.norm(ends - corners, axis=1)))
        corners = np.insert(corners, k + 1, (corners[k] + ends[k]) / 2, 0)
    return corners


def _parts(outline: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centres of POINTS parts of the inside of nearly equal size (Lloyd), and their shares."""
    low, high = outline.min(0), outline.max(0)
    x = np.stack(np.meshgrid(*(np.linspace(a, b, 120) for a, b in zip(low, high, strict=True))), -1)
    x = x.reshape(-1, 2)
    x = x[inside(x, outline)]
    centres = x[np.random.default_rng(0).choice(len(x), POINTS, replace=False)]
    for _ in range(60):
        owner = np.argmin(((x[:, None] - centres) ** 2).sum(-1), 1)
        centres = np.stack([x[owner == k].mean(0) for k in range(POINTS)])
    owner = np.argmin(((x[:, None] - centres) ** 2).sum(-1), 1)
    return centres, np.bincount(owner, minlength=POINTS) / len(x)


def inside(x: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """Whether points lie inside: an odd number of edges to their right."""
    a, b = outline, np.roll(outline, -1, 0)
    rises = (a[:, 1] > x[..., 1:]) != (b[:, 1] > x[..., 1:])
    along = (x[..., 1:] - a[:, 1]) / np.where(b[:, 1] == a[:, 1], 1.0, b[:, 1] - a[:, 1])
    right = x[..., :1] < a[:, 0] + along * (b[:, 0] - a[:, 0])
    return (rises & right).sum(-1) % 2 == 1


def gap(tip: np.ndarray, pose: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """Distance of tip centres [.., 2] from the outlines of objects at poses [.., 3]; m, negative
    inside."""
    c, s = np.cos(pose[..., 2]), np.sin(pose[..., 2])
    d = tip - pose[..., :2]
    x = np.stack([c * d[..., 0] + s * d[..., 1], -s * d[..., 0] + c * d[..., 1]], -1)
    a, e = outline, np.roll(outline, -1, -2) - outline
    t = np.clip(((x[..., None, :] - a) * e).sum(-1) / (e * e).sum(-1), 0, 1)
    away = np.linalg.norm(x[..., None, :] - a - t[..., None] * e, axis=-1).min(-1)
    return np.where(inside(x, outline), -away, away)


def read_pushes(folder: Path, shapes: dict[str, Shape]) -> Pushes:
    """Whole pushes of a folder, from shortly before the tip touches to where it stops.

    Those whose tip never comes near the object are left out.
    """
    rows = list(csv.DictReader((folder / "manifest.csv").open(encoding="utf-8")))
    found = [_push(folder, row, shapes) for row in rows if (folder / row["file"]).is_file()]
    kept = [x for x in found if x is not None]
    return Pushes(*(np.array(x) for x in zip(*kept, strict=True)))


def _push(folder: Path, row: dict[str, str], shapes: dict[str, Shape]) -> tuple | None:
    """One push on a grid of DT, held at its end; None if the tip never comes near the object."""
    data = np.load(folder / row["file"])
    clean = {k: _in_order(data[k]) for k in ("object_pose", "tip_pose", "ft_wrench")}
    start = max(x[0, 0] for x in clean.values())
    end = min(x[-1, 0] for x in clean.values())
    t = np.arange(start, end, DT)
    pose = clean["object_pose"].copy()
    pose[:, 3] = np.unwrap(pose[:, 3])
    pose = np.stack([np.interp(t, pose[:, 0], pose[:, k]) for k in (1, 2, 3)], 1)
    tip, wrench = (
        np.stack([np.interp(t, x[:, 0], x[:, k]) for k in columns], 1)
        for x, columns in ((clean["tip_pose"], (1, 2)), (clean["ft_wrench"], (1, 2, 3)))
    )
    tip = savgol_filter(tip, round(SMOOTHING / DT) // 2 * 2 + 1, 2, axis=0)
    outline = shapes[row["shape"]].outline
    close = np.flatnonzero(gap(tip, pose, outline) < TIP + NEAR)
    moving = np.flatnonzero(np.linalg.norm(np.diff(tip, axis=0), axis=1) > 1e-3 * DT)
    if not len(close) or close[0] >= moving[-1] - 10:
        return None
    first, steps = max(close[0] - 1, 0), round(LONGEST / DT)
    last = min(moving[-1] - first, steps)
    index = np.minimum(np.arange(steps + 1) + first, first + last)
    # The force that the sensor shows before anything moves is its zero.
    zero = wrench[: max(moving[0] - 5, 5)].mean(0)
    session = f"{row['surface']} {row['shape']}"
    names = row["file"], session, row["shape"], row["surface"], outline
    return *names, tip[index], pose[index], zero - wrench[index], last


def joined(first: Pushes, second: Pushes) -> Pushes:
    """Both, one after the other."""
    fields = first.__dataclass_fields__
    return Pushes(*(np.concatenate([getattr(x, k) for x in (first, second)]) for k in fields))


def read_endpoints(folder: Path, shapes: dict[str, Shape]) -> Pushes:
    """Pushes of which start and end are known, each of 50 mm along a line.

    Their tips go at PLAYED instead of 10 or 20 mm/s: what slides so slowly follows the tip's way,
    whatever its speed, and there are ten times fewer steps.
    """
    found = []
    last = round(0.05 / PLAYED / DT)
    along = np.arange(last + 1) / last
    for path in sorted(p for p in folder.glob("*_v*.csv") if not p.stem.startswith("wrench")):
        surface, shape, _ = path.stem.split("_")
        rows = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
        for k, x in enumerate(rows):
            tip = x[6:8] + along[:, None] * (x[8:10] - x[6:8])
            turned = x[2] + (x[5] - x[2] + np.pi) % (2 * np.pi) - np.pi
            pose = np.repeat([[*x[3:5], turned]], last + 1, 0)
            pose[0] = x[:3]
            names = f"{path.stem}:{k}", path.stem, shape, surface, shapes[shape].outline
            found.append((*names, tip, pose, np.zeros((1, 3)), last))
    return Pushes(*(np.array(x) for x in zip(*found, strict=True)))


def registration(pushes: Pushes) -> dict[str, np.ndarray]:
    """By session how far (m) the tip is off in the world, the outline in the object, and how much
    larger it is [5]: what makes gaps in contact TIP, by least squares with a price of 1 mm.

    Robot, cameras and markers have axes of their own, which are set anew with each object. The last
    two thirds of a push count, its end where no more is known.
    """
    return {name: _offsets(pushes[pushes.session == name]) for name in np.unique(pushes.session)}


def _offsets(pushes: Pushes) -> np.ndarray:
    slopes, gaps = [], []
    for k in range(len(pushes)):
        last = pushes.last[k]
        rows = np.linspace(last // 3, last, 12).astype(int) if pushes.whole else np.array([last])
        tip, pose, outline = pushes.tip[k, rows], pushes.pose[k, rows], pushes.outline[k]
        away, n = gap(tip, pose, outline) - TIP, normals(tip, pose, outline)
        c, s = np.cos(pose[:, 2]), np.sin(pose[:, 2])
        own = np.stack([c * n[:, 0] + s * n[:, 1], -s * n[:, 0] + c * n[:, 1]], 1)
        near = np.abs(away) < 4e-3
        # A push is one observation, however many samples it has.
        share = 1 / np.sqrt(len(rows))
        slopes.append(share * np.concatenate([n, own, np.ones((len(n), 1))], 1)[near])
        gaps.append(share * away[near])
    A, b = np.concatenate(slopes), np.concatenate(gaps)
    return np.linalg.solve(A.T @ A + np.eye(5), A.T @ b)


def registered(pushes: Pushes, by: dict[str, np.ndarray]) -> Pushes:
    """With tips and outlines where the cameras would see them; sessions unknown stay."""
    off = np.stack([by.get(name, np.zeros(5)) for name in pushes.session])
    edge = np.roll(pushes.outline, -1, 1) - np.roll(pushes.outline, 1, 1)
    outside = np.stack([edge[..., 1], -edge[..., 0]], -1)
    outside /= np.linalg.norm(outside, axis=-1, keepdims=True)
    outline = pushes.outline + off[:, None, 2:4] + off[:, 4, None, None] * outside
    return replace(pushes, tip=pushes.tip - off[:, None, :2], outline=outline)


def normals(tip: np.ndarray, pose: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """Directions [.., 2] in which gaps grow, the object's outward normals, by differences."""
    e = 1e-6 * np.eye(2)
    steps = [(gap(tip + d, pose, outline) - gap(tip - d, pose, outline)) / 2e-6 for d in e]
    return np.stack(steps, -1)


def _in_order(x: np.ndarray) -> np.ndarray:
    """Rows whose times increase."""
    keep = np.concatenate([[True], x[1:, 0] > np.maximum.accumulate(x[:, 0])[:-1]])
    return x[keep]
