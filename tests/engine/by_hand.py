"""One semi-implicit Euler step written out in NumPy, with something added to each named variable.

Poses, motion subspaces and the mass matrix come from the package, which other tests hold against
oracles; how the named variables lead from one to the next is written here a second time.
"""

import jax.numpy as jnp
import numpy as np

import zoo
from graftsim.dynamics import mass_matrix
from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import prepare
from graftsim.dynamics.motion import joint_motion, link_velocity
from graftsim.dynamics.passive import displacement
from graftsim.engine.integrators import move
from graftsim.io.robot import poses


@zoo.jit
def geometry(model, q, qd):
    """What depends on positions and velocities alone."""
    m = prepare(model)
    motion = joint_motion(m, q, qd)
    X = world_transforms(m.tree, motion)
    return {
        "S": motion.S,
        "X_up": motion.X_up.matrix(),
        "v_J": motion.v_J,
        "c_J": motion.c_J,
        "v": link_velocity(m.tree, motion),
        "I": m.I,
        "H": mass_matrix(m, q),
        "R": jnp.swapaxes(X.E, 1, 2),
        "p": X.r,
        "from_neutral": displacement(m.tree, jnp.asarray(m.tree.neutral), q),
        "from_rest": displacement(m.tree, model.joint.rest, q),
    }


def cross(v):
    """6x6 matrix of v x for motion vectors; minus its transpose is the one for force vectors."""
    (a, b, c), (d, e, f) = v[:3], v[3:]
    w = np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
    u = np.array([[0, -f, e], [f, 0, -d], [-e, d, 0]])
    return np.block([[w, np.zeros((3, 3))], [u, w]])


def rounded(x, width):
    """max(x, 0), by a parabola over |x| < width/2."""
    return max(x, 0.0) if abs(x) >= width / 2 else (x + width / 2) ** 2 / (2 * width)


def around(model, v, R):
    """Forces of the medium on links, box by box."""
    x, world = model.medium, model.world
    out = np.zeros((model.tree.nl, 6))
    rho, mu = float(world.density[0]), float(world.viscosity[0])
    for link, p, quat, b, lift in zip(x.link, x.position, x.rotation, x.box, x.lift, strict=True):
        T, p, b = poses.matrix(quat), np.asarray(p), np.asarray(b)
        w, u = T.T @ v[link, :3], T.T @ (v[link, 3:] + np.cross(v[link, :3], p))
        f, n = np.zeros(3), np.zeros(3)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            f[i] = -3 * np.pi * b.mean() * mu * u[i] - rho / 2 * b[j] * b[k] * abs(u[i]) * u[i]
            n[i] = -np.pi * b.mean() ** 3 * mu * w[i]
            n[i] -= rho * b[i] * (b[j] ** 4 + b[k] ** 4) * abs(w[i]) * w[i] / 64
        force = T @ f - float(lift) * R[link].T @ np.asarray(world.gravity)
        out[link] += [*(T @ n + np.cross(p, force)), *force]
    return out


def pushed_back(of, x, rate):
    """Force of limits of travel or length."""
    below, above = np.maximum(of.lower - x, 0), np.maximum(x - of.upper, 0)
    gain_below = np.maximum(1 - of.limit_damping * rate, 0)
    gain_above = np.maximum(1 + of.limit_damping * rate, 0)
    return of.limit_stiffness * (below * gain_below - above * gain_above)


