"""A port to serve on: tried before a viewer starts, which else takes the next one in silence."""

from __future__ import annotations

import contextlib
import io
import logging
import socket
from typing import Any

from graftsim.errors import GraftsimError

HIGHEST = 65535


class PortError(GraftsimError):
    """A viewer cannot be served at an address. The message says why and what else could be."""


def check_port(host: str, port: int) -> None:
    """Raise PortError unless a server may listen there; port 0 stands for any free one."""
    if not 0 <= port <= HIGHEST:
        raise PortError(f"Port {port}: a whole number from 1 to {HIGHEST} is one, 0 takes any.")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise PortError(
            f"Host '{host}' is no address of this machine ({error.strerror}). 127.0.0.1 serves "
            "this machine alone, 0.0.0.0 whoever can reach it."
        ) from None
    family, kind, protocol, _, address = found[0]
    with socket.socket(family, kind, protocol) as tried:
        # As the server does: a port that a closed connection keeps for a while is free.
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(address)
        except OSError as error:
            raise PortError(
                f"The viewer cannot be served at {host}:{port}: {error.strerror}. Choose another "
                "port, --port 8081 or port=8081; 0 takes any that is free."
            ) from None


def serve(host: str, port: int, name: str) -> Any:
    """A viser server at this port and no other. Raises PortError."""
    import viser

    check_port(host, port)
    logging.getLogger("websockets.server").addFilter(_worth_saying)
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=host, port=port, label=name, verbose=False)
        if port and server.get_port() != port:
            # Someone took it in between, and viser went on to the next.
            server.stop()
            raise PortError(f"Port {port} of {host} was taken just now. Choose another, or 0.")
    return server


def _worth_saying(record: logging.LogRecord) -> bool:
    """Browsers open connections ahead and close them unused, which is no failure."""
    return "opening handshake failed" not in record.getMessage()
