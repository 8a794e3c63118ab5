"""Clocks of two recordings of one run: offset, drift and their deviations; merging."""

import numpy as np
import pytest

import graftsim as gs
from graftsim.errors import GraftsimWarning, LogError
from graftsim.recordings.align import align_clocks
from graftsim.recordings.merge import merge_parts, merge_recordings
from graftsim.recordings.recording import Channel, Recording


def motion(t):
    """Waves that do not come again within a minute."""
    return np.sin(2 * t) + 0.5 * np.sin(5.3 * t + 1) + 0.3 * np.sin(0.07 * t**2)


def recording(name="log", epoch=0.0, **channels):
    """Channels `q_x` for joint.q[x], `u_x` for control[x]: (time, values)."""
    kinds = {"q": "joint.q", "qd": "joint.qd", "u": "control", "tau": "joint.tau"}
    made = {}
    for key, (time, values) in channels.items():
        kind, label = key.split("_")
        full = f"{kinds[kind]}[{label}]"
        made[full] = Channel(full, time, values, "rad")
    return Recording(made, name, epoch=epoch)


def two(seed, offset, drift, noise=0.002):
    """One motion recorded at 200 Hz and at 100 Hz, the second clock off and drifting."""
    rng = np.random.default_rng(seed)
    a, b = np.arange(0, 30, 0.005), np.arange(3, 25, 0.01)
    seen = motion(b + drift * (b - 14)) + noise * rng.normal(size=b.size)
    return (
        recording("a", q_x=(a, motion(a) + noise * rng.normal(size=a.size))),
        recording("b", q_x=(b - offset, seen)),
    )


@pytest.mark.parametrize("offset", [-1000.0, -0.2, 0.0, 0.2, 5.5])
def test_the_offset_is_found_from_anywhere(offset):
    """Within a hundredth of a sample, whatever it is, and moved back by `apply`."""
    a, b = two(0, offset, 0.0)
    found = align_clocks(a, b)
    assert found.offset == pytest.approx(offset, abs=1e-4)
    assert found.drift == 0 and not found.lagged
    moved = found.apply(b)["joint.q[x]"]
    assert np.abs(moved.values[:, 0] - motion(moved.time)).max() < 0.015
    assert "clock aligned: offset" in found.apply(b).notes[-1]


def test_deviations_are_honest():
    """Of 60 pairs the errors of offset and drift in units of their deviations spread by about 1."""
    scores = []
    for seed in range(60):
        found = align_clocks(*two(seed, 0.3, 4e-5))
        true = 0.3 + 4e-5 * (found.middle + 0.3 - 14)
        scores.append(((found.offset - true) / found.offset_std,
                       (found.drift - 4e-5) / found.drift_std))  # fmt: skip
    spread = np.std(scores, axis=0)
    assert ((spread > 0.7) & (spread < 1.4)).all(), spread
    assert np.abs(np.mean(scores, axis=0)).max() < 0.5


def servo(time, u, delay, rate=25.0, h=2e-4):
    """Positions of a servo that follows commands with a pure delay and a lag of two poles."""
    fine = h * np.arange(round((time[-1] - time[0]) / h) + 1)
    q = qd = u(np.array([time[0]]))[0]
    qd, path = 0.0, []
    for wanted in u(time[0] + fine - delay):
        path.append(q)
        acceleration = rate**2 * (wanted - q) - 2 * rate * qd
        q += h * qd + h * h / 2 * acceleration
        qd += h * acceleration
    return np.interp(time, time[0] + fine, path)


@pytest.mark.parametrize("rate", [8.0, 25.0, 60.0, 150.0])
@pytest.mark.parametrize("delay", [0.0, 0.03])
def test_a_command_and_the_motion_that_follows(rate, delay):
    """No channel is in both: the lag of the servo, up to 250 ms, is told apart from the offset."""
    rng = np.random.default_rng(1)
    time = np.arange(0, 20, 0.01)
    held = lambda t: motion(np.floor(t / 0.02 + 1e-6) * 0.02)  # noqa: E731
    seen = servo(time, held, delay, rate) + 1e-3 * rng.normal(size=time.size)
    a = recording("motion", q_x=(time, seen), q_y=(time, motion(1.7 * time)))
    b = recording("commands", u_mx=(time - 0.2, held(time)), u_my=(time - 0.2, held(2 * time)))
    found = align_clocks(a, b)
    assert (found.pairs[0].reference, found.pairs[0].other) == ("joint.q[x]", "control[mx]")
    assert found.lagged and found.offset == pytest.approx(0.2 + delay, abs=0.002)
    assert found.servo == pytest.approx((rate, 1.0), rel=0.05)
    back = align_clocks(b, a, [("control[mx]", "joint.q[x]")])
    assert back.offset == pytest.approx(-found.offset, abs=1e-4)


def test_published_recordings_whose_offset_is_known(data_dir, assets_dir):
    """Commands and motion of Unitree robots, on one clock: within two deviations of 0 to 8 ms."""
    for name in ("go2_run0", "aliengo_run0", "z1_run0"):
        robot = gs.load(assets_dir / "unitree" / f"{name.partition('_')[0]}.xml")
        run = gs.read_recording(data_dir / "unitree_servo" / f"{name}.npz", robot=robot)
        few = robot.tree.dofs[:3]
        motion_of = run.select(*(f"joint.q[{dof}]" for dof in few))
        commands = run.select(*(f"control[{n}]" for n in robot.actuator.names[:3])).shift(-0.2)
        found = gs.align_clocks(motion_of, commands)
        assert abs(found.offset - 0.204) < 2 * found.offset_std < 0.07, name


