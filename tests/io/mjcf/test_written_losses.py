"""What MJCF has no word for is named by the writer, a sentence each; the rest stands."""

import mujoco
import pytest

from graftsim.io.write import write_mjcf
from graftsim.model import Builder
from graftsim.model.loop_type import Connect


class OnPlane(Connect):
    """A kind of loop that MuJoCo does not have."""

    name = "on_plane"


def pair():
    """Two hinged links, a ball and two frames to pull at."""
    b = Builder("lossy", density=1.2)
    own = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.1, 0.2, 0.25)}
    b.link("a", **own).link("b", "a", **own).link("ball", joint="spherical", **own)
    return b.frame("near", "a", (0, 0, 0.1)).frame("far", "world", (0, 0, 1))


def tendon(b, **numbers):
    b.tendon("cord", {"a": 1.0, "b": 0.5}, **numbers)


def lost_axis(b):
    """A tendon over one axis of a ball, which MuJoCo has no word for."""
    b.tendon("axis", {"ball.rx": 1.0})


LOSSES = {
    "actuator m: the zero 0.3 of its encoder": lambda b: b.actuator(
        "m", "a", "pid", kp=1.0, ki=0.1, zero=0.3
    ),
    "actuator m: its drive voltage_servo": lambda b: b.actuator("m", "a", "voltage_servo", kp=1.0),
    "actuator m: that its force falls with speed": lambda b: b.actuator(
        "m", "a", stall_force=2.0, no_load_speed=9.0
    ),
    "actuator m: its limits of force [-1.  2.] are not symmetric": lambda b: b.actuator(
        "m", "a", "voltage", motor_constant=0.1, resistance=1.0, force_range=(-1.0, 2.0)
    ),
    "actuator m: a position servo on one axis of joint ball": lambda b: b.actuator(
        "m", "ball.rx", "position", kp=1.0
    ),
    "tendon cord: limit stiffness 9 and dissipation 0.5": lambda b: tendon(
        b, limits=(-1.0, 1.0), limit_stiffness=9.0, limit_damping=0.5
    ),
    "tendon cord: the ends of its slack, rounded over 0.01": lambda b: tendon(
        b, stiffness=3.0, slack=(-0.1, 0.1), rounding=0.01
    ),
    "tendon cord: friction smoothed over 0.4": lambda b: tendon(
        b, friction=0.2, friction_velocity=0.4
    ),
    "tendon cord: a path beside its joints": lambda b: b.tendon(
        "cord", {"a": 1.0}, path=("near", "far")
    ),
    "tendon axis: its part over ball.rx": lost_axis,
    "loop pin: a on_plane": lambda b: b.loop("pin", "b", "ball", OnPlane()),
    "link a: a lift of 2 kg beside its centre of mass": lambda b: b.surround("a", lift=2.0),
    "link a: its box in the fluid": lambda b: b.surround(
        "a", (0.1, 0.0, 0.0), box=(1.0, 2.0, 3.0)
    ),
    "joint turned: rest orientation": lambda b: b.link(
        "turned", joint="spherical", mass=1.0, inertia=0.1, stiffness=1.0,
        rest=(0.0, 1.0, 0.0, 0.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("said", LOSSES)
def test_a_loss_is_named(tmp_path, said):
    """Alone, and MuJoCo reads the rest."""
    b = pair()
    LOSSES[said](b)
    lost = write_mjcf(b.build(), tmp_path / "r.xml")
    assert [s for s in lost if said in s], lost
    assert len(lost) == 1
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "r.xml")).nbody >= 4


def test_what_hangs_on_a_lost_tendon_is_lost_too(tmp_path):
    b = pair()
    b.tendon("cord", {"a": 1.0}, path=("near", "far")).actuator("pull", tendon="cord")
    b.couple("held", "cord", tendons=True)
    lost = " ".join(write_mjcf(b.build(), tmp_path / "r.xml"))
    assert "actuator pull: what it pulls is not in the file" in lost
    assert "coupling held: its tendon is not in the file" in lost
