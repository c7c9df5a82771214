"""LangChain's messages made again from a saved transcript: the very fields, no validator over them.

`transcripts` calls it by name, since it imports no framework. A file may name any class, so it is looked for only in
LangChain's own modules and in those that the program has imported itself; only messages and documents are made.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import langchain_core.messages  # noqa: F401 - its classes are looked up by name
from langchain_core.documents.base import BaseMedia
from langchain_core.messages import BaseMessage, messages_from_dict

from ..transcripts._jsonl_values import Unreadable


def made(record: Mapping[str, Any]) -> Any:
    """The message, or the document, that a record of LangChain holds.

    Raises:
        ValueError: it names no class of messages or documents, or holds no fields.
    """
    data = record.get("data")
    cls = _class(record.get("subclass"), record.get("class"))
    if cls is None or not isinstance(data, dict):
        raise Unreadable("a record of LangChain's that names no class of messages")
    return cls.model_construct(**data)


@cache
def _class(own: Any, base: Any) -> Any:
    if own is None:
        return _named(base)
    found, instead = _named(own), _named(base)
    if found is None and instead is not None:
        shown = own if _DOTTED.fullmatch(str(own)) else "a class"
        warnings.warn(
            f"{shown}: not imported, or defined inside a function; its messages come back as {instead.__name__} with "
            "all their fields: import its module before the transcript is read",
            stacklevel=2,
        )
    return instead if found is None else found


_DOTTED = re.compile(r"[A-Za-z_]\w{0,120}(\.[\w<>]{1,120}){1,12}")
"""How a class is named; anything else in its place may be a text, and is not shown."""


def _named(name: object) -> Any:
    """The class of that dotted name in a module that is imported; None where it is none that may be made."""
    path, _, last = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    found = getattr(sys.modules.get(path), last, None)
    return found if isinstance(found, type) and issubclass(found, BaseMessage | BaseMedia) else None


def from_dumps(rows: list[Mapping[str, Any]]) -> list[BaseMessage]:
    """Messages from what `messages_to_dict` gives, validated by LangChain itself.

    Raises:
        ValueError: they are none; it holds no word of them.
    """
    try:
        found: list[BaseMessage] = messages_from_dict([{"type": row.get("type"), "data": dict(row)} for row in rows])
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # it looks into tool_calls as they come
        raise ValueError(f"LangChain does not read its messages ({type(error).__name__})") from None
    return found
