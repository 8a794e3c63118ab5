"""The engine as a layer in PyTorch: billiards from pixels, velocities learned by physics alone."""

import jax
import jax.numpy as jnp
import torch

import graftsim as gs
from graftsim.interop.torch import layer

jax.config.update("jax_enable_x64", True)
torch.manual_seed(0)
PIXELS, RADIUS, STEPS = 16, 0.12, 60  # on a table of a metre; steps of 5 ms

b = gs.Builder("billiards")
for ball in ("red", "green"):
    b.link(f"{ball}_x", joint="prismatic", axis=(1, 0, 0))
    b.link(ball, f"{ball}_x", joint="prismatic", axis=(0, 1, 0), mass=0.2, inertia=1e-3)
    b.geom("sphere", RADIUS, ball, name=ball, restitution=0.9, friction=0.0)
table = gs.Simulator(b.build(), 0.005, contact=gs.contact.Complementarity())


def later(places, velocities):
    """Where the balls are after 0.3 s [balls, 2]."""
    start = table.initial_state(places.ravel(), velocities.ravel())
    return table.rollout(start, steps=STEPS).q[-1].reshape(2, 2)


def picture(places):
    """Each ball in a colour of its own [height, width, 2]."""
    return gs.vision.discs(places, RADIUS, jnp.eye(2), (PIXELS, PIXELS), scale=1 / PIXELS)


physics = layer(later, batched=True, dtype="float64")  # PyTorch goes on in float32
camera = layer(picture, batched=True, dtype="float32")


def scenes(n):
    """Two frames 50 ms apart of balls that may meet; places, velocities, places 0.3 s later."""
    x = torch.tensor([[0.25, 0.5], [0.75, 0.5]]) + 0.08 * (2 * torch.rand(n, 2, 2) - 1)
    v = torch.tensor([[0.4, 0.0], [-0.4, 0.0]]) + 2 * torch.rand(n, 2, 2) - 1
    return torch.stack([camera(x - 0.05 * v), camera(x)], 1), x, v, physics(x, v)


size = 2 * PIXELS * PIXELS * 2
encoder = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(size, 64), torch.nn.Tanh(),
                              torch.nn.Linear(64, 8), torch.nn.Unflatten(1, (2, 2, 2)))  # fmt: skip
frames, x, v, after = scenes(512)
new_frames, new_x, new_v, new_after = scenes(256)
optimiser = torch.optim.Adam(encoder.parameters(), 3e-3)
for epoch in range(150):
    for k in torch.randperm(512).split(64):
        seen, speed = encoder(frames[k]).unbind(1)
        # No velocity is ever given: what the engine makes of it must end at the right place.
        loss = ((seen - x[k]) ** 2).mean() + ((physics(seen, speed) - after[k]) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    if epoch in (0, 149):
        with torch.no_grad():
            seen, speed = encoder(new_frames).unbind(1)
            end = (physics(seen, speed) - new_after).norm(dim=-1).mean()
            print(f"epoch {epoch + 1:3d}: new scenes end {1000 * end:.0f} mm off, velocities "
                  f"{(speed - new_v).norm(dim=-1).mean():.3f} m/s")  # fmt: skip
straight = (new_x + STEPS * 0.005 * new_v - new_after).norm(dim=-1).mean()
print(f"without collisions they would end {1000 * straight:.0f} mm off")
