"""Recordings in memory: channels with units, filters, signals. Knows no file."""
