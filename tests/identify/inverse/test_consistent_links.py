"""Links that can exist: nearest to the file's, with the fit kept."""

import numpy as np
import pytest

import zoo
from graftsim.identify.inverse.consistent import (
    Prior,
    body_like,
    consistent,
    pseudo_inertia,
    ten_of,
)
from graftsim.identify.inverse.forces.regressor import body_of, ten_numbers


def body(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    m = rng.uniform(0.5, 2.0)
    return ten_numbers(np.array(m), rng.uniform(-0.2, 0.2, 3), m * zoo.random_inertia(rng))


def principal(ten: np.ndarray) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = body_of(ten)[2]
    return np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def test_pseudo_inertia_and_back():
    """Positive definite for a body, and its ten numbers come back."""
    J = pseudo_inertia(body(0))
    assert np.linalg.eigvalsh(J).min() > 0
    assert ten_of(J) == pytest.approx(body(0), abs=1e-14)


def test_what_the_data_do_not_tell_is_the_files():
    """Of an exactly known mass and nothing else the centre of mass stays where it is."""
    file = body(1)
    prior = Prior(file, np.arange(10)[None], np.zeros(10, bool))
    B = np.eye(10)[:1]
    z = consistent(B, file[:1], np.array([[1e-12]]), prior)
    assert z == pytest.approx(file, rel=1e-6)
    heavier = consistent(B, 2 * file[:1], np.array([[1e-12]]), prior)
    assert heavier[0] == pytest.approx(2 * file[0], rel=1e-6)


def test_what_the_data_tell_well_is_kept():
    """Ten numbers of another body, known to 0.1 %, win over those of the file."""
    file, truth = body(1), body(2)
    std = 1e-3 * np.abs(truth).max() * np.ones(10)
    prior = Prior(file, np.arange(10)[None], np.zeros(10, bool))
    z = consistent(np.eye(10), truth, np.diag(std**2), prior)
    assert np.abs((z - truth) / std).max() < 0.5


def test_an_impossible_inertia_becomes_a_body():
    """The triangle inequality holds for what is found, however the measurement breaks it."""
    truth = body(3)
    wrong = truth.copy()
    wrong[4] += 5 * truth[5]
    prior = Prior(truth, np.arange(10)[None], np.zeros(10, bool))
    assert principal(wrong)[2] > principal(wrong)[:2].sum()
    z = consistent(np.eye(10), wrong, 1e-8 * np.eye(10), prior)
    a, b, c = principal(z)
    assert a > 0
    assert c <= a + b
    assert z[0] > 0


def test_negative_friction_is_held_above_zero():
    """One that is measured as -1 +- 0.1 is found at zero, one that is measured as 1 stays."""
    prior = Prior(np.zeros(2), np.zeros((0, 10), int), np.ones(2, bool))
    z = consistent(np.eye(2), np.array([-1.0, 1.0]), 0.01 * np.eye(2), prior)
    assert 0 < z[0] < 1e-3
    assert z[1] == pytest.approx(1.0, abs=1e-3)


def test_a_point_mass_gets_a_thickness():
    """A file's link without extent is taken as a body of a centimetre."""
    point = ten_numbers(np.array(2.0), np.array([0.1, 0.0, 0.0]), np.zeros(6))
    a, b, c = principal(body_like(point))
    assert (a, b, c) == pytest.approx((4e-4,) * 3)
    assert body_like(body(4)) == pytest.approx(body(4), abs=1e-12)
