from pages import ROOT

# The page shows how the example ends.
exec((ROOT / "examples/04_fit_damping.py").read_text().split("\nproblem = ")[0])


def holds():
    """What the page prints of it."""
    assert abs(result.value("joint.damping[arm]") - 0.0806) < 1e-4
