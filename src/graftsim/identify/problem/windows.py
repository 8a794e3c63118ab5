"""Cutting recordings into windows: controls on the simulator's grid, samples on their own clocks.

A window is a stretch of `horizon` seconds that is simulated from an initial state of its own
(multiple shooting). All windows of a set have the same number of steps, so they run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from graftsim.engine.closing import nearest
from graftsim.engine.prescribed_motion import check_commands
from graftsim.engine.simulator import Simulator
from graftsim.errors import ModelError, ProblemError, suggest
from graftsim.model.catalogue import acts_on
from graftsim.model.model import Actuators, Model
from graftsim.model.state import State
from graftsim.recordings.channels import parse_name
from graftsim.recordings.recording import GAP_FACTOR, Channel, Recording
from graftsim.selectors import row_name
from graftsim.sensors.sensors import Sensors
from graftsim.spatial import rotation

# Initial velocities come from a parabola through the samples this close to the window's start.
START_SAMPLES = 4
START_SECONDS = 0.01

InitialState = Callable[[Recording, float], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Windows:
    """Windows side by side. Of sensor s: time[s] [w, n], value[s] [w, n, d], mask[s] [w, n].

    controls [w, steps, nu]; before [w, back, nu]: commands of the steps before, the newest first.
    """

    recording: tuple[str, ...]
    start: np.ndarray
    controls: np.ndarray
    before: np.ndarray
    q0: np.ndarray
    qd0: np.ndarray
    time: tuple[np.ndarray, ...]
    value: tuple[np.ndarray, ...]
    mask: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return len(self.recording)

    def only(self, rows: np.ndarray) -> Windows:
        """Some of them, by index [k]."""
        return Windows(
            tuple(self.recording[i] for i in rows),
            self.start[rows],
            self.controls[rows],
            self.before[rows],
            self.q0[rows],
            self.qd0[rows],
            tuple(t[rows] for t in self.time),
            tuple(v[rows] for v in self.value),
            tuple(m[rows] for m in self.mask),
        )

    @property
    def steps(self) -> int:
        """Simulation steps in a window."""
        return self.controls.shape[1]


def control_channels(model: Model, recordings: Sequence[Recording]) -> tuple[str, ...]:
    """Channels that drive the simulation: `control[...]`, else measured torques `joint.tau[...]`.

    Raises ProblemError: a channel that no actuator takes.
    """
    names = dict.fromkeys(n for r in recordings for n in r.names)
    controls = [n for n in names if n.startswith("control[")]
    if controls:
        for name in controls:
            label = parse_name(name).label
            if label not in model.actuator.controls:
                known = suggest(label, model.actuator.controls)
                raise ProblemError(f"Channel {name}: no actuator of that name. {known}")
        return tuple(controls)
    torques = [n for n in names if n.startswith("joint.tau[")]
    for name in torques:
        _torque_actuator(model, parse_name(name).label)
    return tuple(torques)


def _torque_actuator(model: Model, label: str) -> int:
    a = model.actuator
    for i, (joint, drive) in enumerate(zip(acts_on(model), a.drives, strict=True)):
        if joint == label and drive.commands_force:
            return i
    if label not in model.tree.dofs:
        raise ProblemError(
            f"Channel joint.tau[{label}] would drive the simulation, but there is no joint "
            f"'{label}'. {suggest(label, model.tree.dofs)}"
        )
    acting = [
        f"{a.kinds[i]} actuator '{a.names[i]}'" for i, d in enumerate(acts_on(model)) if d == label
    ]
    there = f"what acts there is the {' and the '.join(acting)}" if acting else "nothing acts there"
    raise ProblemError(
        f"Channel joint.tau[{label}] would drive the simulation, but no torque actuator acts on "
        f"'{label}': {there}. --actuators torque puts a torque on every joint in place of the "
        "file's actuators; or record the commands, control[...], beside it."
    )


@dataclass(frozen=True)
class Cutting:
    """How recordings are cut into windows of `horizon` s, simulated in steps of `dt` s.

    Windows begin one after the other, or every `stride` s. Stretches with a gap in a sensor or
    control are left out. `initial` gives (q, qd) at a time; by default they are measured: see
    `measured_state`. With more than `limit` windows, an even selection is kept. `once` leaves the
    sample on which the next window starts to that window: where initial states are fitted, counting
    it in both makes intervals too narrow. `back`: of so many steps before its start a window keeps
    the commands.
    """

    dt: float
    horizon: float
    stride: float | None = None
    initial: InitialState | None = None
    limit: int | None = None
    once: bool = False
    back: int = 0

    @property
    def steps(self) -> int:
        """Steps in a window."""
        return max(round(self.horizon / self.dt), 1)

    @property
    def length(self) -> float:
        """Of a window, whole steps (s)."""
        return self.steps * self.dt


def cut(model: Model, sensors: Sensors, recordings: Sequence[Recording], how: Cutting) -> Windows:
    """Windows from every recording. Raises ProblemError when no window fits."""
    driving = control_channels(model, recordings)
    found = _places(sensors, recordings, driving, how)
    length = how.length
    state = how.initial or (lambda r, t: measured_state(model, r, t))
    states = [state(r, t) for r, t in found]
    followed = [
        how.once and a is b and abs(t + length - u) <= 1e-6 * length
        for (a, t), (b, u) in zip(found, [*found[1:], found[0]], strict=True)
    ]
    samples = [_samples(s.channel, found, length, followed) for s in sensors.specs]
    controls = np.stack([_controls(model, r, driving, t, how) for r, t in found])
    return Windows(
        recording=tuple(r.name for r, _ in found),
        start=np.array([t for _, t in found]),
        controls=controls[:, how.back :],
        before=controls[:, : how.back][:, ::-1],
        q0=np.stack([np.asarray(q, float) for q, _ in states]),
        qd0=np.stack([np.asarray(v, float) for _, v in states]),
        time=tuple(t for t, _, _ in samples),
        value=tuple(v for _, v, _ in samples),
        mask=tuple(m for _, _, m in samples),
    )


def _places(
    sensors: Sensors, recordings: Sequence[Recording], driving: tuple[str, ...], how: Cutting
) -> list[tuple[Recording, float]]:
    """Where windows begin: recordings and times."""
    length = how.length
    found: list[tuple[Recording, float]] = []
    for recording in recordings:
        channels = [s.channel for s in sensors.specs if s.channel in recording]
        channels += [c for c in driving if c in recording]
        clock = recording[channels[0]].time if channels else np.zeros(0)
        found += [
            (recording, t)
            for t in _starts(clock, length, how.stride or length)
            if all(_covers(recording[c], t, t + length) for c in channels)
        ]
    if not found:
        longest = max(_longest_stretch(r, (*driving, *(s.channel for s in sensors.specs)))
                      for r in recordings)  # fmt: skip
        raise ProblemError(
            f"No window of {length:g} s without a gap fits into the recordings (longest stretch in "
            f"which all channels have samples without a pause of more than {GAP_FACTOR:g} sample "
            f"intervals: {longest:.3g} s). Choose a shorter horizon."
        )
    if how.limit is not None and len(found) > how.limit:
        even = np.linspace(0, len(found) - 1, how.limit).round().astype(int)
        found = [found[i] for i in np.unique(even)]
    return found


def _longest_stretch(recording: Recording, names: Sequence[str]) -> float:
    """Seconds in which these channels, as far as there are such, have samples without a gap."""
    begin, end = recording.overlap
    gaps = sorted(gap for c in names if c in recording for gap in recording[c].gaps())
    longest = 0.0
    for first, after in [*gaps, (end, end)]:
        longest = max(longest, min(first, end) - begin)
        begin = max(begin, after)
    return longest


def _starts(clock: np.ndarray, length: float, stride: float) -> list[float]:
    """Sample times at least `stride` apart from which a whole window fits."""
    slack = 1e-6 * length
    starts, next_at = [], -np.inf
    for t in clock:
        if t >= next_at - slack and t + length <= clock[-1] + slack:
            starts.append(float(t))
            next_at = t + stride
    return starts


def _covers(channel: Channel, start: float, end: float) -> bool:
    slack = max(1.5 * channel.interval, 1e-9) if len(channel.time) > 1 else 0.0
    if channel.time[0] > start + slack or channel.time[-1] < end - slack:
        return False
    return not any(a < end - 1e-9 and b > start + 1e-9 for a, b in channel.gaps())


def _samples(
    name: str, found: list[tuple[Recording, float]], length: float, followed: list[bool]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times from the window's start [w, n], values [w, n, d] and mask of real samples [w, n].

    The end of a window is in it, unless it is `followed` by one that starts there.
    """
    picked, width = [], 1
    for (recording, t), open_end in zip(found, followed, strict=True):
        if name not in recording:
            picked.append((np.zeros(0), np.zeros((0, 1))))
            continue
        channel = recording[name]
        slack = 1e-3 * channel.interval if len(channel.time) > 1 else 1e-9
        end = t + length - slack if open_end else t + length + slack
        inside = (channel.time >= t - slack) & (channel.time <= end)
        picked.append((channel.time[inside] - t, channel.values[inside]))
        width = channel.width
    n = max(len(time) for time, _ in picked)
    shape = (len(found), n)
    time, value, mask = np.zeros(shape), np.zeros((*shape, width)), np.zeros(shape, bool)
    for i, (t, v) in enumerate(picked):
        time[i, : len(t)], value[i, : len(t)], mask[i, : len(t)] = np.clip(t, 0, length), v, True
        # Padding repeats a real sample, so that readings there stay harmless before the mask.
        if 0 < len(t) < n:
            value[i, len(t) :] = v[-1]
    if name.startswith("link.pose"):
        value[~mask] = np.array([0, 0, 0, 1, 0, 0, 0.0])
    return time, value, mask


