"""Distributions over parameters: NUTS, mixtures, their calibration."""
