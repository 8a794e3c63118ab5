"""The command line: `graftsim fit`, `inspect`, `simulate`. It computes in float64.

Exit codes: 0 done; 1 the fit ended without converging (its report is written all the same); 2 wrong
use or unreadable input, said on standard error; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from graftsim.errors import GraftsimError

USAGE = """graftsim: a differentiable simulator that learns from your robot's logs

  graftsim fit ROBOT LOG...       fit the robot file to recordings; writes a report and the fitted robot
  graftsim inspect ROBOT          what is in a robot file: tree, masses, joints, what was skipped and why
  graftsim simulate ROBOT         run the simulator and write the motion as a log

  graftsim COMMAND --help         what a command takes, with examples
  graftsim --version
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not args or args[0] in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0 if args else 2
    if args[0] == "--version":
        from importlib.metadata import version

        print(f"graftsim {version('graftsim')}")
        return 0
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    command, rest = args[0], args[1:]
    try:
        if command == "fit":
            from graftsim.cli.fit import run
        elif command == "inspect":
            from graftsim.cli.inspect import run
        elif command == "simulate":
            from graftsim.cli.simulate import run
        else:
            from graftsim.errors import suggest

            known = suggest(command, ("fit", "inspect", "simulate"))
            print(f"graftsim: there is no command '{command}'. {known}", file=sys.stderr)
            return 2
        return run(rest)
    except GraftsimError as error:
        print(f"graftsim {command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(f"graftsim {command}: interrupted.", file=sys.stderr)
        return 130
