"""Robot files made wrong: read or refused with a message, and simulated if read."""

import pytest
from harness import cases, run
from hypothesis import given, strategies as st
from mutations import flipped, xml
from right_files import MJCF, URDF

pytestmark = pytest.mark.slow
TEXTS = {"arm.urdf": URDF, "arm.xml": MJCF}
FLAGS = st.sampled_from(
    [[], ["--json"], ["--parameters"], ["--ground", "0"], ["--repair-inertia"], ["--base", "free"]]
)


@pytest.mark.parametrize("name", TEXTS)
def test_inspect_of_changed_texts(place, clock, name):
    """Attributes, numbers, elements and letters that are missing, doubled or odd."""

    @cases(400)
    @given(text=xml(TEXTS[name]), flags=FLAGS)
    def look(text, flags):
        if not clock.up:
            (place / name).write_text(text, encoding="utf-8", errors="surrogatepass")
            run("inspect", name, *flags)

    look()


@pytest.mark.parametrize("name", TEXTS)
def test_inspect_of_changed_bytes(place, clock, name):
    """Files cut, with bytes flipped, lost or added."""

    @cases(200)
    @given(content=flipped(TEXTS[name].encode()))
    def look(content):
        if not clock.up:
            (place / name).write_bytes(content)
            run("inspect", name)

    look()


@pytest.mark.parametrize("name", TEXTS)
def test_simulation_of_changed_texts(place, clock, name):
    """What is read moves for a few steps, or is refused."""

    @cases(40)
    @given(text=xml(TEXTS[name]), contact=st.sampled_from(["none", "none", "spring-damper"]))
    def move(text, contact):
        if not clock.up:
            (place / name).write_text(text, encoding="utf-8", errors="surrogatepass")
            run("simulate", name, "--seconds", "0.01", "--contact", contact, "--out", "out.csv")

    move()
