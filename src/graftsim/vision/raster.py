"""Anti-aliased pictures from signed distances: each pixel by how far its middle lies inside.

A pixel's colour is that of the shape in front times the share it covers, over what is behind
(Porter and Duff's "over"). The share is that of a half plane seen through a triangular filter two
pixels wide: it has derivatives everywhere, and pixel by pixel they add up to those of the area.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.errors import ModelError
from graftsim.spatial import safe

Image = Float[Array, "height width channels"]
Distances = Float[Array, "shapes height width"]


def pixels(size: Sequence[int], scale: float) -> Float[np.ndarray, "height width 2"]:
    """Middles of the pixels (x to the right, y downwards), `scale` units of length each."""
    if len(size) != 2 or min(size) < 1 or not scale > 0:
        raise ModelError(
            f"A picture of size {tuple(size)} with pixels of {scale}: (height, width) of one or "
            "more pixels, and a positive scale."
        )
    y, x = np.meshgrid(*(np.arange(n) + 0.5 for n in size), indexing="ij")
    return scale * np.stack([x, y], axis=-1)


def disc_distances(
    centres: Float[Array, "shapes 2"], radii: Float[Array, " shapes"], at: np.ndarray
) -> Distances:
    """Signed distances to circles, negative inside."""
    away = jnp.asarray(at) - centres[:, None, None, :]
    return safe.norm(away) - radii[:, None, None]


def polygon_distances(corners: Float[Array, "shapes corners 2"], at: np.ndarray) -> Distances:
    """Signed distances to convex polygons, corners in either order; within a pixel of a corner the
    distance to the nearer edge's line.
    """
    along = jnp.roll(corners, -1, axis=1) - corners
    length = jnp.sqrt(jnp.sum(along * along, -1))
    after = jnp.roll(corners, -1, axis=1)
    area = jnp.sum(corners[..., 0] * after[..., 1] - corners[..., 1] * after[..., 0], axis=1)
    out = jnp.stack([along[..., 1], -along[..., 0]], -1) / length[..., None]
    out = out * jnp.sign(area)[:, None, None]
    offset = jnp.sum(out * corners, -1)
    return jnp.max(jnp.einsum("hwx,ncx->nchw", at, out) - offset[..., None, None], axis=1)


def draw(
    distances: Distances,
    colours: Float[Array, "shapes channels"],
    scale: float = 1.0,
    background: float | Float[Array, " channels"] = 0.0,
) -> Image:
    """Shapes over each other, the last in front; `scale` is the width of a pixel."""
    deep = jnp.clip(-distances / scale, -1.0, 1.0)
    share = 0.5 * jnp.where(deep < 0, (1 + deep) ** 2, 2 - (1 - deep) ** 2)
    colours = jnp.asarray(colours)
    image = jnp.broadcast_to(
        jnp.asarray(background, colours.dtype), (*distances.shape[1:], colours.shape[1])
    )
    for cover, colour in zip(share, colours, strict=True):
        image = image + cover[..., None] * (colour - image)
    return image


def discs(
    centres: Float[Array, "discs 2"],
    radii: Float[Array, " discs"] | float,
    colours: Float[Array, "discs channels"],
    size: Sequence[int],
    *,
    scale: float = 1.0,
    background: float | Float[Array, " channels"] = 0.0,
) -> Image:
    """A picture [height, width, channels] of discs, the last in front.

    `size`: (height, width) in pixels of width `scale`, the unit of centres and radii; x to the
    right, y downwards from the upper left corner. Differentiable in centres, radii and colours.
    Raises ModelError: numbers of discs that differ, or a size that is none.
    """
    centres, colours = jnp.asarray(centres), jnp.asarray(colours)
    _same(centres, colours, "discs", "centres")
    r = jnp.broadcast_to(jnp.asarray(radii, centres.dtype), centres.shape[:1])
    return draw(disc_distances(centres, r, pixels(size, scale)), colours, scale, background)


def polygons(
    corners: Float[Array, "polygons corners 2"],
    colours: Float[Array, "polygons channels"],
    size: Sequence[int],
    *,
    scale: float = 1.0,
    background: float | Float[Array, " channels"] = 0.0,
) -> Image:
    """A picture of convex polygons as of `discs`; differentiable in the corners."""
    corners, colours = jnp.asarray(corners), jnp.asarray(colours)
    _same(corners, colours, "polygons", "corners")
    return draw(polygon_distances(corners, pixels(size, scale)), colours, scale, background)


def _same(places: Array, colours: Array, what: str, name: str) -> None:
    if places.shape[-1:] != (2,) or colours.ndim != 2 or len(places) != len(colours):
        raise ModelError(
            f"{what.capitalize()} with {name} of shape {places.shape} and colours of shape "
            f"{colours.shape}: each has two coordinates and a row of colours."
        )
