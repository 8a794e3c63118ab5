"""The command line: `graftsim import`, `fit`, `check`, `discover`, ... It computes in float64.

Exit codes: 0 done, a discovery also when nothing is missing or what is can only be called likely
(`sureness` in its JSON); 1 a check found an error, or the fit
ended without converging (its report is written all the same), or the report could not be written
(the numbers are printed all the same); 2 wrong use or unreadable input, said on standard error; 130
interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from graftsim._version import __version__
from graftsim.errors import GraftsimError, suggest

USAGE = """graftsim: a differentiable simulator that learns from your robot's logs

  graftsim import LOG...          guess what a log holds; write a run file for fit
  graftsim fit ROBOT LOG...       fit a robot file to recordings; write a report and the robot
  graftsim check ROBOT LOG...     what in the recordings would spoil a fit, and what mends it
  graftsim discover ROBOT LOG...  find which effects the robot's model lacks: words and formulas
  graftsim excite ROBOT           propose the next trajectory to record, as a log to play
  graftsim export FIT_FOLDER      a fit for other programs: MJCF, URDF, Isaac Lab, mjlab, a net
  graftsim inspect ROBOT          what is in a robot file: tree, masses, joints, what was skipped
  graftsim simulate ROBOT         run the simulator and write the motion as a log
  graftsim view ROBOT             watch a robot in the browser: stop it, drag it, see forces
  graftsim demo [trot | laikago]  watch a quadruped trot, and pull at it
  graftsim completion SHELL       a script for bash, zsh or fish to complete all this

  graftsim COMMAND --help         what a command takes, with examples
  graftsim --version
"""
# Of each command: the module with the struct of its flags, and that struct.
STRUCTS = {
    "import": ("import_options", "ImportOptions"),
    "fit": ("fit_options", "FitOptions"),
    "check": ("check_options", "CheckOptions"),
    "discover": ("discover_options", "DiscoverOptions"),
    "excite": ("excite_options", "ExciteOptions"),
    "export": ("export_options", "ExportOptions"),
    "inspect": ("options", "InspectOptions"),
    "simulate": ("options", "SimulateOptions"),
    "view": ("view_options", "ViewOptions"),
    "demo": ("demo_options", "DemoOptions"),
    "completion": ("completion", "CompletionOptions"),
}
# Those that take a run file too, which their module parses with the flags.
FILED = ("fit", "check", "discover")
# Where a module cannot have the command's name.
MODULES = {"import": "import_log"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not args or args[0] in ("-h", "--help", "help"):
        print(USAGE, end="", file=sys.stdout if args else sys.stderr)
        return 0 if args else 2
    if args[0] == "--version":
        print(f"graftsim {__version__}")
        return 0
    command, rest = args[0], args[1:]
    if command not in STRUCTS:
        known = suggest(command, STRUCTS)
        print(f"graftsim: there is no command '{command}'. {known}", file=sys.stderr)
        return 2
    # JAX reads these when it is imported, which no module has done so far.
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        return _run(command, rest)
    except GraftsimError as error:
        print(f"graftsim {command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"graftsim {command}: {place}{error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"graftsim {command}: interrupted.", file=sys.stderr)
        return 130
    except (MemoryError, RuntimeError) as error:
        # XLA says so in a RuntimeError.
        if not isinstance(error, MemoryError) and "RESOURCE_EXHAUSTED" not in str(error):
            raise
        said = str(error).splitlines()[0] if str(error) else "no memory is left"
        print(f"graftsim {command}: not enough memory: {said}", file=sys.stderr)
        return 2


def _run(command: str, args: Sequence[str]) -> int:
    """Read the flags; import what is heavy only after they are known to be right."""
    place, struct = STRUCTS[command]
    module = import_module(f"graftsim.cli.{place}")
    if command in FILED:
        options, tables = getattr(module, f"parse_{command}")(args)
        more = (tables, args)
    else:
        from graftsim.cli.options import parse

        options, more = parse(getattr(module, struct), command, args), ()
    return import_module(f"graftsim.cli.{MODULES.get(command, command)}").run(options, *more)
