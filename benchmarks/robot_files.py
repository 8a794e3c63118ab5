"""Which public robot files open, which are exact, and why the others are refused.

Opens every URDF and MJCF under the folders, each within limits of time and memory; compares mass
matrix, bias, passive forces and accelerations under commands with MuJoCo (MJCF) or Pinocchio (URDF)
at random states; writes MJCF and reads it again, here, in MuJoCo and in Pinocchio. Prints a table
by what files use, and the reasons of refusals with their number.

Without folders: installed packages that carry robots, `robot_descriptions`' cache, GRAFTSIM_ASSETS.

    python benchmarks/robot_files.py [FOLDER ...] [--json FILE] [--opens] [--seconds 60]
"""

import json
import sys
from pathlib import Path
from typing import Any

from robot_census.files import FEATURES, below, default_set, features, robots
from robot_census.look import look, opens
from robot_census.tables import by_feature, of_written, reasons
from robot_census.workers import in_turn

from graftsim.targets import Figures, write_json

# Relative error of what is called exact.
EXACT = 1e-9


def main() -> int:
    """Print the tables, write the file of --json."""
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("folders", nargs="*", type=Path, help="folders or files")
    parser.add_argument("--seconds", type=float, default=60.0, help="of a file at most")
    parser.add_argument("--gigabytes", type=float, default=6.0, help="of memory at most")
    parser.add_argument("--only", default="", help="files whose path has this in it")
    parser.add_argument("--opens", action="store_true", help="open alone, compare nothing")
    arguments = parser.parse_args()
    paths = [p for f in arguments.folders for p in below(f)] if arguments.folders else default_set()
    jobs = [(p, form) for p, form in robots(paths) if arguments.only in str(p)]
    jobs = jobs[: 3 if arguments.quick else None]
    figures = Figures("Robot files", seed=arguments.seed)
    files: list[dict[str, Any]] = []
    looked = opens if arguments.opens else look
    for found in in_turn(looked, jobs, arguments.seconds, arguments.gigabytes):
        files.append(found | {"features": features(Path(found["file"]))})
        said = "opened" if found.get("opened") else found.get("refused", "")[:100]
        print(f"{len(files)}/{len(jobs)} {found['file']}: {said} {found['stopped']}", flush=True)
    print(by_feature(files, list(FEATURES), EXACT))
    print(of_written(files, EXACT))
    print(reasons(files))
    opened = [f for f in files if f.get("opened")]
    figures.note("files", len(files))
    figures.note("opened", len(opened))
    figures.note("opened by the other program", sum(f.get("other") == "" for f in files))
    figures.finish()
    if arguments.json:
        content = {"figures": figures.rows, "seed": arguments.seed, "files": files}
        write_json(arguments.json, content)
        json.loads(Path(arguments.json).read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
