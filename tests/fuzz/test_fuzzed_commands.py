"""Run files made wrong, and options with values that nobody meant."""

import re

import msgspec
import pytest
from harness import cases, run
from hypothesis import given, strategies as st
from mutations import ODD
from right_files import FIT, RUN_FILE

from graftsim.cli.check_options import CheckOptions
from graftsim.cli.discover_options import DiscoverOptions
from graftsim.cli.excite_options import ExciteOptions
from graftsim.cli.export_options import ExportOptions
from graftsim.cli.fit_options import FitOptions
from graftsim.cli.options import InspectOptions, SimulateOptions

pytestmark = pytest.mark.slow
VALUES = (
    *ODD, "none", "auto", "0.5", "1", "2", "joint.damping[*]", "joint.q[elbow]", "elbow=1",
    "joint.q[elbow]=0.1", "elbow=nan", "=", "=1", "a=", "joint.q[", 'joint.q["', "-", "--",
    "joint.damping[*]=1:0", "joint.tau_passive[*]=joint.qd", "log.csv", "arm.urdf", "nowhere",
    "/dev/null", "/dev/zero", "\0",
)  # fmt: skip
# Not tried: where files are written (not everywhere is ours), processes, other machines.
LEFT_OUT = {"out", "view", "workers", "cluster", "robot", "logs"}
COMMANDS = {
    "fit": (FitOptions, ["arm.urdf", "log.csv", "--iterations", "1", "--horizon", "0.25"]),
    "check": (CheckOptions, ["arm.urdf", "log.csv"]),
    "discover": (DiscoverOptions, ["arm.urdf", "log.csv", "--horizon", "0.25"]),
    "excite": (ExciteOptions, ["arm.urdf", "--seconds", "0.5", "--free", "joint.damping[*]"]),
    "export": (ExportOptions, [".", "--as", "isaac"]),
    "inspect": (InspectOptions, ["arm.urdf"]),
    "simulate": (SimulateOptions, ["arm.urdf", "--seconds", "0.02"]),
}


def flags_of(kind):
    """Names of the flags of a command, groups included."""
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from flags_of(field.type)
        elif field.name not in LEFT_OUT and (kind, field.name) != (CheckOptions, "json"):
            yield f"--{field.name.replace('_', '-')}"


@pytest.mark.parametrize("command", COMMANDS)
def test_options_with_odd_values(place, clock, command):
    """One or two options, each with up to two values."""
    kind, usual = COMMANDS[command]
    option = st.tuples(
        st.sampled_from(list(flags_of(kind))), st.lists(st.sampled_from(VALUES), max_size=2)
    )

    @cases(150)
    @given(options=st.lists(option, min_size=1, max_size=2))
    def ask(options):
        if not clock.up:
            run(command, *usual, *(x for flag, values in options for x in (flag, *values)))

    ask()


@cases(200)
@given(words=st.lists(st.sampled_from(VALUES) | st.text(max_size=5), max_size=4))
def test_any_words(words):
    """Commands of any words are refused, or are a help."""
    if words and words[0] in ("excite", "discover"):
        return
    run(*words)


def test_changed_run_files(place, clock):
    """Values, keys and tables of a TOML file that are missing, doubled or odd."""

    @cases(60)
    @given(data=st.data())
    def read(data):
        if clock.up:
            return
        lines = RUN_FILE.splitlines()
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(lines) - 1))
            key = lines[at].partition("=")[0]
            odd = st.sampled_from(
                ["nan", "-1", "1e400", "''", "[]", "{}", "[1, 2]", "{a = 1}", "true", "[[]]", "'x'",
                 "1979-05-27", "0.0", "[nan, inf]", "{lower = 'x'}", "{prior = [1]}", "[", "'"]
            )  # fmt: skip
            lines[at] = data.draw(
                st.sampled_from(
                    ["", f"{lines[at]}\n{lines[at]}", f"{key} = {data.draw(odd)}", f"x{lines[at]}"]
                )
            )
        (place / "run.toml").write_text("\n".join(lines))
        run("fit", "--run", "run.toml", "--out", "out")

    read()


def test_changed_results(place, clock):
    """Words of a fit.json that are missing, doubled or of another form, for every export."""
    words = re.split(r"(?<=[\s,:{}\[\]])", FIT)
    odd = ("null", "NaN", "-1", "1e400", '""', "[]", "{}", "true", '"x"', "[[", "\0", '"a[b"', ",")

    @cases(100)
    @given(data=st.data())
    def read(data):
        if clock.up:
            return
        changed = list(words)
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(words) - 1))
            changed[at] = data.draw(st.sampled_from(("", changed[at] * 2, *odd)))
        (place / "fit.json").write_text("".join(changed))
        run("export", ".", "--as", data.draw(st.sampled_from(("isaac", "mjlab", "urdf"))))

    read()
