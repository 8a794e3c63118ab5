"""What a robot file shows of its links, beside what touches: meshes, colours, textures."""

from graftsim.viewer.looks.dress import dressed

__all__ = ["dressed"]
