"""URDF files written by tests, line by line, and the check that one is refused."""

import pytest

from graftsim.errors import FileError
from graftsim.io.load import load

BODY = (
    '<inertial><origin xyz="0.1 0 0.2"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial>'
)


def link(name, body=BODY):
    return f'<link name="{name}">{body}</link>'


def joint(name, parent, child, kind="continuous", body='<axis xyz="0 0 1"/>'):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f"{body}</joint>"
    )


def write(tmp_path, *lines, name="robot.urdf"):
    """Line 1 is <robot>, the lines given are 2, 3, ..."""
    path = tmp_path / name
    path.write_text("\n".join(['<robot name="test">', *lines, "</robot>"]))
    return path


def refused(path, *parts, **options):
    """The file is refused with a message that holds all parts; returns the message."""
    with pytest.raises(FileError) as caught:
        load(path, **options)
    message = str(caught.value)
    for part in (str(path), *parts):
        assert part in message, message
    return message
