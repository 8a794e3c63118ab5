"""Pictures of E8: pushes that were held out, and friction over speed and place as learned."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pictures
from pushes import Pushes
from pushing import GRAVITY
from pushing_fit import SURFACES, Candidate, Errors

from graftsim.contact.friction import brown_mcphee

LOOKS = (("tuned", pictures.PLAIN), ("hybrid", pictures.HYBRID))
# Mass (kg) and support points of a usual object: what one point carries.
LOAD = 1.1 * GRAVITY / 16
FASTEST, MAP_SPEED = 0.15, 0.05


def draw_pushes(
    folder: str | None,
    pushes: Pushes,
    ends: dict[str, np.ndarray],
    sorted_errors: dict[str, Errors],
) -> None:
    """Six pushes: outlines at the start, as measured, and final poses [n, 3] of each model; and
    all errors, sorted."""
    figure, grid = pictures.axes(4, 2, width=3.2)
    moved = np.linalg.norm(pushes.pose[:, -1, :2] - pushes.pose[:, 0, :2], axis=1)
    rows = np.flatnonzero(moved > 0.02)[:6]
    for a, k in zip(grid.flat, rows, strict=False):
        measured = pushes.pose[k]
        outline(a, pushes, k, measured[0], "0.8", "start")
        outline(a, pushes, k, measured[-1], pictures.TRUTH, "measured", 2.2)
        for name, colour in LOOKS:
            outline(a, pushes, k, ends[name][k], colour, name)
        a.plot(*pushes.tip[k].T, ":", color=pictures.NETWORK, label="tip")
        a.set_aspect("equal")
        a.set_title(str(pushes.names[k]).removesuffix(".npz"), fontsize=7)
    grid[0, 0].legend(frameon=False, fontsize=7)
    for name, colour in LOOKS:
        found = sorted_errors[name]
        share = np.linspace(0, 1, len(found.position))
        grid[1, 2].plot(share, 1e3 * np.sort(found.position), color=colour, label=name)
        grid[1, 3].plot(share, np.sort(found.yaw), color=colour, label=name)
    grid[1, 2].set(xlabel="share of pushes", ylabel="final position error (mm)")
    grid[1, 3].set(xlabel="share of pushes", ylabel="final yaw error (rad)")
    pictures.save(figure, folder, "e08_pushes")


def outline(a: Any, pushes: Pushes, k: int, pose: np.ndarray, colour: str, label: str,
            width: float = 1.2) -> None:  # fmt: skip
    """An object's outline at a pose."""
    c, s = np.cos(pose[2]), np.sin(pose[2])
    x = pushes.outline[k] @ np.array([[c, s], [-s, c]]) + pose[:2]
    a.plot(*np.concatenate([x, x[:1]]).T, color=colour, label=label, linewidth=width)


def coefficients(
    found: Candidate, speed: np.ndarray, place: np.ndarray, ways: int = 8
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of friction [n] of the tuned curve, and of it with the network `place`, means
    over directions of sliding; at speeds [n] (m/s) and places [n, 2] (m) on the first board."""
    mu, extra, v_0 = found.friction[SURFACES.index("abs")][:3]
    plain = np.asarray(speed * brown_mcphee(jnp.asarray(speed), mu, extra, v_0))
    graft = found.simulator.grafts.grafts[0].with_trainable(jnp.asarray(found.weights[0]))
    angle = 2 * np.pi * np.arange(ways) / ways
    way = np.stack([np.cos(angle), np.sin(angle)], 1)
    sliding = (speed[:, None, None] * way).reshape(-1, 2)
    where = np.repeat(np.concatenate([place, 0 * place[:, :1]], 1), ways, 0)
    load = np.full((len(sliding), 1), LOAD)
    force = np.asarray(graft(jnp.asarray(np.concatenate([load, sliding, where], 1)))[0])
    resists = -(force.reshape(-1, ways, 2) * way).sum(-1).mean(1)
    return plain, plain + resists / LOAD


def draw_friction(folder: str | None, found: Candidate, pushes: Pushes) -> None:
    """Friction over speed in the middle of the board, and over the board at MAP_SPEED."""
    figure, grid = pictures.axes(2, width=4.4, height=3.4)
    centre = pushes.pose[:, :, :2].reshape(-1, 2)
    speed = np.linspace(1e-3, FASTEST, 100)
    middle = np.tile(np.median(centre, 0), (len(speed), 1))
    for (name, colour), mu in zip(LOOKS, coefficients(found, speed, middle), strict=True):
        grid[0, 0].plot(1e3 * speed, mu, color=colour, label=name)
    grid[0, 0].set(xlabel="speed of sliding (mm/s)", ylabel="coefficient of friction")
    grid[0, 0].legend(frameon=False, fontsize=8)
    low, high = np.quantile(centre, [0.02, 0.98], axis=0)
    x, y = np.meshgrid(*(np.linspace(a, b, 40) for a, b in zip(low, high, strict=True)))
    at = np.stack([x.ravel(), y.ravel()], 1)
    _, mu = coefficients(found, np.full(len(at), MAP_SPEED), at)
    a = grid[0, 1]
    shown = a.pcolormesh(1e3 * x, 1e3 * y, mu.reshape(x.shape), cmap="viridis", rasterized=True)
    figure.colorbar(shown, ax=a, label=f"coefficient at {1e3 * MAP_SPEED:.0f} mm/s")
    a.plot(*(1e3 * pushes.pose[:, 0, :2].T), ".", color="white", markersize=2)
    a.grid(visible=False)
    a.set(xlabel="x on the board (mm)", ylabel="y (mm)", aspect="equal")
    pictures.save(figure, folder, "e08_friction")
