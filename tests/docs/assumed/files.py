from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from pages import ROOT

import graftsim as gs

_spec = spec_from_file_location("own", ROOT / "tests/extending/test_own_robot_format.py")
_own = module_from_spec(_spec)
_spec.loader.exec_module(_own)
Chain = _own.Chain
gs.write_mjcf(gs.load("robot.urdf"), "scene.xml")
Path("arm.chain").write_text(_own.TEXT)
