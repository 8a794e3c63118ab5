"""Simulators as Gymnasium environments."""
