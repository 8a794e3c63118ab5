"""What to record next, in sentences, from what is not known and what does not fit."""

from __future__ import annotations

from graftsim.identify.results.result import Result
from graftsim.identify.words import UNCERTAIN, Status

# Of a parameter's quantity: the motion that shows it.
SHOWS = {
    "joint.damping": "motion at several speeds, the fastest the machine may do",
    "joint.friction": "slow motion with reversals, beside fast motion",
    "joint.friction_velocity": "creeping through rest, back and forth",
    "joint.armature": "quick starts and stops",
    "joint.stiffness": "rest at several positions, and swings about them",
    "link.mass": "commands or measured torques (motion alone tells ratios only), and poses in "
    "which gravity pulls differently",
    "link.com": "slow motion through poses in which gravity pulls differently",
    "link.inertia": "quick turns about every axis that the joints allow",
    "link.inertial": "quick turns and slow poses, with torques recorded",
    "link.length": "large swings, so that geometry shows",
    "sensor.delay": "quick changes of direction",
    "actuator.gain": "commands of several sizes, with a known mass or torque for scale",
    "actuator.time_constant": "sudden changes of the command",
}


def what_next(result: Result) -> list[str]:
    """Sentences; empty where everything is known and explained."""
    said: dict[str, list[str]] = {}
    for r in result.parameters:
        if r.status in (*UNCERTAIN, Status.WITHOUT_EFFECT):
            family = r.name.split("[")[0]
            said.setdefault(SHOWS.get(family, ""), []).append(r.name)
    found = []
    for motion, names in said.items():
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        if motion:
            found.append(f"For {shown}: {motion}.")
        else:
            found.append(f"For {shown}: a motion that changes what they act on.")
    if found:
        found.append(
            "graftsim excite proposes a trajectory within the machine's limits that would teach "
            "most about these parameters."
        )
    if result.lack is not None and result.lack.clear:
        found.append(
            "The residuals still have structure: look for the missing effect with graftsim "
            "discover before trusting the parameters."
        )
    disagree = [w for w in result.warnings if "differs between recordings" in w]
    if disagree:
        found.append(
            "Recordings disagree: note what changed between them (temperature, payload, assembly), "
            "and record the same motion twice on different days."
        )
    return found
