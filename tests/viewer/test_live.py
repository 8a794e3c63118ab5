"""A live viewer: time beside the clock, orders, a spring of the mouse, clean ends. No browser."""

from __future__ import annotations

import socket
import threading
import time

import numpy as np
import pytest

import zoo
from graftsim import Builder, Simulator
from graftsim.contact import SpringDamper
from graftsim.errors import GraftsimError, ModelError, ProblemError
from graftsim.viewer.arrows import LENGTH
from graftsim.viewer.live.pace import LONGEST, Pace
from graftsim.viewer.live.ports import PortError, check_port
from graftsim.viewer.live.pull import carriers
from graftsim.viewer.live.viewer import Viewer
from graftsim.viewer.live.world import World, watchable

pytest.importorskip("viser")


@pytest.fixture(scope="module")
def ball():
    """A ball over a floor, with an arm on it and a hand fixed to that; springs of contact."""
    builder = Builder("ball").link("ball", joint="free", mass=2.0, inertia=0.02)
    builder.geom("sphere", 0.1, "ball").geom("plane", 1)
    builder.link("arm", "ball", joint="revolute", axis=(0, 1, 0), mass=0.2, com=(0.2, 0, 0),
                 origin=(0.1, 0, 0), inertia=0.002, damping=0.02)  # fmt: skip
    builder.link("hand", "arm", joint="fixed", origin=(0.4, 0, 0))
    builder.actuator("motor", "arm")
    return Simulator(builder.build(), 0.001, contact=SpringDamper())


def above(simulator, height):
    """A state at rest, the ball's middle at a height (m)."""
    return simulator.initial_state({"ball.z": height})


# -- time ----------------------------------------------------------------------------------------


def test_time_follows_the_wall_at_its_speed_and_drops_what_is_late():
    """Steps of 1 ms for 10 ms at half speed are five; after a hang only a tenth of a second."""
    pace = Pace(0.001, 0.5)
    assert pace.due(100.0) == 0
    assert [pace.due(100.0 + 0.01 * k) for k in range(1, 4)] == [5, 5, 5]
    assert pace.due(107.0) == pytest.approx(0.5 * LONGEST / 0.001, abs=1)
    pace.rest()
    assert pace.due(200.0) == 0 and pace.measured is None


def test_measured_speed_is_what_was_simulated():
    """Steps that are handed out make the speed that is shown."""
    pace = Pace(0.002, 0.25)
    for k in range(60):
        pace.due(0.02 * k)
    assert pace.measured == pytest.approx(0.25, rel=0.05)


# -- the world -------------------------------------------------------------------------------------


def test_steps_are_those_of_a_rollout(ball):
    """However they are divided, one at a time included, and nothing is held."""
    world = World(ball, above(ball, 0.5))
    for count in (1, 3, 1, 15):
        world.advance(count)
    expected = ball.rollout(above(ball, 0.5), steps=20)
    assert np.allclose(world.state.q, expected.q[-1], atol=1e-12)
    assert np.allclose(world.state.qd, expected.qd[-1], atol=1e-12)
    assert world.time == pytest.approx(0.02)


def test_spring_carries_the_weight():
    """A held ball comes to rest where the spring bears its weight, M g / k below the target."""
    builder = Builder("ball").link("ball", joint="free", mass=2.0, inertia=0.02)
    simulator = Simulator(builder.build(), 0.002)
    world = World(simulator)
    world.hold(0, np.zeros(3), np.array([0.3, 0.0, 1.0]))
    assert world.pull.stiffness == pytest.approx(2.0 * (3 * np.pi) ** 2)
    world.advance(3000)
    sag = 2.0 * 9.81 / float(world.pull.stiffness)
    assert world.state.q[:3] == pytest.approx([0.3, 0.0, 1.0 - sag], abs=1e-4)
    world.release()
    world.advance(100)
    assert world.state.qd[2] == pytest.approx(-9.81 * 0.2, rel=1e-3)


