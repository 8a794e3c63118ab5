"""What notebooks show: numbers of the object, every name escaped, and well-formed."""

from xml.etree import ElementTree as ET

import jax
import pytest
from synthetic_result import result, simulators

import graftsim as gs
from graftsim.report.notebook import MOST_ROWS, table

NAMES = ("<pendulum>", '<"left">')


def parsed(shown):
    """The elements that a notebook is handed."""
    return ET.fromstring(shown._repr_html_())


def words(shown):
    """Its text, without styles."""
    tree = parsed(shown)
    return " ".join(x.strip() for x in tree.itertext() if x.strip() and "{" not in x)


@pytest.fixture(scope="module")
def recording():
    """An angle under a name with brackets of HTML."""
    simulator = simulators()[2]
    run = simulator.rollout(simulator.initial_state([0.5, 0.2]), steps=300)
    columns = {"time": run.time, "joint.q[shoulder]": run.q[:, 0]}
    columns['joint.q[elbow <"left"> & co]'] = run.q[:, 1]
    return gs.recording_from_arrays(columns, name="<b>run</b>")


def test_a_model_shows_its_links_and_joints():
    """Masses, damping and names; none of them becomes an element."""
    text = words(simulators()[1].model)
    assert "double <pendulum> & friends" in text and 'elbow <"left"> & co' in text
    assert "1.03" in text and "0.0503" in text
    assert not parsed(simulators()[1].model).findall(".//pendulum")


def test_a_simulator_shows_its_step_and_its_model():
    """Step, method, law."""
    text = words(simulators()[0])
    assert "0.01 s" in text and "SemiImplicitEuler" in text and "shoulder" in text


def test_a_recording_shows_its_channels(recording):
    """A row for each channel."""
    rows = parsed(recording).findall(".//tbody/tr")
    assert [row[0].text for row in rows] == list(recording.channels)
    assert [row[3].text for row in rows] == ["100 Hz"] * 2


def test_a_problem_shows_what_is_free(recording):
    """Start, bounds and unit of each number, and what is held out."""
    free = {"joint.damping[*]": gs.Bounds(0.001, 1.0)}
    problem = gs.Problem(simulators()[0], recording, free)
    rows = [[cell.text for cell in row] for row in parsed(problem).findall(".//tbody/tr")]
    assert rows[0] == ["joint.damping[shoulder]", "0.01", "0.001", "1", "N m s/rad"]
    assert [row[2] for row in rows[2:4]] == ["fitted", "held out"]


def test_a_result_shows_values_intervals_and_curves():
    """Each parameter with its interval and drawing; the worst channels as pictures."""
    shown = result()
    tree, text = parsed(shown), words(shown)
    assert all(row.name in text for row in shown.parameters)
    assert len(tree.findall(".//svg[@class='bar']")) == len(shown.parameters)
    assert len(tree.findall(".//svg[@class='series']")) == 2
    assert all(row.channel in text for row in shown.errors)


def test_traced_and_batched_numbers_are_left_to_text():
    """Under jit and vmap there are no plain numbers to show."""
    seen = []
    model = simulators()[0].model
    jax.jit(lambda m: seen.append(m._repr_html_()))(model)
    batch = jax.vmap(lambda m, _: m, in_axes=(None, 0))(model, jax.numpy.zeros(3))
    assert seen == [None] and batch._repr_html_() is None


def test_long_tables_are_cut():
    """What is left out is counted."""
    text = table("", ("a",), [(str(i),) for i in range(MOST_ROWS + 7)])
    assert text.count("<td>") == MOST_ROWS and "and 7 more rows" in text
