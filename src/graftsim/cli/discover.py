"""`graftsim discover`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from graftsim.cli import inputs, reports, setup
from graftsim.cli.discover_options import DiscoverOptions
from graftsim.cli.grafts import candidates_from
from graftsim.cli.progress import LineProgress
from graftsim.cli.tables import print_discovery, terminal
from graftsim.compilation import cache_compilations
from graftsim.errors import ProblemError
from graftsim.graft import MLP
from graftsim.identify import Criteria, discover
from graftsim.report import check_report


def run(options: DiscoverOptions, tables: Mapping[str, Any], args: Sequence[str]) -> int:
    """Discover, print the sentences, write the report; 1 when the last fit is not finite."""
    cache_compilations()
    console = terminal(stderr=True, quiet=options.quiet)
    check_report(options.out)
    search = options.search
    if not 0 < search.level < 1:
        raise ProblemError(f"--level must be a probability between 0 and 1, got {search.level}.")
    candidates = candidates_from(options.candidates, tables.get("candidates"))
    with inputs.shown_warnings(console):
        read = inputs.read(options, tables, console)
    free = setup.named_free(options.free, tables.get("free"))
    with inputs.shown_warnings(console), LineProgress(console) as progress:
        found = discover(
            read.simulator,
            read.recordings,
            free,
            candidates=candidates,
            shared=search.shared,
            network=MLP(*search.hidden, signs=True),
            criteria=replace(Criteria(), level=search.level),
            seed=search.seed,
            progress=progress.say,
            horizon=search.horizon,
            initial=search.initial,
            **read.options,
        )
        command = shlex.join(["graftsim", "discover", *args])
        found = replace(found, result=replace(found.result, command=command))
    if options.json:
        print(json.dumps(found.as_json()))
    else:
        print_discovery(found, terminal(quiet=options.quiet))
    written = reports.write(found, options.out, console)
    sys.stdout.flush()
    return 0 if written and found.result.outcome != "non-finite" else 1