def test_spring_is_stable_on_a_light_body_of_a_heavy_robot():
    """Held at a fixed part of a light arm, pulled hard for seconds, nothing explodes."""
    builder = Builder("base", gravity=(0, 0, 0)).link("base", joint="free", mass=50.0, inertia=1.0)
    builder.link("finger", "base", joint="revolute", axis=(0, 1, 0), mass=0.01, com=(0.05, 0, 0),
                 inertia=1e-5)  # fmt: skip
    builder.link("nail", "finger", joint="fixed", origin=(0.1, 0, 0))
    simulator = Simulator(builder.build(), 0.002)
    assert carriers(simulator.model) == (0, 1, 1)
    world = World(simulator)
    world.hold(2, np.zeros(3), np.array([0.0, 0.0, 0.3]), strength=5.0)
    assert world.pull.point == pytest.approx([0.1, 0, 0])
    world.advance(2000)
    assert np.abs(world.state.qd).max() < 5.0


def test_what_the_world_carries_is_not_pulled():
    """A link fixed to the world has no carrier, and stays."""
    model = Builder("post").link("post", joint="fixed", mass=1.0, inertia=0.1).link(
        "arm", "post", joint="revolute", mass=1.0, com=(1, 0, 0), inertia=0.1
    ).build()  # fmt: skip
    world = World(Simulator(model, 0.01))
    world.hold(0, np.zeros(3), np.ones(3))
    assert carriers(model)[0] is None and not np.any(world.pull.chosen)


def test_policy_is_asked_every_so_many_steps_and_checked(ball):
    """It sees time and state; numbers of the wrong shape are named with its controls."""
    asked = []

    def policy(t, state):
        asked.append(t)
        return [0.1]

    world = World(ball, above(ball, 1.0), policy=policy, every=4)
    world.advance(3)
    world.advance(6)
    assert asked == pytest.approx([0.0, 0.004, 0.008]) and world.u == pytest.approx([0.1])
    with pytest.raises(ModelError, match=r"shape \[1\] are wanted \(motor\).*of shape \[2\]"):
        World(ball, policy=lambda t, s: [1.0, 2.0]).advance(1)
    with pytest.raises(ModelError, match="every = 0"):
        World(ball, every=0)


def test_wrong_states_are_refused_and_lost_ones_named(ball):
    """By coordinate; a motion that becomes infinite keeps its last finite state."""
    bad = above(ball, np.nan)
    with pytest.raises(ModelError, match=r"not finite: q of ball\.z"):
        World(ball, bad)
    with pytest.raises(ModelError, match=r"q must have shape"):
        World(ball, Simulator(zoo.pendulum()).initial_state())
    world = World(ball, above(ball, 1.0), policy=lambda t, s: [1e200])
    with pytest.raises(GraftsimError, match="left the finite numbers"):
        for _ in range(50):
            world.advance(2)
    assert np.isfinite(world.state.q).all()


def test_joint_is_put_at_rest():
    """Where it was asked for, without its speed; the others as they were."""
    simulator = Simulator(zoo.double_pendulum(), 0.01)
    names = simulator.model.tree.coordinates
    world = World(simulator, simulator.initial_state([0.1, 0.2], [1.0, 2.0]))
    world.set_joint(names[1], 0.7)
    assert world.state.q == pytest.approx([0.1, 0.7]) and world.state.qd == pytest.approx([1, 0])


def test_what_can_be_plotted_has_one_number_a_row(ball):
    """Joint velocities with their names, forces of contact with theirs; no matrices."""
    found = watchable(ball)
    assert found["joint.qd"] == ball.model.tree.dofs
    assert len(found["contact.force_n"]) == 1 and "link.rotation" not in found


# -- the server ------------------------------------------------------------------------------------


