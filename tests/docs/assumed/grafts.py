from pathlib import Path


def holds():
    """The page writes weights and networks."""
    assert Path("friction.safetensors").exists() and Path("onnx").exists()