def _controls(
    model: Model, recording: Recording, driving: tuple[str, ...], t: float, how: Cutting
) -> np.ndarray:
    """Commands [back + steps, nu]: each step's mean of what was held, or the torque midway.

    Before the log begins its first command has been held. A further input without a channel in this
    recording is what the model says, or zero.
    """
    a, dt, steps = model.actuator, how.dt, how.back + how.steps
    out = np.tile(_without_channel(a), (steps, 1))
    t = t - dt * how.back
    begin = t + dt * np.arange(steps)
    for name in driving:
        if name not in recording:
            continue
        channel = recording[name]
        if name.startswith("control["):
            column = a.controls.index(parse_name(name).label)
            out[:, column] = _held(channel, t + dt * np.arange(steps + 1))
        else:
            column = _torque_actuator(model, parse_name(name).label)
            torque = np.interp(begin + dt / 2, channel.time, channel.values[:, 0])
            out[:, column] = torque / float(a.gear[column] * a.gain[column])
    return out


def commands_before(
    model: Model, recordings: Sequence[Recording], windows: Windows, dt: float
) -> np.ndarray:
    """Commands [w, nu] of the step before each window."""
    driving, by_name = control_channels(model, recordings), {r.name: r for r in recordings}
    how = Cutting(dt, dt)
    return np.stack(
        [
            _controls(model, by_name[name], driving, t - dt, how)[0]
            for name, t in zip(windows.recording, windows.start, strict=True)
        ]
    )


