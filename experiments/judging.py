"""`--judge FOLDER`: an experiment fits as always, and files of the same layout elsewhere judge."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_option(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds `--judge FOLDER`."""
    parser.add_argument(
        "--judge", metavar="FOLDER", help="judge the files of the same layout in this folder"
    )
    return parser


def folder(arguments: argparse.Namespace) -> Path | None:
    """Where the files that judge are, said aloud; None without the option. Ends if it is none."""
    if arguments.judge is None:
        return None
    found = Path(arguments.judge)
    if not found.is_dir():
        print(f"--judge {found}: there is no such folder.", file=sys.stderr)
        raise SystemExit(2)
    print(f"judged on {found}")
    return found


def files(where: Path, pattern: str) -> list[Path]:
    """Files that judge; ends if there is none."""
    found = sorted(where.glob(pattern))
    if not found:
        print(f"--judge {where}: no file {pattern} in it.", file=sys.stderr)
        raise SystemExit(2)
    return found
