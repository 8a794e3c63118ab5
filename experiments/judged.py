"""`--judge FOLDER`: files that nothing here has seen judge what was fitted to the shared ones."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from graftsim.targets import Figures


def add_option(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds `--judge FOLDER`."""
    parser.add_argument(
        "--judge",
        metavar="FOLDER",
        help="judge by these files, laid out as the data are; what is at hand is fitted",
    )
    return parser


def folder(arguments: argparse.Namespace, name: str) -> Path | None:
    """Where a set's files are that judge: FOLDER, or its part of that name. None without --judge.

    Ends the program with code 2 where there is no such folder.
    """
    if arguments.judge is None:
        return None
    given = Path(arguments.judge)
    found = given / name if (given / name).is_dir() else given
    if not found.is_dir():
        print(f"--judge: there is no folder {given}.", file=sys.stderr)
        raise SystemExit(2)
    return found


def files(place: Path, pattern: str) -> list[Path]:
    """Files of a folder that judge. Ends the program with code 2 where there are none."""
    found = sorted(place.glob(pattern))
    if not found:
        print(f"--judge: {place} has no {pattern}.", file=sys.stderr)
        raise SystemExit(2)
    return found


def say(figures: Figures, place: Path | None) -> None:
    """Put into the title by what is judged."""
    if place is not None:
        figures.title += f", judged on {place}"