def step(model, state, u, dt, add):
    """Named values of a step, and the next positions, velocities and lags.

    `model` has no fixed joints; `add` maps names to constants that are added where the name arises.
    """
    value = {}

    def named(name, x):
        value[name] = np.asarray(x) + add.get(name, 0.0)
        return value[name]

    tree, j, m = model.tree, model.joint, model.actuator
    q, qd = named("state.q", state.q), named("state.qd", state.qd)
    u = named("control.u", u)
    g = {k: np.asarray(x) for k, x in geometry(model, jnp.asarray(q), jnp.asarray(qd)).items()}
    named("link.position", g["p"])
    named("link.rotation", g["R"])
    v = named("link.velocity", g["v"])
    com = np.asarray(model.link.com)
    named("link.com_velocity", np.concatenate([v[:, :3], v[:, 3:] + np.cross(v[:, :3], com)], 1))

    # Passive forces.
    q_dof, rate = named("joint.q", g["from_neutral"]), named("joint.qd", qd)
    spring = named("joint.tau_spring", -j.stiffness * g["from_rest"])
    damping = named("joint.tau_damping", -j.damping * rate)
    stops = named("joint.tau_limit", pushed_back(j, q_dof, rate))

    # Tendons.
    t, C = model.tendon, np.zeros((len(model.tendon.names), tree.nv))
    for (i, d), c in zip(t.entries, np.asarray(t.coefficient), strict=True):
        C[i, d] += c
    long, faster = named("tendon.length", C @ q_dof), named("tendon.rate", C @ rate)
    pull = np.array(
        [
            rounded(x - high, width) - rounded(low - x, width)
            for x, low, high, width in zip(
                long, t.slack_lower, t.slack_upper, t.rounding, strict=True
            )
        ]
    )
    rub = t.friction * np.tanh(faster / t.friction_velocity)
    ends = pushed_back(t, long, faster)
    pull = named("tendon.force", -t.stiffness * pull - t.damping * faster - rub + ends)
    from_tendons = named("joint.tau_tendon", C.T @ pull)

    # Actuators, one after the other; nothing is delayed.
    u = named("actuator.delayed", u)
    n = len(m.names)
    command = np.clip(u[:n], m.control_lower, m.control_upper)
    limited = command.copy()
    lagged, act = np.array(m.lagged), np.asarray(state.act)
    command[lagged] = act[: lagged.sum()]
    command = named("actuator.command", command)
    # Joints first, then tendons, as each was named.
    place = [tree.nv + m.tendon[i] if m.tendon[i] >= 0 else m.dof[i] for i in range(n)]
    moment = np.asarray(m.gear)[:, None] * np.concatenate([np.eye(tree.nv), C])[place]
    length = m.gear * np.concatenate([q_dof, long])[place]
    speed = m.gear * np.concatenate([rate, faster])[place]
    integrals = dict(
        zip([i for i in range(n) if m.kinds[i] == "pid"], act[lagged.sum() :], strict=True)
    )
    further = dict(zip([(i, x) for i in range(n) for x in m.inputs[i]], u[n:], strict=True))
    force, new_integrals = np.zeros(n), []
    for i in range(n):
        own = {k: float(further.get((i, k), getattr(m, k)[i])) for k in ("gain", "kp", "kd", "ki")}
        error = command[i] + float(m.zero[i]) - length[i]
        slip = further.get((i, "velocity"), 0.0) - speed[i]
        servo = own["kp"] * error + own["kd"] * slip + further.get((i, "torque"), 0.0)
        k, R = float(m.motor_constant[i]), float(m.resistance[i])
        duty = np.clip(servo, -float(m.duty_limit[i]), float(m.duty_limit[i]))
        force[i] = {
            "torque": own["gain"] * command[i],
            "position": servo,
            "velocity": own["kd"] * (command[i] - speed[i]),
            "pid": servo + own["ki"] * integrals.get(i, 0.0),
            "voltage": k / R * (command[i] - k * speed[i]),
            "voltage_servo": k / R * (duty * float(m.supply[i]) - k * speed[i]),
        }[m.kinds[i]]
        if i in integrals:
            top = float(m.integral_limit[i])
            new_integrals.append(np.clip(integrals[i] + dt * error, -top, top))
    force = np.clip(named("actuator.drive", force), m.force_lower, m.force_upper)
    share = speed / m.no_load_speed
    top, bottom = (
        np.where(
            np.isinf(m.stall_force),
            np.inf,
            np.maximum(1 - x, 0) * np.where(np.isinf(m.stall_force), 1, m.stall_force),
        )
        for x in (share, -share)
    )
    force = named("actuator.force", np.clip(force, -bottom, top))
    driven = named("joint.tau_actuator", moment.T @ force)
    at_com = named("link.com_force", np.zeros((tree.nl, 6)))
    about_origin = at_com[:, :3] + np.cross(com, at_com[:, 3:])
    f_ext = around(model, v, g["R"]) + np.concatenate([about_origin, at_com[:, 3:]], 1)
    f_ext = named("link.force", f_ext)

    # Newton-Euler with the velocities as they were named; forces on the links go down the tree.
    a_world = np.concatenate([np.zeros(3), -np.asarray(model.world.gravity)])

    def newton_euler(qdd):
        a, f = np.zeros((tree.nl, 6)), np.zeros((tree.nl, 6))
        for i, parent in enumerate(tree.parent):
            rows = tree.v_index[i]
            a[i] = g["X_up"][i] @ (a_world if parent < 0 else a[parent])
            a[i] += g["c_J"][i] + cross(v[i]) @ g["v_J"][i] + g["S"][rows].T @ qdd[rows]
            f[i] = g["I"][i] @ a[i] - cross(v[i]).T @ g["I"][i] @ v[i] - f_ext[i]
        for i in reversed(range(tree.nl)):
            if tree.parent[i] >= 0:
                f[tree.parent[i]] += g["X_up"][i].T @ f[i]
        return a, np.sum(g["S"] * f[tree.link_of_dof], 1)

    # Friction of a gear that carries what the motors and all else put on it.
    bias = newton_euler(np.zeros(tree.nv))[1]
    other, slow = from_tendons + spring + stops - bias, np.exp(-((rate / j.stribeck_velocity) ** 2))
    carried = np.abs((1 - j.load_asymmetry) * other - (1 + j.load_asymmetry) * driven)
    smaller = np.where(driven * other < 0, np.minimum(np.abs(driven), np.abs(other)), 0.0)
    level = j.friction + j.stribeck * slow + (j.load_friction + j.load_stribeck * slow) * carried
    level = level + j.load_quadratic * slow * smaller**2
    dry = named("joint.tau_friction", -level * np.tanh(rate / j.friction_velocity))
    passive = named("joint.tau_passive", spring + damping + dry + stops)
    tau = named("joint.tau", passive + from_tendons + driven)

    qdd = np.linalg.solve(g["H"], tau - bias)
    named("link.acceleration", newton_euler(qdd)[0])
    qdd = named("joint.qdd", qdd)

    new_qd = np.asarray(state.qd) + dt * qdd
    new_q = np.asarray(move(tree, state.q, jnp.asarray(new_qd), dt))
    decay = np.exp(-dt / np.asarray(m.time_constant)[lagged])
    lags = limited[lagged] + (act[: lagged.sum()] - limited[lagged]) * decay
    return value, new_q, new_qd, np.concatenate([lags, new_integrals])
