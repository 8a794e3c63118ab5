"""What is said of a number that hangs on what was not free: grades, and advice that fits."""

from typing import NamedTuple

import numpy as np
import pytest

from graftsim.identify.doubt.sentences import conditional


class Row(NamedTuple):
    """A parameter, 0.2 % known if the file is right and 6 % if not."""

    name: str = "joint.armature[arm]"
    value: float = 0.02
    std: float = 4e-5
    std_with_file: float = 1.2e-3
    measure: str = ""
    std_if_measured: float = float("nan")


class Held(NamedTuple):
    """A number that was not free."""

    name: str = "link.com[arm].z"
    std: float = np.inf
    size: float = 3e-3
    unit: str = "m"


def said(held: Held, row: Row = Row()) -> str:  # noqa: B008
    return conditional([row], held.name.split("[")[0], [held])


def test_both_grades_and_the_main_cause_are_said() -> None:
    text = said(Held())
    assert text.startswith(
        "joint.armature[arm]: known to 0.2 % if the file is right, to 6 % if it may be wrong, most "
        "of all in link.com[arm].z, not free, which may be 0.003 m off."
    )


@pytest.mark.parametrize(
    ("held", "advice"),
    [
        (Held(std=2e-4), "Free it: these data know it to ±0.0002 m."),
        (Held(std=2.5e-3), "These data hardly tell it, to ±0.0025 m: free it with what is known as"
                           " a prior, or measure it."),
        (Held(), "These data do not tell it: measure it, or record what does."),
        (Held("effect.drag[arm]", 0.1, 0.3, "N m s^2/rad^2"),
         "These data tell its size to ±0.1 N m s^2/rad^2. graftsim discover finds the form"),
        (Held("effect.load_friction[arm]", 0.01, 0.05, "1"),
         "These data tell its size to ±0.01. Free joint.load_friction."),
        (Held("effect.torque[arm]", np.inf, 0.03, "N m"),
         "These data do not tell it, and no number of the model stands for it: the wider interval"),
    ],
)  # fmt: skip
def test_advice_fits_how_well_the_data_know_it(held: Held, advice: str) -> None:
    assert advice in said(held)


def test_of_several_numbers_only_some_are_known() -> None:
    held = [Held("actuator.kp[a]", 0.4, 2.0, "N m/rad"), Held("actuator.kp[b]", 9.0, 2.0, "N m/rad")]
    text = conditional([Row(), Row("joint.damping[b]", 0.1, 1e-3, 2e-2)], "actuator.kp", held)
    assert "known to 0.2 to 1 % if the file is right, to 6 to 20 %" in text
    assert "the 2 numbers actuator.kp, not free, which may be 2 N m/rad off" in text
    assert "These data tell one of them, to ±0.4 N m/rad: free that much" in text


def test_the_measurement_that_is_worth_most_is_named() -> None:
    helped = Row(measure="link.com[arm].z", std_if_measured=2e-4)
    assert said(Held(), helped).endswith(" link.com[arm].z alone, measured, would leave 1 %.")
    in_vain = Row(measure="link.com[arm].z", std_if_measured=1.19e-3)
    assert "measured, would" not in said(Held(), in_vain)
