"""Actuator nets as ONNX files, one for all servos of the same numbers, and what they are worth.

`metadata.json` beside them, and the property `metadata` in each file, which Newton reads, say what
goes in and comes out, and the errors over the part of the log that took no part in the training.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np

from graftsim._version import __version__
from graftsim.errors import GraftsimError, ProblemError
from graftsim.export.actuator_net import ActuatorNet, PlainServo, train
from graftsim.export.chain import HISTORY, Chain, Samples, added
from graftsim.export.fitted import Fitted
from graftsim.export.format import ExportFormat, Logs
from graftsim.export.servos import Servo, servos
from graftsim.graft.onnx_graph import Graph, finished
from graftsim.identify.problem.parts import with_inputs
from graftsim.viewer.files import check_folder, write_atomically

# Of each log the end that is held out of the training.
HELDOUT = 0.2
# A plain servo that is off by less than this share of the torque needs no net.
ENOUGH = 0.01
INPUT, OUTPUT = "x", "y"
# Drives that have no net in errors of position, and why.
NO_NET = {
    "torque": "a torque is no function of errors of position",
    "velocity": "a speed servo is no function of errors of position",
    "pid": "an integral is no function of three samples",
}


@dataclass(frozen=True)
class Worth:
    """Root mean squares over what was held out (N m, N): of the torque, of the errors of net and
    plain servo; largest error of the net; largest difference of the file, run by onnxruntime.
    """

    torque: float
    net: float
    largest: float
    plain: float
    file: float

    @property
    def needed(self) -> bool:
        """Is the net better than a plain servo, and that one off by more than a little?"""
        return self.plain > max(self.net, ENOUGH * self.torque)


@final
class OnnxActuator(ExportFormat):
    """Nets of the fitted chain, by group of servos."""

    name: ClassVar[str] = "onnx-actuator"
    help: ClassVar[str] = (
        "a net of the fitted actuators as ONNX, trained and judged over the log of the fit, in the "
        "convention of Isaac Lab, mjlab and Newton"
    )
    target: ClassVar[str] = "actuator_net"
    folder: ClassVar[bool] = True
    reads_logs: ClassVar[bool] = True

    def write(self, fit: Fitted, out: Path, dt: float, logs: Logs) -> list[str]:
        """See `ExportFormat.write`. GraftsimError: onnx or onnxruntime is not installed."""
        _require("onnx", "onnxruntime")
        found, said = servos(fit)
        own = [s for s in found if _kind(fit, s) not in NO_NET]
        left = [f"{s.name}: left out, {NO_NET[_kind(fit, s)]}." for s in found if s not in own]
        if not own:
            raise ProblemError(f"No actuator here is a position servo. {' '.join((*said, *left))}")
        check_folder(out)
        out.mkdir(parents=True, exist_ok=True)
        chain, facts, said = Chain(fit.model, dt), [], [*said, *left]
        if any(added(with_inputs(fit.model, log.names)) for log in logs.fitted):
            said.append("Feed-forward torques and velocities are in no net: add them beside it.")
        stems: set[str] = set()
        for number, members in enumerate(_alike(fit, own)):
            train_on, judge_on = _parts(chain, members, logs)
            net, plain = train(train_on), PlainServo.fit(train_on, dt)
            metadata = _metadata(fit, members, dt, net)
            stem = _stem(members, number)
            path = out / f"{stem if stem not in stems else f'{stem}_{number}'}.onnx"
            stems.add(stem)
            _write_net(path, net, metadata)
            worth = _worth(path, net, plain, judge_on, dt)
            errors = asdict(worth) | {"plain servo": asdict(plain), "needed": worth.needed}
            facts.append({"network_file": path.name, **metadata, "errors": errors})
            said += _said(members, worth, plain, dt)
        write_atomically(out / "metadata.json", json.dumps({"nets": facts}, indent=2) + "\n")
        return said


def _require(*packages: str) -> None:
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise GraftsimError(
                f"An actuator net needs {package}. Install with: pip install 'graftsim[onnx]'"
            )


def _kind(fit: Fitted, servo: Servo) -> str:
    a = fit.model.actuator
    return a.kinds[a.names.index(servo.name)]


def _alike(fit: Fitted, found: Sequence[Servo]) -> list[list[Servo]]:
    """Servos by their numbers: those whose chains differ in their encoder zero alone."""
    a, groups = fit.model.actuator, {}
    numbers = [x for k, x in vars(a).items() if k not in ("zero", "own") and np.ndim(x) == 1]
    numbers = [np.asarray(x) for x in numbers if len(x) == len(a.names)]
    numbers = [x for x in numbers if x.dtype.kind == "f"]
    for servo in found:
        i = a.names.index(servo.name)
        key = (a.drives[i], a.lagged[i], *(f"{x[i]:.6g}" for x in numbers))
        groups.setdefault(key, []).append(servo)
    return list(groups.values())


def _parts(chain: Chain, own: Sequence[Servo], logs: Logs) -> tuple[Samples, Samples]:
    """What a net is trained on, and what it is judged by: the ends of logs and those held out."""
    train_on, judge_on = [], []
    for seed, log in enumerate(logs.fitted):
        begin, end = log.overlap
        cut = end - HELDOUT * (end - begin)
        early, late = log.trim(begin, cut), log.trim(cut, end)
        train_on += [chain.samples(own, early), chain.samples(own, early, seed)]
        judge_on.append(chain.samples(own, late))
    judge_on += [chain.samples(own, log) for log in logs.heldout]
    return Samples.together(train_on), Samples.together(judge_on)


def _worth(path: Path, net: ActuatorNet, plain: PlainServo, of: Samples, dt: float) -> Worth:
    """Errors of net, plain servo and file."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {INPUT: net.inputs(of).astype(np.float32)})
    given, off = net(of), net(of) - of.torque
    return Worth(
        torque=_rms(of.torque),
        net=_rms(off),
        largest=float(np.abs(off).max()),
        plain=_rms(plain(of, dt) - of.torque),
        file=float(np.abs(net.torque_scale * np.asarray(y)[:, 0] - given).max()),
    )


