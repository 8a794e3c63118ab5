"""The version, in a file that every layer may read."""

__version__ = "0.1.0"
