"""The live viewer: a simulator in a browser window."""

from __future__ import annotations

import contextlib
import io
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graftsim.engine import Simulator
from graftsim.errors import ProblemError
from graftsim.identify.results.result import Replay
from graftsim.model.state import State
from graftsim.viewer.arrows import Arrows, contact_forces
from graftsim.viewer.libraries import require
from graftsim.viewer.live.camera import Chase
from graftsim.viewer.live.hand import Hand
from graftsim.viewer.live.loop import FPS, Loop
from graftsim.viewer.live.panel import Panel
from graftsim.viewer.live.ports import serve
from graftsim.viewer.live.world import Policy, World, checked, watchable
from graftsim.viewer.motion import motion, reach
from graftsim.viewer.parts import Part, floats, parts
from graftsim.viewer.replay import replay_html
from graftsim.viewer.scene import Figure, stage

PANEL_EVERY = 6
"""Frames between two looks at what the panel shows."""
KEPT = 40.0
"""Seconds on the wall that a replay goes back."""


class Viewer:
    """A simulator to watch and to touch, in a browser: `Viewer(simulator)` serves it at `url`.

    Time passes beside the clock on the wall, simulated on kernels in a thread of its own; frames
    that come late are dropped. Bodies are dragged with the mouse by a spring, joints and commands
    have sliders, forces are arrows, and a named variable is plotted. Also a context manager.
    """

    def __init__(
        self,
        simulator: Simulator,
        state: State | None = None,
        *,
        policy: Policy | None = None,
        every: int = 1,
        commands: Sequence[float] = (),
        drawn: list[Part] | None = None,
        plot: str | None = None,
        host: str = "127.0.0.1",
        port: int = 8080,
        speed: float = 1.0,
        playing: bool = True,
    ) -> None:
        """Starts to serve, from `state` (by default where the file draws the robot).

        policy: commands [nu] of (time in s, state), asked every `every` steps; without one the
        sliders hold them, and begin at `commands` [nu] (zero). plot: a variable with one number a
        row (`simulator.variables()`).
        drawn: what is drawn of the model (`graftsim.viewer.dressed`), by default its shapes.
        speed: simulated seconds a second. port: 0 takes any that is free.
        Raises GraftsimError: viser is missing; PortError: host or port cannot be served at;
        ModelError: a state that is not finite or another model's; ProblemError: the speed is not
        positive, nothing can be plotted by that name.
        """
        require("The viewer", "viser")
        if not speed > 0:
            raise ProblemError(f"The speed must be positive, got {speed}.")
        if plot is not None and plot not in (known := watchable(simulator)):
            raise ProblemError(f"There is nothing to plot as '{plot}': {', '.join(known)}.")
        world = World(
            simulator, state, policy=policy, every=every, watch=() if plot is None else (plot,)
        )
        if len(commands):
            world.held = world.commands(commands, "the given ones are")
            world.reset()
        self._seen: deque[tuple[float, np.ndarray, np.ndarray]] = deque(maxlen=int(KEPT * FPS))
        self.hand = Hand(world)
        self._solid = parts(simulator.model) if drawn is None else drawn
        self._frame, self._drawn = 0, ()
        self._lock, self._closed = threading.Lock(), False
        self._server = serve(host, port, simulator.model.name)
        self.loop = Loop(world, self._show, speed)
        try:
            self._build()
        except BaseException:
            self._server.stop()
            raise
        self.loop.start()
        if playing:
            self.play()

    def _build(self) -> None:
        model, server = self.loop.world.model, self._server
        solid = self._solid
        still = motion(model, self.loop.world.instant().q[None])
        self.radius = stage(
            server, model, solid, [still, motion(model, reach(model))], endless=True
        )
        self.figure = Figure(server.scene, model, "simulated", solid)
        self.figure.show(still, 0)
        self.arrows = Arrows(server.scene, model, self.radius)
        self.chase = Chase(server, still.position[0], on=floats(model))
        for link, mesh in self.figure.meshes:
            mesh.on_drag("left")(self.hand.gesture(self.loop, link))
        server.gui.configure_theme(show_logo=False, show_share_button=False)
        self.panel = Panel(server.gui, self)

    # -- from outside --------------------------------------------------------------------------

    @property
    def port(self) -> int:
        """The port it is served at."""
        return self._server.get_port()

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        host = self._server.get_host()
        return f"http://{'localhost' if host in ('0.0.0.0', '::') else host}:{self.port}"

    @property
    def state(self) -> State:
        """The present state."""
        return self.loop.ask(lambda: self.loop.world.state)

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self.loop.ask(lambda: self.loop.world.time)

    def play(self) -> None:
        """Let time pass."""
        self.loop.ask(lambda: self.loop.play(True))

    def pause(self) -> None:
        """Let time stand still."""
        self.loop.ask(lambda: self.loop.play(False))

    def step(self, steps: int = 1) -> None:
        """Pause, and go some steps on; raises what went wrong in them."""

        def go() -> None:
            self.loop.play(False)
            self.loop.world.advance(steps)

        self.loop.ask(go)

    def reset(self, state: State | None = None) -> None:
        """Back to the start, or to a state that is the start from now on."""

        def back() -> None:
            world = self.loop.world
            if state is not None:
                world.start = checked(world.simulator, state)
            world.reset()
            self.hand.release()
            self.loop.trouble = None
            self._seen.clear()
            self.panel.plot.clear()

        self.loop.ask(back)

    def replay(self, path: str | Path | None = None) -> str:
        """A page of HTML that plays the motion of the last seconds; written to `path` if given.

        Raises: see `graftsim.viewer.replay_html`.
        """
        seen = self.loop.ask(lambda: list(self._seen))
        if not seen:
            instant = self.loop.ask(self.loop.world.instant)
            seen = [(instant.time, instant.q, contact_forces(instant.recorded))]
        time_, q, forces = zip(*seen, strict=True)
        replay = Replay("seen", np.array(time_), None, np.stack(q))
        return replay_html(
            self.loop.world.model,
            [replay],
            path,
            max_frames=len(seen),
            drawn=self._solid,
            forces=[forces],
        )

    def add_knob(self, name: str, lower: float, upper: float, setting: dict[str, float]) -> None:
        """A slider of a number that a policy reads: `setting[name]`, where it begins."""
        knob = self._server.gui.add_slider(
            name, lower, upper, (upper - lower) / 100, setting[name], order=0.5
        )

        def turned(event: Any) -> None:
            setting[name] = float(event.target.value)

        knob.on_update(turned)

    def wait(self) -> None:
        """Serve until it is closed, or Ctrl-C closes it."""
        try:
            while not self.loop.ended:
                time.sleep(0.1)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()
        if self.loop.failure is not None:
            raise self.loop.failure

    def close(self) -> None:
        """End simulation and server, and free the port; a second time does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self.loop.stop()
            with contextlib.redirect_stdout(io.StringIO()):
                self._server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- in the thread of the loop -------------------------------------------------------------

    def _show(self, loop: Loop) -> None:
        world, self._frame = loop.world, self._frame + 1
        now = (world.state, world.pull, self.arrows.scale, self.arrows.shown)
        fresh = len(self._drawn) != 4 or any(
            a is not b for a, b in zip(now, self._drawn, strict=True)
        )
        instant = world.instant()
        if fresh:
            self._drawn = now
            path, forces = motion(world.model, instant.q[None]), contact_forces(instant.recorded)
            with self._server.atomic():
                self.figure.show(path, 0)
                self.arrows.show(forces, self.hand.spring(path))
            self.chase.follow(path.position[0])
            if not self._seen or instant.time > self._seen[-1][0]:
                self._seen.append((instant.time, instant.q, forces))
        rare = self._frame % PANEL_EVERY == 0 or not world.compiled
        self.panel.show(instant, often=not rare)
