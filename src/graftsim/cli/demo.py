"""`graftsim demo`."""

from __future__ import annotations

import numpy as np

from graftsim.cli import setup
from graftsim.cli.demo_options import DemoOptions
from graftsim.cli.tables import terminal
from graftsim.compilation import cache_compilations
from graftsim.identify.results.result import Replay
from graftsim.viewer.arrows import contact_forces
from graftsim.viewer.demos import DEMOS, Scene
from graftsim.viewer.files import check_file
from graftsim.viewer.libraries import require
from graftsim.viewer.live.ports import check_port
from graftsim.viewer.live.viewer import Viewer
from graftsim.viewer.live.world import World
from graftsim.viewer.motion import FPS
from graftsim.viewer.replay import replay_html


def run(options: DemoOptions) -> int:
    """Serve a demo until Ctrl-C, or write a replay of it."""
    require("A demo", "viser")
    if options.out is None:
        check_port(options.host, options.port)
    else:
        check_file(options.out)
    cache_compilations()
    console, said = terminal(), terminal(stderr=True)
    demo = next(d for d in DEMOS if d.name == options.name)
    said.print(f"{demo.name}: {demo.about}. Compiling, the first time a minute.", soft_wrap=True)
    scene = demo.scene()
    if options.out is not None:
        replay, forces = recorded(scene, options.seconds)
        title = f"graftsim: {demo.name}"
        replay_html(scene.simulator.model, [replay], options.out, title=title, forces=[forces])
        console.print(f"{options.out}: 3-D replay of {options.seconds:g} s", soft_wrap=True)
        return 0
    viewer = Viewer(
        scene.simulator,
        scene.state,
        policy=scene.policy,
        every=scene.every,
        host=options.host,
        port=options.port,
        speed=options.speed,
        playing=not options.paused,
    )
    for name, knob in scene.knobs.items():
        viewer.add_knob(name, knob.lower, knob.upper, scene.setting)
    console.print(f"{viewer.url}: {demo.name}. Ctrl-C ends it.", soft_wrap=True)
    viewer.wait()
    return 0


def recorded(scene: Scene, seconds: float) -> tuple[Replay, list[np.ndarray]]:
    """A scene's motion and forces of contact, frame by frame; raises what `World.advance` does."""
    world = World(scene.simulator, scene.state, policy=scene.policy, every=scene.every)
    steps = setup.steps_of(seconds, world.dt)
    stride = max(round(1 / (FPS * world.dt)), 1)
    found = [world.instant()]
    for done in range(0, steps, stride):
        world.advance(min(stride, steps - done))
        found.append(world.instant())
    replay = Replay("demo", np.array([x.time for x in found]), None, np.stack([x.q for x in found]))
    return replay, [contact_forces(x.recorded) for x in found]