def _without_channel(a: Actuators) -> np.ndarray:
    """Commands [nu] of which a recording says nothing."""
    pairs = [(i, x) for i, own in enumerate(a.inputs) for x in own]
    further = [float(getattr(a, x)[i]) if hasattr(a, x) else 0.0 for i, x in pairs]
    return np.concatenate([np.zeros(len(a.names)), further])


def _held(channel: Channel, edges: np.ndarray) -> np.ndarray:
    """Mean of a command between edges [n + 1]; each value holds until the next is sent.

    The mean, because a log's clock and the steps need not meet: taking the value at the start of a
    step would shift the command by up to a step, and a delay or damping with it.
    """
    first = max(int(np.searchsorted(channel.time, edges[0], side="right")) - 1, 0)
    time, values = channel.time[first:] - edges[0], channel.values[first:, 0]
    at = edges - edges[0]
    area = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(time))])
    last = np.clip(np.searchsorted(time, at, side="right") - 1, 0, None)
    return np.diff(area[last] + values[last] * (at - time[last])) / np.diff(at)


def measured_state(model: Model, recording: Recording, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Joint positions and velocities at t from joint channels and the pose of a free root.

    Velocities without a channel come from a parabola through the nearby positions. What is not
    measured starts at zero, or where closed loops put it.
    """
    tree = model.tree
    q, qd = tree.neutral.copy(), np.zeros(tree.nv)
    for i, kind in enumerate(tree.joint_types):
        for row, v_row in enumerate(tree.v_index[i]):
            label = tree.dofs[v_row]
            position, speed = row_name("joint.q", label), row_name("joint.qd", label)
            if kind.one_by_one and position in recording:
                value, rate = _local_fit(recording[position], t)
                q[tree.q_index[i][row]], qd[v_row] = value[0], rate[0]
            if speed in recording:
                qd[v_row] = _local_fit(recording[speed], t)[0][0]
        name = row_name("link.pose", tree.links[i])
        if kind.is_pose and name in recording:
            q[tree.q_index[i]], qd[tree.v_index[i]] = _free_state(recording[name], t)
    if model.closed:
        missing = set(unmeasured(model, recording))
        keep = [x for x in tree.dofs if x not in missing]
        state = nearest(model, q, qd, keep)
        return np.asarray(state.q, float), np.asarray(state.qd, float)
    return q, qd


def unmeasured(model: Model, recording: Recording) -> list[str]:
    """Degrees of freedom that no channel of the recording measures directly."""
    tree = model.tree
    missing = []
    for i, kind in enumerate(tree.joint_types):
        posed = kind.is_pose and row_name("link.pose", tree.links[i]) in recording
        missing += [
            tree.dofs[v]
            for v in tree.v_index[i]
            if not posed and row_name("joint.q", tree.dofs[v]) not in recording
        ]
    return missing


def _near(channel: Channel, t: float) -> np.ndarray:
    interval = channel.interval if len(channel.time) > 1 else 1.0
    half = max(START_SAMPLES * interval, START_SECONDS) * 1.001
    near = np.flatnonzero(np.abs(channel.time - t) <= half)
    return near if len(near) else np.array([int(np.argmin(np.abs(channel.time - t)))])


def _local_fit(channel: Channel, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Value and rate [d] at t of a parabola through the nearby samples."""
    near = _near(channel, t)
    x = channel.time[near] - t
    degree = min(2, len(near) - 1)
    scale = max(float(np.abs(x).max()), 1e-12)
    V = np.vander(x / scale, degree + 1, increasing=True)
    fit = np.linalg.lstsq(V, channel.values[near], rcond=None)[0]
    rate = fit[1] / scale if degree > 0 else np.zeros(channel.width)
    return fit[0], rate


def _free_state(channel: Channel, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Position, quaternion; world linear and body angular velocity of a free body at t."""
    near = _near(channel, t)
    position, velocity = _local_fit(
        channel.replace(values=channel.values[:, :3], column_names=()), t
    )
    middle = near[int(np.argmin(np.abs(channel.time[near] - t)))]
    q_mid = jnp.asarray(channel.values[middle, 3:])
    relative = rotation.multiply(rotation.conjugate(q_mid), jnp.asarray(channel.values[near, 3:]))
    turned = np.asarray(rotation.logarithm(relative), float)
    tangent = Channel("signal[turn]", channel.time[near], turned, "rad")
    offset, spin = _local_fit(tangent, t)
    there = rotation.exponential(jnp.asarray(offset))
    quaternion = np.asarray(rotation.multiply(q_mid, there), float)
    return np.concatenate([position, quaternion]), np.concatenate([velocity, spin])


def check_paths(simulator: Simulator, windows: Windows) -> None:
    """Whether the recorded paths of prescribed joints can be meant, before anything is simulated.

    Raises ProblemError, with the recording and window: a path that jumps, also from where the
    window starts, that leaves its joint's limits, or is no number.
    """
    if not simulator.model.guided:
        return
    for k in range(len(windows)):
        state = State(q=windows.q0[k], qd=windows.qd0[k], act=jnp.zeros(0))
        try:
            check_commands(simulator, state, windows.controls[k])
        except ModelError as error:
            raise ProblemError(
                f"Recording '{windows.recording[k]}', the window from {windows.start[k]:.6g} s on: "
                f"{error}"
            ) from error
