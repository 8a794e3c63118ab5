"""How sure is a fit? Residuals, a bootstrap, a profile, and the experiment to do next."""

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs

jax.config.update("jax_enable_x64", True)


def arm(friction: float, mass: float) -> gs.Simulator:
    builder = gs.Builder("arm")
    builder.link("arm", axis=(0, 1, 0), mass=mass, com=(0, 0, -0.3), inertia=0.03, damping=0.1,
                 friction=friction, friction_velocity=0.05)  # fmt: skip
    builder.actuator("motor", "arm", force_range=(-6, 6))
    return gs.Simulator(builder.build(), dt=0.01, substeps=4, integrator=gs.ImplicitDamping())


# A timid first recording: a slow, small sine of torque, 2 mrad of noise.
truth, time = arm(friction=0.3, mass=1.0), 0.01 * np.arange(601)
u = 0.8 * np.sin(2.0 * time)
motion = truth.rollout(truth.initial_state(), jnp.asarray(u[:-1, None]))
q = np.asarray(motion.q)[:, 0] + 0.002 * np.random.default_rng(0).standard_normal(601)
channels = [gs.Channel("joint.q[arm]", time, q, "rad"), gs.Channel("control[motor]", time, u, "")]
recording = gs.Recording({c.name: c for c in channels}, name="timid")

free = ["joint.friction[arm]", "joint.damping[arm]", "link.mass[arm]"]
problem = gs.Problem(arm(friction=0.1, mass=0.8), recording, free, holdout=0, growth=(1.0,))
result = gs.fit(problem, bootstrap=gs.Bootstrap(100), profiles=["joint.damping[arm]"])

print(result.lack.text)
for row in result.parameters:
    interval = f"[{row.low:.4f}, {row.high:.4f}]"
    print(f"{row.name:20s} {row.value:8.4f}  {interval} {row.unit}, {row.status}")
for direction in result.weak:
    print(direction.text)
damping = result.profiles[0]
print(f"profile of the damping: {damping.low:.4f} to {damping.high:.4f} {damping.unit}, true 0.1")

# What to record next, within 6 N m and 4 rad/s, given what is known now.
known = {row.name: row.std for row in result.parameters}
plan = gs.excite(result.simulator, free, seconds=6, velocity=4.0, noise=0.002, known=known,
                 search=gs.FourierSearch(generations=15))  # fmt: skip
for p in plan.parameters:
    print(f"{p.name:20s} known to {p.before:.2g} now, to {p.after:.2g} {p.unit} after the plan")
print(f'the plan has {plan.plan.duration:g} s of commands: gs.write_csv(plan.plan, "next.csv")')