def test_port_in_use_is_said_before_anything_runs():
    """With what to do instead; ports and hosts that there cannot be, too."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortError, match=rf"127\.0\.0\.1:{port}: .*--port 8081"):
            check_port("127.0.0.1", port)
        with pytest.raises(PortError, match="Choose another port"):
            Viewer(Simulator(zoo.pendulum()), port=port)
    check_port("127.0.0.1", port)
    with pytest.raises(PortError, match="1 to 65535"):
        check_port("127.0.0.1", 70000)
    with pytest.raises(PortError, match="no address of this machine"):
        check_port("no.such.host.invalid", 8080)


@pytest.fixture(scope="module")
def viewer(ball):
    """A viewer of the ball, paused, on a port that was free."""
    with Viewer(ball, above(ball, 0.3), port=0, plot="joint.qd", playing=False) as made:
        yield made


def test_scene_has_links_ground_and_forces(viewer):
    """Nodes by name; the links are where the state says."""
    names = [n for n in ("/simulated/0_ball", "/ground/0", "/forces/contact", "/forces/pull")
             if viewer._server.scene.get_handle_by_name(n) is None]  # fmt: skip
    assert names == []
    assert dict(viewer.figure.handles)[0].position == pytest.approx([0, 0, 0.3])
    assert {link for link, _ in viewer.figure.meshes} == {0, 1}


def test_orders_from_outside(viewer):
    """Step, play, pause, reset; steps add up to time, and time stands still in a pause."""
    viewer.step(5)
    assert viewer.time == pytest.approx(0.005)
    viewer.play()
    until(lambda: viewer.time > 0.05)
    viewer.pause()
    stands = viewer.time
    time.sleep(0.1)
    assert viewer.time == stands
    viewer.reset()
    assert viewer.time == 0 and viewer.state.q[2] == pytest.approx(0.3)


def test_mouse_pulls_a_body_and_arrows_show_it(viewer):
    """Held where it was touched, towards the pointer; let go, nothing is left."""
    viewer.reset()
    viewer.loop.ask(lambda: viewer.hand.drag(0, "start", [0.1, 0, 0.3], [0.1, 0, 1.0]))
    viewer.step(1)
    world = viewer.loop.world
    assert world.pull.point == pytest.approx([0.1, 0, 0])
    assert viewer.state.qd[2] > -9.81 * 0.001
    until(lambda: len(viewer.arrows.pull.points) == 1)
    assert viewer.arrows.pull.points[0, 1] == pytest.approx([0.1, 0, 1.0])
    viewer.loop.ask(lambda: viewer.hand.drag(0, "end", [0, 0, 0], [0, 0, 0]))
    until(lambda: len(viewer.arrows.pull.points) == 0)
    assert not np.any(world.pull.chosen)


def test_ball_in_the_floor_has_an_arrow_upwards(viewer, ball):
    """From the place of contact, as long as its force against the weight."""
    viewer.reset(above(ball, 0.099))
    viewer.step(1)
    until(lambda: len(viewer.arrows.contact.points) == 1)
    start, end = viewer.arrows.contact.points[0]
    force = float(viewer.loop.world.recorded["contact.force_n"][0])
    length = force / (2.2 * 9.81) * LENGTH * viewer.radius
    assert end - start == pytest.approx([0, 0, length], abs=1e-5) and start[2] < 0.01


def test_plot_gathers_a_point_a_frame(viewer, ball):
    """Of the chosen variable; another one begins anew."""
    viewer.reset(above(ball, 0.3))
    for _ in range(3):
        viewer.step(20)
        time.sleep(0.08)
    until(lambda: len(viewer.panel.plot._time) >= 2)
    assert viewer.panel.plot._values[-1].shape == (7,)
    viewer.panel.watch("joint.q")
    until(lambda: viewer.panel.plot.name == "joint.q")
    assert viewer.loop.ask(lambda: viewer.loop.world.watched) == ("joint.q",)


def test_replay_of_what_was_seen(viewer, tmp_path):
    """A page of its own."""
    viewer.step(5)
    html = viewer.replay(tmp_path / "seen.html")
    assert (tmp_path / "seen.html").read_text() == html and "</html>" in html


def test_trouble_pauses_and_is_said(ball):
    """A policy that fails stops time, not the viewer; a step from outside raises it."""

    def policy(t, state):
        raise ValueError("no plan")

    with Viewer(ball, port=0, policy=policy) as made:
        until(lambda: made.loop.trouble is not None)
        assert not made.loop.playing
        until(lambda: "no plan" in made.panel.status.content)
        with pytest.raises(ValueError, match="no plan"):
            made.step()


def test_wrong_use_is_refused_before_a_server_starts(ball):
    """A speed that is none, a variable that there is not."""
    with pytest.raises(ProblemError, match="speed"):
        Viewer(ball, port=0, speed=0.0)
    with pytest.raises(ProblemError, match=r"'joint\.qq'.*joint\.qd"):
        Viewer(ball, port=0, plot="joint.qq")


def test_closing_frees_the_port_and_ends_the_thread():
    """Twice is as good as once; orders to a closed viewer are refused."""
    made = Viewer(Simulator(zoo.pendulum()), port=0, playing=False)
    port = made.port
    made.close()
    made.close()
    check_port("127.0.0.1", port)
    assert all(t.name != "graftsim viewer" for t in threading.enumerate() if t is made.loop._thread)
    with pytest.raises(GraftsimError, match="closed"):
        made.step()


def until(condition, seconds=30.0):
    """Wait for the viewer's thread."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
