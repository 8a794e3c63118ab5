"""What a fit was not asked for and may be wrong: how much that would change its answer."""
