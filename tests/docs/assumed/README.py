def holds():
    """The damping that the log was made with."""
    assert all(abs(x.value - 0.1) < 0.02 for x in result.parameters)
    assert trajectory.q.shape == (1001, 2)
