"""Names in brackets: whatever a file calls a joint can be selected, printed and typed back."""

import fnmatch

import jax
import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from graftsim.cli import setup
from graftsim.cli.options import assignments
from graftsim.errors import GraftsimError, VariableError
from graftsim.identify.problem.domains import Bounds, Domain
from graftsim.recordings.channels import parse_name, spelling
from graftsim.selectors import Selector, outside, quoted, row_name, unquoted, with_row

# Any text, and more often than chance would have it of letters that mean something.
NAMES = st.text(min_size=1) | st.text(alphabet=",=[]*?\"'\\ ab:.\n", min_size=1)


@given(name=NAMES, others=st.lists(NAMES))
@example(name='"', others=["'"])
@example(name="a,b", others=["a", "b"])
@example(name="a[1]", others=["a1"])
@example(name="l*", others=["left"])
def test_any_name_round_trips_and_selects_itself_alone(name, others):
    """`row_name` is read back as exactly that row, whatever else there is."""
    labels = [name, *(x for x in others if x != name)]
    chosen = Selector.parse(row_name("joint.damping", name))
    assert chosen.name == "joint.damping"
    assert chosen.label == name
    assert chosen.rows(labels) == (0,)
    assert str(chosen) == row_name("joint.damping", name)


@given(names=st.lists(NAMES, min_size=1, unique=True))
def test_lists_of_any_names_select_them_all(names):
    """Quoted names are separated by commas like any others."""
    chosen = Selector.parse(f"link.mass[{', '.join(map(quoted, names))}]")
    assert chosen.rows(names) == tuple(range(len(names)))


@given(name=NAMES, value=st.floats(allow_nan=False))
def test_assignments_of_any_name(name, value):
    """Flags NAME=VALUE take a name in quotes, with brackets and without."""
    selector = row_name("joint.damping", name)
    assert assignments([f"{selector}={value}"], "--start") == {selector: str(value)}
    assert assignments([f"{quoted(name)}={value}"], "--q") == {name: str(value)}


@given(name=NAMES, column=st.text(alphabet=",=[]*?\"'\\ ab.", min_size=1))
def test_columns_of_any_name(name, column):
    """--columns takes both sides in quotes, and a unit behind."""
    channel = row_name("joint.q", name)
    plan = setup.columns_from([f"{channel}={quoted(column)}"], None)
    assert plan == {channel: {"columns": column}}
    plan = setup.columns_from([f"{channel}={quoted(column)}:deg"], None)
    assert plan == {channel: {"columns": column, "unit": "deg"}}
    given_unit = setup.columns_from([f'{channel}="pos:2":deg'], None)
    assert given_unit == {channel: {"columns": "pos:2", "unit": "deg"}}


@given(name=NAMES)
def test_channels_of_any_name(name):
    """A channel has one spelling, and reading it gives the label."""
    channel = row_name("joint.q", name)
    assert parse_name(channel).label == name
    assert spelling(channel) == channel
    assert spelling(f"joint.q[{quoted(name)}]") == channel


@given(name=NAMES)
def test_free_of_any_name(name):
    """--free with bounds, and without."""
    selector = row_name("joint.damping", name)
    assert setup.named_free([f"{selector}=0:1"], None) == {selector: Bounds(0.0, 1.0)}
    assert list(setup.named_free([selector], None)) == [selector]


@given(text=st.text(alphabet=",=[]*?\"'\\ ab.\n"), separator=st.sampled_from(",=:"))
def test_pieces_make_the_text_again(text, separator):
    """Splitting loses nothing, however the brackets and quotes stand."""
    assert separator.join(outside(text, separator)) == text


@given(text=st.text(alphabet=",=[]*?\"'\\ ab.\n_", max_size=30))
def test_any_text_is_read_or_refused(text):
    """A selector is read or refused with a message; nothing else happens."""
    try:
        chosen = Selector.parse(f"joint.q[{text}]")
    except VariableError as error:
        assert "family.quantity[rows]" in str(error)
    else:
        assert set(chosen.rows(["a", "b"])) <= {0, 1}


