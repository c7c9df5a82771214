"""What a patch is: where it sits, what it covers, whether it fits. Must not decide anything about reasoning."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from .._faults import fail_closed
from ._entries import Entry


def guarded(step: Callable[..., None], *arguments: Any) -> None:
    """Runs what only annotates a reply; a fault in it costs the annotation, never the reply."""
    fail_closed("litellm", lambda: step(*arguments), lambda: None)


class Hooks(Protocol):
    """What the patches call; the callback is one."""

    @property
    def wrapped(self) -> Any: ...
    def active(self) -> bool: ...
    def before_dispatch(self, fields: dict[str, Any]) -> dict[str, Any]: ...
    def before_send(self, entry: Entry, fields: dict[str, Any]) -> dict[str, Any]: ...
    def before_bridge(self, fields: dict[str, Any]) -> dict[str, Any]: ...
    def around_messages(self, call: Callable[..., Any], fields: dict[str, Any]) -> Any: ...
    def through_client(self, context: Any) -> Any: ...
    def replied(self, result: Any, logging_obj: Any) -> None: ...
    def chunk_arrived(self, stream: Any, chunk: Any) -> None: ...
    def chunk_leaves(self, stream: Any, chunk: Any) -> None: ...
    def event_leaves(self, stream: Any, event: Any) -> None: ...


Wrap = Callable[[Callable[..., Any], Hooks], Callable[..., Any]]


class Patch(NamedTuple):
    """One row."""

    place: str
    """`module:attribute` or `module:Class.attribute`."""
    covers: str
    """What is not covered without it."""
    wrap: Wrap
    fits: Callable[[Any], bool]
    """Whether what stands at the place is what this patch was written for."""
    needed: Callable[[Any], bool] = lambda found: True
    dialect: str | None = None
    """The entry point whose every request it carries."""


class Installed(NamedTuple):
    """A patch that was put in, and what stood there."""

    owner: Any
    name: str
    before: Any
    now: Any
    dialect: str | None = None


def takes(*names: str) -> Callable[[Any], bool]:
    def fits(found: Any) -> bool:
        try:
            parameters = inspect.signature(found).parameters
        except (TypeError, ValueError):
            return False
        return all(name in parameters for name in names)

    return fits


def place_of(patch: Patch) -> tuple[Any, str]:
    """The owner and the name of what a patch replaces."""
    module, _, path = patch.place.partition(":")
    *owners, name = path.split(".")
    owner = import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    return owner, name
