from pages import ROOT

# The cart-pole of the example.
exec((ROOT / "examples/14_swing_up.py").read_text().split("\n\n\ndef effort")[0])


class Machine:
    """A cart-pole that takes commands for a second."""

    def __init__(self, state: gs.State) -> None:
        self.state, self.sent = state, 0

    def __call__(self, state: gs.State, u: jax.Array) -> gs.State:
        """What a command does in a step."""
        return simulator.step(state, u)

    @property
    def running(self) -> bool:
        """Until its time is up."""
        return self.sent < 50

    def send(self, u: jax.Array) -> gs.State:
        """Takes a command; the state a step later."""
        self.state, self.sent = self(self.state, u), self.sent + 1
        return self.state


state = simulator.initial_state(q=[0.0, 2.9])
machine = Machine(state)


def holds():
    """The pole is up in the end, and stays up; in a loop of one's own it gets up, too."""
    assert abs(abs(swing.states.q[-1, 1]) - np.pi) < 0.05
    assert abs(abs(done.states.q[-1, 1]) - np.pi) < 0.1
    assert machine.sent == 50 and abs(state.q[1] - np.pi) < 0.1
