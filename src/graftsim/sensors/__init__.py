"""Sensors: what each kind reads of a motion, how readings are compared, how noisy they are."""
