"""A way between a reader and a run on which somebody listens."""

from __future__ import annotations

import socket
import threading


class Wire:
    """Passes on what a reader and a run say to each other.

    Attributes:
        heard: all of it.
        said_first: by the reader, on its first connection.
    """

    def __init__(self, port: int) -> None:
        self.heard, self.said_first = bytearray(), bytearray()
        self._port = port
        self._server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """Where the reader is to go instead."""
        return int(self._server.getsockname()[1])

    def _accept(self) -> None:
        said = self.said_first
        while True:
            try:
                ours, _ = self._server.accept()
            except OSError:
                return
            theirs = socket.create_connection(("127.0.0.1", self._port))
            for one, other, by_reader in ((ours, theirs, said), (theirs, ours, bytearray())):
                threading.Thread(target=self._pass, args=(one, other, by_reader), daemon=True).start()
            said = bytearray()

    def _pass(self, one: socket.socket, other: socket.socket, said: bytearray) -> None:
        try:
            while part := one.recv(1 << 16):
                self.heard += part
                said += part
                other.sendall(part)
        except OSError:
            return