def test_plain_names_and_patterns_are_as_they_were():
    """No quotes: shell patterns, several by commas, spaces around them ignored."""
    labels = ["left_hip", "left_knee", "right_hip", "arm"]
    assert Selector.parse("joint.q[left_*]").rows(labels) == (0, 1)
    assert Selector.parse("joint.q[ arm , right_* ]").rows(labels) == (2, 3)
    assert Selector.parse("joint.q").rows(labels) == (0, 1, 2, 3)
    assert Selector.parse("joint.q[]").rows(labels) == ()
    assert row_name("joint.q", "left_hip") == "joint.q[left_hip]"
    assert with_row("joint.q[*]", "a,b") == 'joint.q["a,b"]'
    assert unquoted(" 'a b' ") == "a b"
    assert fnmatch.fnmatchcase("l*", "l*")


@pytest.mark.parametrize("text", ["joint.q[a[1]]", 'joint.q["a]', "joint.q[a]b", 'joint.q["a"b]'])
def test_what_needs_quotes_says_so(text):
    """Brackets in a bare name, or quotes that do not close, are refused with the right form."""
    with pytest.raises(VariableError, match=r"quotes: joint\.q\[\"a\[1\], b\"\]"):
        Selector.parse(text)


# -- a robot with such names ---------------------------------------------------------------

NASTY = ("a,b", "k=1", "arm[2]", "l*", 'say "hi"', "it's")


@pytest.fixture(scope="module")
def chain():
    """A chain whose joints have names of that kind."""
    import graftsim as gs

    build = gs.model.Builder("chain")
    parent = "world"
    for i, name in enumerate(NASTY):
        build.link(
            f"link {name}",
            parent,
            joint="revolute",
            joint_name=name,
            axis=(0, 1, 0),
            origin=(0, 0, -0.2 if i else 0),
            mass=1.0,
            com=(0, 0, -0.1),
            inertia=0.01,
        )
        parent = f"link {name}"
    return build.build()


def test_values_are_set_by_such_names(chain):
    """--start reaches each joint alone."""
    for i, name in enumerate(NASTY):
        changed = setup.set_values(chain, {row_name("joint.damping", name): 0.5})
        expected = np.zeros(len(NASTY))
        expected[i] = 0.5
        assert np.array_equal(np.asarray(changed.joint.damping), expected)


def test_default_parameters_have_names_that_can_be_typed(chain):
    """What is free by default is read back, one row each, also with a component."""
    from graftsim.engine import Simulator
    from graftsim.identify.problem.parameters import Parameters, SimulatorAndSensors
    from graftsim.sensors.sensors import make_sensors

    free = setup.free_from((), None, chain)
    channels = [row_name("joint.q", name) for name in NASTY]
    place = SimulatorAndSensors(Simulator(chain), make_sensors(chain, channels))
    chosen = Parameters(place, free)
    assert list(chosen.names) == list(free)
    more = {n: Domain() for n in (row_name("link.com", f"link {x}") + ".x" for x in NASTY)}
    more |= {row_name("sensor.delay", f"joint.q:{x}"): Domain() for x in NASTY}
    assert list(Parameters(place, more).names) == list(more)
    assert [s.channel for s in place.sensors.specs] == channels


def test_such_names_are_recorded_and_grafted(chain):
    """Variables and grafts take them too."""
    import graftsim as gs

    simulator = gs.Simulator(chain, 0.01)
    text = row_name("joint.qd", "a,b")
    run = simulator.rollout(simulator.initial_state({"a,b": 0.3}), steps=3, record=(text,))
    assert run.recorded[text].shape == (3, 1)
    target = row_name("joint.tau_passive", "k=1")
    graft = gs.Graft(target, (text, row_name("joint.q", "arm[2]")), network=gs.MLP(4))
    grafted = simulator.graft(gs.Blueprint(graft), key=jax.random.key(0))
    assert grafted.grafts.grafts[0].wiring.columns == (f"{text}", row_name("joint.q", "arm[2]"))


def test_names_without_quotes_are_refused_with_the_way_to_write_them(chain):
    """A comma makes two patterns: nothing is selected, and the message shows the quotes."""
    with pytest.raises(GraftsimError, match='"a,b"'):
        setup.set_values(chain, {"joint.damping[a,b]": 1.0})
