from pages import ROOT

# The cart-pole of the example.
exec((ROOT / "examples/14_swing_up.py").read_text().split("\n\n\ndef effort")[0])
machine = simulator


def holds():
    """The pole is up in the end, and stays up."""
    assert abs(plan.states.q[-1, 1]) - np.pi < 0.05
    assert abs(abs(done.states.q[-1, 1]) - np.pi) < 0.1
