from pages import ROOT

# The first, timid recording of the example.
exec((ROOT / "examples/12_how_sure.py").read_text().split("\nresult = ")[0])


def holds():
    """Replicas as many as asked for, and intervals with the file are wider."""
    assert len(result.replicas) == 200
    assert all(x.std_with_file >= x.std for x in result.parameters if x.std_with_file > 0)
