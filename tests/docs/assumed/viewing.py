from pathlib import Path


def holds():
    """The replay was written."""
    assert Path("seen.html").stat().st_size > 1000