def test_a_torque_and_the_speed_it_causes():
    """A torque is like the acceleration, not like the speed, whose lag is a quarter of a wave."""
    time = np.arange(0, 20, 0.01)
    torque = motion(time)
    speed = np.cumsum(torque) * 0.01
    a = recording("motion", qd_x=(time, speed))
    found = align_clocks(a, recording("drive", tau_x=(time - 0.5, torque)))
    assert found.pairs[0].order == 1
    assert abs(found.offset - 0.5) < 2 * found.offset_std < 0.02


def test_what_cannot_be_aligned():
    """Channels that do not move, or not alike, or nothing to compare."""
    time = np.arange(0, 10, 0.01)
    rng = np.random.default_rng(0)
    a = recording("a", q_x=(time, motion(time)))
    with pytest.raises(LogError, match="no channel that both have, and no command"):
        align_clocks(a, recording("b", q_y=(time, motion(time))))
    with pytest.raises(LogError, match="no channel that both have"):
        align_clocks(a, recording("b", q_x=(time, 0 * time)))
    with pytest.raises(LogError, match="no channels move alike; the best"):
        align_clocks(a, recording("b", q_x=(time, rng.normal(size=time.size))))
    with pytest.raises(LogError, match=r"there is no channel 'joint\.q"):
        align_clocks(a, a, [("joint.q[z]", "joint.q[x]")])


def test_a_periodic_motion_is_ambiguous():
    """Another period fits as well, and is named."""
    time = np.arange(0, 20, 0.01)
    a = recording("a", q_x=(time, np.sin(2 * np.pi * time)))
    with pytest.warns(GraftsimWarning, match="the motion is periodic"):
        align_clocks(a, a)


def test_gaps_are_left_out():
    """What lies in a gap of one clock is compared with nothing."""
    a, b = two(1, 0.7, 0.0)
    q = a["joint.q[x]"]
    kept = (q.time < 10) | (q.time > 15)
    holed = recording("a", q_x=(q.time[kept], q.values[kept, 0]))
    assert align_clocks(holed, b).offset == pytest.approx(0.7, abs=2e-3)


# --- merging


def test_merging_brings_epochs_together():
    """Clocks that count from 1970 have been cut to a whole second each; the first one's stays."""
    time = np.arange(0, 10, 0.01)
    a = recording("a", 1000.0, q_x=(time, motion(time)))
    b = recording("b", 1002.0, u_m=(time, motion(time)), q_x=(time, motion(time)))
    made = merge_recordings(a, b)
    assert made.names == ("joint.q[x]", "control[m]") and made.epoch == 1000.0
    assert made["control[m]"].time[0] == 2.0
    assert "joint.q[x] taken from a, not from b" in made.notes


def test_parts_of_runs_are_merged_where_it_is_clear():
    """Each of the commands goes to the motion of its time; what could be either is refused."""
    time = np.arange(0, 10, 0.01)

    def parts(k, late):
        return (
            recording(f"motion{k}", q_x=(time + late, motion(time))),
            recording(f"commands{k}", u_m=(time + late, motion(time))),
        )

    first, second = parts(1, 0.0), parts(2, 100.0)
    made = merge_parts([*first, *second])
    assert [r.name for r in made] == ["motion1", "motion2"]
    assert all("control[m]" in r for r in made)
    assert merge_parts([first[0], second[0]]) == [first[0], second[0]]
    with pytest.raises(LogError, match="Which of motion1, motion3 does it belong to"):
        merge_parts([*first, parts(3, 0.0)[0]])
    with pytest.raises(LogError, match=r"but at other times.*--merge clock.*--merge align"):
        merge_parts([first[0], second[1]])
    with pytest.raises(LogError, match=r"commands1 has commands only .* and no motion"):
        merge_parts([first[1]])
    with pytest.raises(LogError, match="have no time in common"):
        merge_recordings(first[0], second[1])


def test_alignment_of_clocks_from_1970():
    """Times are moved to the reference's clock, epoch and all: merging moves them no more."""
    a, b = two(2, 0.3, 0.0)
    a = recording("a", 1000.0, q_x=(a["joint.q[x]"].time, a["joint.q[x]"].values[:, 0]))
    q = b["joint.q[x]"]
    b = recording("b", 2000.0, q_x=(q.time, q.values[:, 0]), u_m=(q.time, q.values[:, 0]))
    moved = align_clocks(a, b).apply(b)
    assert moved.epoch == 1000.0
    made = merge_recordings(a, moved)
    assert made["control[m]"].time[0] == pytest.approx(q.time[0] + 0.3, abs=1e-3)
    assert b.shift(5.0).epoch == 1995.0


def test_sensors_of_one_run_in_two_files_are_pointed_out():
    """They share no channel and overlap; two runs of the same channels do not."""
    time = np.arange(0, 10, 0.01)
    a = recording("encoders", q_x=(time, motion(time)))
    b = recording("camera", q_y=(time, motion(time)))
    with pytest.warns(GraftsimWarning, match="encoders and camera have no channel in common"):
        assert merge_parts([a, b]) == [a, b]
    assert merge_parts([a, recording("again", q_x=(time, motion(time)))])
