from pages import ROOT

# The first, timid recording of the example.
exec((ROOT / "examples/12_how_sure.py").read_text().split("\nresult = ")[0])


def holds():
    """The timid recording has weak directions, and intervals with the file are wider."""
    assert result.weak and result.profiles
    assert all(x.std_with_file >= x.std for x in result.parameters if x.std_with_file > 0)
