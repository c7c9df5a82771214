"""Streams that are closed when the caller leaves: generators have a `close`, what a user's class gives may not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any


@contextmanager
def closing(chunks: Iterator[Any]) -> Generator[Iterator[Any]]:
    """`contextlib.closing`, also for an iterator that cannot be closed."""
    try:
        yield chunks
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()


@asynccontextmanager
async def aclosing(chunks: AsyncIterator[Any]) -> AsyncGenerator[AsyncIterator[Any]]:
    """`contextlib.aclosing`, also for an iterator that cannot be closed."""
    try:
        yield chunks
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()
