def holds():
    """What the page says of its training is so."""
    assert trained.history[0].cost / trained.cost > 2
    assert cloned.r_squared[0] > 0.95 and reward.shape == (64,)
