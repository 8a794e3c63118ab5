"""The examples run, and print what must be right; the tables and links of the pages hold."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import graftsim

ROOT = Path(__file__).parent.parent
# Compiling takes most of the time of an example, and the examples check no speed.
FLAGS = "--xla_backend_optimization_level=0"
ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(Path(graftsim.__file__).parent.parent),
    "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}".strip(),
}


def run(*command: str) -> str:
    """What a script prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def number(text: str, pattern: str) -> float:
    """The number that follows a pattern."""
    found = re.search(pattern + r"\s*([-+]?[\d.]+(?:e[-+]?\d+)?)", text)
    assert found is not None, f"{pattern} is not in:\n{text}"
    return float(found[1])


def test_first_simulation_keeps_energy():
    """A fourth-order step of 5 ms keeps the energy of a swing to better than a microjoule."""
    assert number(run("examples/01_first_simulation.py"), "energy drift:") < 1e-6


def test_gradients_equal_differences():
    """Gradients in masses and length are those of central differences."""
    text = run("examples/02_gradients.py")
    assert number(text, "largest relative error:") < 1e-6
    # A longer upper link lowers the tip.
    assert number(text, r"length\s+gradient") < 0


def test_recorded_variables_add_up():
    """The recorded torques satisfy the law that the engine computes them by."""
    text = run("examples/03_record_variables.py")
    assert number(text, "= total, to") < 1e-12
    assert number(text, r"tau_friction\[arm\]\s+-[\d.]+ to") == pytest.approx(0.1, abs=1e-3)
    assert number(text, r"actuator.force\s+-[\d.]+ to") == 0.5


def test_fit_finds_damping():
    """The true damping lies near the estimate, and the held-out error falls to the noise."""
    text = run("examples/04_fit_damping.py")
    assert number(text, "0.01 ->") == pytest.approx(0.08, rel=0.03)
    assert number(text, r"held-out error [\d.]+ ->") < 0.003
    assert "converged" in text


@pytest.mark.slow
def test_torque_driven_arm_finds_friction_and_armature():
    """All four numbers come out within three standard deviations and 5 %."""
    text = run("examples/05_torque_driven_arm.py")
    rows = re.findall(r"-> ([\d.]+) \+- ([\d.]+), true ([\d.]+)", text)
    assert len(rows) == 4
    for value, std, true in (map(float, row) for row in rows):
        assert abs(value - true) < max(3 * std, 1e-4)
        assert value == pytest.approx(true, rel=0.05)


def test_loaded_robot():
    """Pose and Jacobian are those of a planar arm of 0.4 m and 0.3 m at 0.3 and -0.8 rad."""
    text = run("examples/06_load_robot.py")
    assert "tool at [-0.0256  0.      0.6454] m" in text
    assert "[0.2562 1.4383] N m" in text
    assert "limits of travel are stored but not enforced" in text


@pytest.mark.slow
def test_how_sure():
    """Nothing speaks against the right model, the truth lies in the intervals, and the planned
    experiment would teach several times more.
    """
    text = run("examples/12_how_sure.py")
    assert "nothing in these data speaks against the model" in text
    for name, true in (("friction", 0.3), ("damping", 0.1)):
        low, high = re.findall(rf"joint.{name}\[arm\] +[\d.]+  \[([\d.]+), ([\d.]+)\]", text)[0]
        assert float(low) < true < float(high)
    before, after = re.findall(r"joint.damping\[arm\] +known to ([\d.]+) now, to ([\d.]+)", text)[0]
    assert float(after) < 0.3 * float(before)


@pytest.mark.slow
def test_written_robot_is_the_fitted_one():
    """The file has the fitted damping, and URDF says that it cannot express armature."""
    text = run("examples/07_write_fitted_robot.py")
    assert number(text, "damping in the file") == pytest.approx(0.08, rel=1e-4)
    assert number(text, "differs by") < 1e-12
    assert "URDF refuses: joint arm: armature 0.01." in text


@pytest.mark.slow
def test_policy_balances():
    """Nearly all new starts are caught, a small network learns the policy, environments agree."""
    text = run("examples/15_policy.py")
    assert number(text, "upright after 8 s:") >= 250
    assert number(text, "R2 =") > 0.98
    assert number(text, "environments:") > 0.99


def test_every_example_is_listed_and_tested():
    """The list of examples and this file know them all."""
    listed, tested = (ROOT / "examples/README.md").read_text(), Path(__file__).read_text()
    for script in (ROOT / "examples").glob("[0-9]*.py"):
        assert f"`{script.name}`" in listed
        assert f"examples/{script.name}" in tested


def test_many_simulations():
    """Lanes of a kernel with their gradients: small swings are nearly linear."""
    text = run("examples/08_many_simulations.py")
    assert "released at 0.10 rad: -0.0773 rad after 1 s, slope -0.773" in text