def _rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(x))))


def _metadata(fit: Fitted, own: Sequence[Servo], dt: float, net: ActuatorNet) -> dict[str, Any]:
    """What a user of the file has to know."""
    return {
        "model_type": "mlp",
        "input_order": "pos_vel",
        "input_idx": list(range(HISTORY)),
        "history_length": HISTORY,
        "pos_scale": net.pos_scale,
        "vel_scale": net.vel_scale,
        "torque_scale": net.torque_scale,
        "effort_scale": net.torque_scale,
        "sample_dt": dt,
        "columns": [f"{x}[t-{k}]" for x in ("position_error", "velocity") for k in range(HISTORY)],
        "joints": [s.joint for s in own],
        "encoder_zero": {s.joint: s.zero.value for s in own},
        "effort_limit": {s.joint: s.effort for s in own if np.isfinite(s.effort)},
        "robot": fit.model.name,
        "note": "Torque of the actuator: friction, damping and armature of the joint are not in "
        "it. Encoder zeros are added to the targets before.",
        "made by": f"graftsim {__version__}",
    }


def _write_net(path: Path, net: ActuatorNet, metadata: dict[str, Any]) -> None:
    """One file in float32, `x` [batch, 6] to `y` [batch, 1]."""
    graph = Graph(np.dtype(np.float32))
    ends = {OUTPUT: net.network.to_onnx(graph).value(INPUT)}
    into, out = {INPUT: ("batch", 2 * HISTORY)}, {OUTPUT: ("batch", 1)}
    model = finished(graph, ends, into, out, {"metadata": json.dumps(metadata)})
    path.write_bytes(model.SerializeToString())


def _stem(own: Sequence[Servo], number: int) -> str:
    """Name of a file: what its servos' names have in common at their ends, else a number."""
    first = own[0].name
    ends = (first[k:] for k in range(len(first)))
    common = next((end for end in ends if all(s.name.endswith(end) for s in own)), "")
    return re.sub(r"[^\w.+-]+", "_", common).strip("_") or f"servos_{number}"


def _said(own: Sequence[Servo], worth: Worth, plain: PlainServo, dt: float) -> list[str]:
    """What a net is worth, in sentences."""
    names = ", ".join(s.name for s in own)
    said = [
        f"{names}: over what was held out the torque is {worth.torque:.3g} (RMS), the net off by "
        f"{worth.net:.2g} (at most {worth.largest:.2g}), the file by onnxruntime from that by "
        f"{worth.file:.1g}."
    ]
    servo = f"kp = {plain.kp:.4g}, kd = {plain.kd:.4g} and a delay of {_ms(plain.delay)} ms"
    if worth.needed:
        said.append(f"{names}: {servo} would be off by {worth.plain:.2g}: the net is worth it.")
    else:
        said.append(f"{names}: the net is not needed: {servo} explain it to {worth.plain:.2g}.")
    reach = (HISTORY - 1) * dt
    if (longest := max(s.delay.value for s in own)) > reach:
        said.append(
            f"{names}: a delay of {1e3 * longest:.3g} ms reaches beyond the {1e3 * reach:.3g} ms "
            f"that a net sees at steps of {1e3 * dt:.3g} ms: choose a longer --dt."
        )
    return said


def _ms(seconds: float) -> str:
    """Milliseconds to a microsecond, without what rounding leaves of zero."""
    return f"{round(1e3 * seconds, 3) + 0.0:.4g}"
