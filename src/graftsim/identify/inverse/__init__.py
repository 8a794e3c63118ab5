"""Inverse dynamics: measured joint forces explained by a regression that is linear in inertias."""
