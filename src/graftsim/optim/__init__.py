"""Optimisers: pure functions of parameters, with no notion of a robot."""
