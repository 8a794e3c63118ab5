from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
from pages import ROOT

import graftsim as gs

# An arm of three hinges and what it feels, as the tests of the method make it.
_spec = spec_from_file_location("arms", ROOT / "tests/identify/inverse/arms.py")
_arms = module_from_spec(_spec)
_spec.loader.exec_module(_arms)


def _arm(share: float) -> gs.Model:
    """Base, arm and flange; share: of their masses."""
    b, above = gs.Builder("arm"), "world"
    for name, axis, mass in zip(
        ("base", "arm", "flange"), _arms.AXES, (3.0, 2.2, 1.4), strict=True
    ):
        b.link(name, above, joint_name=f"{name}_joint", axis=axis, origin=(0, 0, 0.3),
               mass=share * mass, com=(0.05, 0.08, 0.15), inertia=0.02 * share * mass,
               damping=0.5, friction=0.8, friction_velocity=0.1, armature=0.05)  # fmt: skip
        above = name
    return b.build()


model, _true = _arm(1.2), _arm(1.0)
_body = 0.7, np.array([0.02, 0.05, 0.2]), np.array([4e-3, 3e-3, 2e-3, 0, 0, 0])
_carried = gs.Payload("flange", *_body, 0.0, np.zeros(3), np.zeros(10), np.zeros(10))
without = _arms.recording(_true, 0, noise=0.02)
loaded = _arms.recording(_carried.onto(_true), 1, noise=0.02)
recordings = [without]


def holds():
    """The arm's forces and the payload are those that the recordings were made with."""
    damping = [found.value(f"joint.damping[{x}]") for x in model.tree.dofs]
    assert np.allclose(damping, 0.5, atol=0.05)
    mass, com, _ = _body
    assert abs(load.mass - mass) < min(4 * load.mass_std, 0.05 * mass)
    assert np.all(np.abs(load.com - com) < 4 * load.com_std)
