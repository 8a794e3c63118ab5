"""Optional libraries, asked for by name when they are missing."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from graftsim.errors import GraftsimError


def require(what: str, *modules: str) -> None:
    """Raise GraftsimError that says how to install, unless all the modules can be found."""
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    if missing:
        raise GraftsimError(
            f"{what} needs {' and '.join(missing)}. Install with: pip install 'graftsim[report]'"
        )


def template(folder: Path, name: str) -> Any:
    """A Jinja template of a folder; values are escaped, and a name without a value is an error."""
    require("A page of HTML", "jinja2")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
