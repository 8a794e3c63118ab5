def holds():
    """The damping and the delay that the logs were made with."""
    assert all(abs(x.value - 0.1) < 0.01 for x in result.parameters)
    assert abs(delayed.parameters[0].value - 0.012) < 1e-3
    assert ends.shape == (256, 2)