def test_discovery_finds_friction():
    """One effect is found, on the joint's own speed, and its size is that of the machine."""
    text = run("examples/10_discover.py")
    assert "joint.tau_passive[pivot] lacks an effect of joint.qd[pivot]" in text
    assert number(text, "coefficient of coulomb:") == pytest.approx(-0.3, rel=0.05)


def test_graft_takes_energy_and_comes_back():
    """What a dissipative graft takes is what the arm loses, and a file gives the same motion."""
    text = run("examples/09_graft.py")
    assert number(text, "its power is at most") <= 0
    work = number(text, "its work")
    assert work < -0.1
    assert number(text, r"with +the graft the energy changes by") == pytest.approx(work, rel=0.01)
    assert abs(number(text, r"without the graft the energy changes by")) < 1e-3
    assert number(text, "moves differently by") == 0


def test_tables_of_the_docs_are_those_of_the_code():
    """docs/gen_tables.py has been run since the catalogues changed."""
    run("docs/gen_tables.py", "--check")


def test_api_page_has_every_public_name():
    """Each name of `import graftsim` has an entry, or the page says where it stands."""
    public = set(re.findall(r"(\w+) as \1\b", (ROOT / "src/graftsim/__init__.pyi").read_text()))
    page = (ROOT / "docs/api.md").read_text()
    said = set(re.findall(r"^::: [\w.]+\.(\w+)$", page, re.MULTILINE))
    said |= set(re.findall(r"`gs\.(\w+)`", page)) | {"contact", "model"}
    assert public - said == set()


def test_links_between_pages():
    """Every link leads to a page, and every anchor to a heading of it."""
    for page in (ROOT / "docs").glob("*.md"):
        for target, anchor in re.findall(r"\]\(([\w/]+\.md)?(?:#([\w-]+))?\)", page.read_text()):
            other = ROOT / "docs" / target if target else page
            assert other.is_file(), f"{page.name}: {target}"
            headings = re.findall(r"^#+ (.*)$", other.read_text(), re.MULTILINE)
            known = {re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-") for h in headings}
            assert not anchor or anchor in known, f"{page.name}: {target}#{anchor}"


def test_run_file_of_the_docs_is_read(tmp_path):
    """The annotated run file has only keys that exist, of the right types."""
    from graftsim.cli.fit_options import read_run_file

    text = re.search(r"```toml\n(.*?)```", (ROOT / "docs/cli.md").read_text(), re.DOTALL)
    assert text is not None
    tomllib.loads(text[1])
    path = tmp_path / "run.toml"
    path.write_text(text[1])
    options, tables = read_run_file(path)
    assert options.simulation.substeps == 10
    assert set(tables) == {"start", "free", "columns", "noise", "sensors"}


@pytest.mark.slow
def test_closed_ankle_finds_the_length_of_a_rod():
    """Loops are closed to rounding, and the rod is found to a hundredth of a millimetre."""
    text = run("examples/13_closed_ankle.py")
    assert number(text, "opening of the loops:") < 1e-12
    assert number(text, "length of the rod:") == pytest.approx(245, abs=0.01)


@pytest.mark.long
def test_a_pole_swings_up_and_is_held():
    """Within a degree of upright, with no more force than the motor has."""
    text = run("examples/14_swing_up.py")
    assert text.startswith("converged")
    assert number(text, "greatest force") <= 10
    assert abs(number(text, "the pole")) == pytest.approx(180, abs=0.5)
    assert abs(number(text, "control the pole is")) == pytest.approx(180, abs=1)


@pytest.mark.long
def test_torch_learns_velocities_by_physics():
    """They were never given; places after collisions were."""
    pytest.importorskip("torch")
    text = run("examples/16_torch_layer.py")
    errors = re.findall(r"end (\d+) mm off, velocities ([\d.]+) m/s", text)
    (_, first), (end, last) = errors
    assert float(end) < number(text, "without collisions they would end") / 2
    assert float(last) < 0.1 * float(first)


@pytest.mark.long
def test_a_graft_acts_in_mujoco():
    """As in our own step, and no longer than asked for."""
    text = run("examples/17_mujoco_host.py")
    assert number(text, "the drag moves it by") > 1
    assert number(text, "it ends beside ours by") < 1e-9
    assert "after the block as before it: True" in text


@pytest.mark.long
def test_a_network_throws_by_the_engine():
    """Thirty times nearer than at first."""
    text = run("examples/18_engine_in_a_network.py")
    before, after = re.findall(r"by (\d+) cm before, ([\d.]+) cm after", text)[0]
    assert float(after) < float(before) / 30


def test_contact_has_the_slopes_of_a_bounce():
    """By the height it is dropped from and by restitution, beside the closed form."""
    text = run("examples/11_contact.py")
    for name in ("drop height", "restitution"):
        found = number(text, rf"d height / d {name}")
        assert found == pytest.approx(number(text, rf"{name} .*exact"), rel=0.01)
