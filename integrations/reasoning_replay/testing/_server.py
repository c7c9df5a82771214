"""A loopback HTTP server in a thread: bytes in, an Answer out. It knows no host and no law.

Each server has its own port, so that each strict host is a host of its own. It starts in some tens of milliseconds.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route
except ImportError as error:
    raise ImportError(
        "reasoning_replay.testing needs starlette and uvicorn; install them with: pip install 'reasoning-replay[testing]'"
    ) from error

START_SECONDS: Final = 20.0
"""A guess, generous on a busy machine; a start takes about 0.05 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back over the wire."""

    status: int = 200
    body: bytes = b""
    events: Sequence[str | bytes] | None = None
    """The pieces of a stream; None: the body is the whole answer."""
    media: str = "text/event-stream"
    """The media type of a stream."""
    broken: bool = False
    """The connection breaks off after the last event."""


class Cut(Exception):
    """Raised inside a stream to break the connection."""


class Server:
    """A running server. Mutable: it starts and stops once."""

    def __init__(
        self, answer: Callable[[str, Mapping[str, str], bytes], Answer], fault: Callable[[Exception], Answer]
    ) -> None:
        self._answer, self._fault = answer, fault
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._done: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name=f"strict-host-{self.port}", daemon=True)

    def start(self) -> None:
        """Return when the port answers."""
        self._thread.start()
        if not self._ready.wait(START_SECONDS):
            raise RuntimeError(f"127.0.0.1:{self.port}: the server did not start within {START_SECONDS} seconds")

    def stop(self) -> None:
        """Close the port and end the thread. Takes 0.1 s, which uvicorn gives its connections."""
        self.begin_stop()
        if self._thread.is_alive():
            self._thread.join(START_SECONDS)
        self._socket.close()

    def begin_stop(self) -> None:
        """Ask for the end without waiting: many servers stop together faster."""
        loop, self._loop = self._loop, None
        if loop is not None and self._done is not None:
            loop.call_soon_threadsafe(self._done.set)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._done = asyncio.get_running_loop(), asyncio.Event()
        routes = [Route("/{path:path}", self._endpoint, methods=["GET", "POST"])]
        app = Starlette(routes=routes, exception_handlers={Exception: self._failed})
        config = uvicorn.Config(app, log_config=None, log_level="critical", access_log=False, lifespan="off", ws="none",
                                http="h11", timeout_keep_alive=60)  # fmt: skip
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[self._socket])
        self._ready.set()
        await self._done.wait()
        server.force_exit = True  # open keep-alive connections are not waited for
        await server.shutdown(sockets=[self._socket])

    async def _endpoint(self, request: Request) -> Response:
        body = await request.body()
        answer = self._answer(request.url.path, dict(request.headers), body)
        if answer.events is None:
            return Response(answer.body, answer.status, media_type="application/json")
        return StreamingResponse(self._events(answer), answer.status, media_type=answer.media)

    async def _failed(self, request: Request, error: Exception) -> Response:
        answer = Answer(status=500) if isinstance(error, Cut) else self._fault(error)
        return Response(answer.body, answer.status, media_type="application/json")

    @staticmethod
    async def _events(answer: Answer) -> AsyncIterator[str | bytes]:
        for event in answer.events or ():
            yield event
        if answer.broken:
            raise Cut
