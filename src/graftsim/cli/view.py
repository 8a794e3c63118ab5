"""`graftsim view`."""

from __future__ import annotations

from graftsim.cli.robot import say
from graftsim.cli.start import start
from graftsim.cli.tables import terminal
from graftsim.cli.view_options import ViewOptions
from graftsim.compilation import cache_compilations
from graftsim.viewer.libraries import require
from graftsim.viewer.live.ports import check_port
from graftsim.viewer.looks import dressed

MOST = 3
"""Notes of a kind."""


def run(options: ViewOptions) -> int:
    """Serve the robot until Ctrl-C."""
    require("The viewer", "viser")
    check_port(options.host, options.port)
    cache_compilations()
    console, said = terminal(), terminal(stderr=True)
    simulator, state = start(options, said)
    say(simulator.model, said, held=simulator.contact is not None)
    drawn, left = dressed(simulator.model, options.robot, options.file.package_dir)
    for sentence in left[:MOST]:
        said.print(f"note: {sentence}", soft_wrap=True)
    if len(left) > MOST:
        said.print(f"note: and {len(left) - MOST} more that are not drawn", soft_wrap=True)
    from graftsim.viewer.live.viewer import Viewer

    viewer = Viewer(
        simulator,
        state,
        plot=options.plot,
        drawn=drawn,
        host=options.host,
        port=options.port,
        speed=options.speed,
        playing=not options.paused,
        commands=() if options.key is None else simulator.model.starts.key(options.key).u,
    )
    console.print(f"{viewer.url}: {simulator.model.name}. Ctrl-C ends it.", soft_wrap=True)
    viewer.wait()
    return 0
