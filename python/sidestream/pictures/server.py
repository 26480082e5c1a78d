"""A page about pictures, given to browsers on this machine, and what it asks for."""

from __future__ import annotations

import errno
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..error import Error
from .folder import Pictures

HERE = Path(__file__).parent
OWN_NAMES = ("127.0.0.1", "localhost", "[::1]")  # whatever names other pages have made point here
TILE = re.compile(r"/tiles/(\d{1,12})/(\d{1,2}/\d{1,7}_\d{1,7}\.png)")
Query = dict[str, str]


class PictureServer:
    """Answers what a page asks: tiles of steps, and whatever `answer` gives for other paths.

    It listens to this machine alone, and to who asks for it by a name of its own. Paths name steps and tiles by
    numbers, so that no other file can be asked for.
    """

    patience_s = 60.0  # of silence, after which a connection is closed

    def __init__(self, pictures: Pictures) -> None:
        self.pictures = pictures

    def answer(self, path: str, query: Query) -> tuple[str, bytes] | None:
        """The type and the bytes for a path; nothing where there is none."""
        raise NotImplementedError

    def tile(self, path: str) -> bytes | None:
        """The bytes of a tile; nothing where there is none."""
        asked = TILE.fullmatch(path)
        if asked is None:
            return None
        try:
            return (Path(self.pictures.about(int(asked[1]))["tiles"]) / asked[2]).read_bytes()
        except (Error, OSError):
            return None

    def about(self, step: int) -> dict[str, Any]:
        """What a page has to know of a step; `tiles` is a path here."""
        return {**self.pictures.about(step), "tiles": f"/tiles/{step}/"}

    @contextmanager
    def serving(self, port: int) -> Iterator[str]:
        """Serves until the end of the block; gives the address of the page. Port 0: any that is free."""
        server = _listen(self, port)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            self.close()
            server.shutdown()
            server.server_close()

    def close(self) -> None:
        """Lets go of who waits for an answer."""


def page(name: str, **values: Any) -> tuple[str, bytes]:
    """The page `name`, with the viewer in it and `values` as the constant `given`."""
    text = (HERE / name).read_text()
    text = text.replace("/*VIEWER*/", (HERE / "viewer.js").read_text()).replace("/*GIVEN*/null", json.dumps(values))
    return "text/html; charset=utf-8", text.encode()


def as_json(value: Any) -> tuple[str, bytes]:
    """An answer for programs."""
    return "application/json", json.dumps(value).encode()


def _host(header: str) -> str:
    """Without the port."""
    return re.sub(r":\d*$", "", header.strip().lower())


def _listen(pictures: PictureServer, port: int) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = pictures.patience_s

        def do_GET(self) -> None:  # noqa: N802, D102 (the name is that of http.server)
            if _host(self.headers.get("Host", "localhost")) not in OWN_NAMES:
                self._send(403, "text/plain; charset=utf-8", b"ask by the name localhost", "no-store")
                return
            asked = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(asked.query).items()}
            tile = pictures.tile(asked.path)
            found = ("image/png", tile) if tile is not None else pictures.answer(asked.path, query)
            kind, body = found or ("text/plain; charset=utf-8", b"there is nothing here")
            self._send(200 if found else 404, kind, body, "max-age=60" if tile is not None else "no-store")

        def _send(self, code: int, kind: str, body: bytes, keeping: str) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", keeping)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

        def handle(self) -> None:
            with suppress(ConnectionError):  # the page was closed
                super().handle()

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    try:
        return Server(("127.0.0.1", port), Handler)
    except OSError as problem:
        hint = (
            "another program has it; leave `--port` out for any that is free"
            if problem.errno == errno.EADDRINUSE
            else ""
        )
        raise Error(f"nothing can listen on port {port}: {problem.strerror}", hint=hint) from problem
