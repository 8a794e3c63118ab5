"""The controls beside the scene: time, forces, joints, commands, a plot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from graftsim.taps import CATALOGUE
from graftsim.viewer.live.camera import Chase
from graftsim.viewer.live.hand import Hand
from graftsim.viewer.live.loop import Loop
from graftsim.viewer.live.plot import Plot
from graftsim.viewer.live.sliders import (
    Sliders,
    command_ranges,
    joint_ranges,
    joint_values,
)
from graftsim.viewer.live.world import Instant, watchable

SPEEDS = {"1/20": 0.05, "1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "4": 4.0}
NOTHING = "(nothing)"


class Shown(Protocol):
    """What the panel needs of a viewer."""

    loop: Loop
    arrows: Any
    chase: Chase
    hand: Hand

    def reset(self) -> None:
        """Back to the start."""
        ...

    def replay(self) -> str:
        """A page that plays what was seen."""
        ...


class Panel:
    """Built once; `show` in every frame."""

    def __init__(self, gui: Any, viewer: Shown) -> None:
        self._gui, self._viewer, self._loop = gui, viewer, viewer.loop
        self.status = gui.add_markdown("")
        self._clock()
        self._scene()
        self._plots()
        world = self._loop.world
        self.joints = Sliders(
            gui, "Joints", joint_ranges(world.model), self._put_joint,
            "puts the joint there, at rest; in a running simulation it goes on from there",
        )  # fmt: skip
        free = world.policy is None
        self.commands = Sliders(
            gui, "Commands", command_ranges(world.model) if free else {}, self._command,
            "command that is held",
        )  # fmt: skip

    def show(self, instant: Instant, *, often: bool) -> None:
        """Bring the panel up to date; `often`: what costs little, else all of it."""
        self.plot.add(instant)
        if often:
            return
        self.status.content = self.words(instant)
        self.joints.follow(joint_values(self._loop.world.model, instant))
        if self.commands.handles:
            self.commands.follow(instant.u)
        self.plot.draw()

    def words(self, instant: Instant) -> str:
        """Time and speed, or what went wrong."""
        if self._loop.trouble is not None:
            return f"**{instant.time:.3f} s**, stopped. {_plain(str(self._loop.trouble))}"
        if self._loop.playing and not self._loop.world.compiled:
            return f"**{instant.time:.3f} s**, compiling the step: seconds, for big robots minutes"
        if not self._loop.playing:
            return f"**{instant.time:.3f} s**, paused"
        measured = self._loop.pace.measured
        speed = "" if measured is None else f", {measured:.2f} x real time"
        return f"**{instant.time:.2f} s**{speed}"

    def _clock(self) -> None:
        gui, loop = self._gui, self._loop
        self.time = gui.add_button_group("Time", tuple(self._orders()))
        self.time.on_click(lambda event: self._orders()[event.target.value]())
        start = min(SPEEDS, key=lambda k: abs(SPEEDS[k] - loop.pace.speed))
        self.speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value=start)
        self.speed.on_update(_user(lambda word: setattr(loop.pace, "speed", SPEEDS[word])))
        self.save = gui.add_button("Save replay", hint="the last motion as a page of HTML")
        self.save.on_click(self._send_replay)

    def _orders(self) -> dict[str, Callable[[], object]]:
        loop = self._loop
        return {
            "Play": lambda: loop.post(lambda: loop.play(True)),
            "Pause": lambda: loop.post(lambda: loop.play(False)),
            "Step": lambda: loop.post(lambda: (loop.play(False), loop.advance(1))),
            "Reset": self._viewer.reset,
        }

    def _scene(self) -> None:
        gui, viewer = self._gui, self._viewer
        with gui.add_folder("Forces"):
            gui.add_markdown("Drag a body with the left mouse button to pull it.")
            arrows = gui.add_checkbox("Contact forces", True)
            arrows.on_update(_user(lambda yes: setattr(viewer.arrows, "shown", yes)))
            length = gui.add_slider("Length of arrows", 0.1, 5.0, 0.1, 1.0)
            length.on_update(_user(lambda x: setattr(viewer.arrows, "scale", x)))
            strength = gui.add_slider("Strength of the pull", 0.1, 5.0, 0.1, 1.0)
            strength.on_update(_user(lambda x: setattr(viewer.hand, "strength", x)))
            follow = gui.add_checkbox("Camera follows", viewer.chase.on)
            follow.on_update(_user(lambda yes: setattr(viewer.chase, "on", yes)))

    def _plots(self) -> None:
        gui, world = self._gui, self._loop.world
        self._rows = watchable(world.simulator)
        with gui.add_folder("Plot") as folder:
            first = world.watched[0] if world.watched else NOTHING
            self.choice = gui.add_dropdown(
                "Variable", (NOTHING, *self._rows), initial_value=first,
                hint="another one compiles the step again, which takes a moment",
            )  # fmt: skip
        self.plot = Plot(gui, folder)
        self._choose(first)
        self.choice.on_update(_user(self.watch))

    def watch(self, name: str) -> None:
        """Plot another variable."""
        self._loop.post(lambda: self._choose(name))

    def _choose(self, name: str) -> None:
        world = self._loop.world
        world.watched = () if name == NOTHING else (name,)
        unit = CATALOGUE[name].unit if name in CATALOGUE else ""
        self.plot.choose(name, self._rows.get(name, ()), unit)
        self._loop.pace.rest()

    def _put_joint(self, k: int, value: float) -> None:
        world = self._loop.world
        name = tuple(joint_ranges(world.model))[k]
        self._loop.post(lambda: world.set_joint(name, value))

    def _command(self, k: int, value: float) -> None:
        self._loop.post(lambda: self._loop.world.u.__setitem__(k, value))

    def _send_replay(self, event: Any) -> None:
        page = self._viewer.replay()
        event.client.send_file_download("replay.html", page.encode())


def _user(act: Callable[[Any], object]) -> Callable[[Any], None]:
    """A callback for what a user changes; what the server sets itself has no client."""

    def on_update(event: Any) -> None:
        if event.client is not None:
            act(event.target.value)

    return on_update


def _plain(text: str) -> str:
    """Without what Markdown reads."""
    return text.replace("*", "\\*").replace("_", "\\_").replace("[", "\\[")
