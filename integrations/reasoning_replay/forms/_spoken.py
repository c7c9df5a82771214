"""What a model reads of a message besides reasoning: texts, calls, results and media, one reader for all forms.

For counting. Reasoning is what a form's `view` says, so it is left out here wherever it may stand; ids, marks, cache
points and the names of types are nothing that is read. A part that nobody knows is told as JSON, without what looks
like data. Most messages are one text, or calls of the usual keys: those are looked at first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from . import PSF, as_mapping, canonical, plain
from ._carriers import EXTRAS, SEALED, STRINGS, block_code
from ._inline import inline_in
from ._langchain_blocks import KWARGS, reasoning_in
from ._langchain_calls import is_call


class Spoken(NamedTuple):
    """What is read of one message."""

    role: str
    """In the words of chat hosts; `tool` for a message that is the result of a call."""
    texts: tuple[str, ...] = ()
    calls: tuple[tuple[str, Any], ...] = ()
    """Name and arguments, as they came: JSON text or a value."""
    results: tuple[tuple[str, ...], ...] = ()
    """The texts of every result of a call."""
    media: tuple[str, ...] = ()
    """Kinds, one an entry: `image`, `audio`, `video` or `file`."""


def spoken(form: str, message: Mapping[str, Any]) -> Spoken:
    """What is read of a message of that form."""
    return _READERS[form](message)


class _Heard:
    """What was found so far. Mutable."""

    __slots__ = ("_asks", "calls", "media", "results", "texts")

    def __init__(self, role: str = "") -> None:
        self._asks = role in _ASKING
        self.texts: list[str] = []
        self.calls: list[tuple[str, Any]] = []
        self.results: list[tuple[str, ...]] = []
        self.media: list[str] = []

    def all(self, role: str) -> Spoken:
        return Spoken(role, tuple(self.texts), tuple(self.calls), tuple(self.results), tuple(self.media))

    def call(self, name: object, arguments: object) -> None:
        self.calls.append((name if isinstance(name, str) else "", arguments))

    def result(self, content: Any) -> None:
        """The texts of a result; its pictures count as media of the message."""
        inside = _Heard()
        inside.content(content)
        self.media += inside.media
        self.results.append(tuple(inside.texts))

    def content(self, content: Any) -> None:
        """A text, a list of parts, or a value."""
        if isinstance(content, str):
            if content != "":
                self.texts.append(content)
        elif isinstance(content, list | tuple):
            for part in content:
                self.part(plain(part))
        elif content is not None:
            self.part(plain(content))

    def part(self, part: Any) -> None:
        """One part of a content, in any form."""
        if not isinstance(part, Mapping):
            self._text(part if isinstance(part, str) else canonical(part))
            return
        if _is_hidden(part):
            return
        text = part.get("text")
        if isinstance(text, str):
            self._text(text)
            return
        for key, read in _BY_KEY.items():
            if part.get(key) is not None:
                read(self, plain(part[key]))
                return
        kind = str(part.get("type"))
        if kind in _CALLS:
            self.call(part.get("name"), part.get("input", part.get("arguments", part.get("args"))))
        elif kind.endswith(_RESULTS):
            self.result(part.get("content", part.get("output")))
        elif kind in _MEDIA:
            self.medium(_MEDIA[kind], part)
        else:
            self.content(_other(part))

    def _text(self, text: str) -> None:
        inline = None if self._asks else inline_in(text)
        self.content(text if inline is None else inline.rest)

    def medium(self, kind: str, part: Mapping[str, Any]) -> None:
        """A picture, a sound, a file; a document whose source is a text is that text."""
        source = _fields(part.get("source"))
        text = source.get("data") if source.get("type") == "text" else source.get("content")
        if isinstance(text, str | list):
            self.content(text)
            return
        named = str(source.get("media_type") or part.get("mime_type") or part.get("mimeType") or "")
        self.media.append(_MEDIA.get(named.partition("/")[0], kind))


_ASKING = frozenset({"user", "system", "developer"})
"""Whose tags are words like any other."""
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use", "function_call", "custom_tool_call", "mcp_call"})
_RESULTS = ("tool_result", "_output")
_MEDIA = {
    **dict.fromkeys(("image", "image_url", "input_image", "image_file"), "image"),
    **dict.fromkeys(("audio", "input_audio", "audio_url"), "audio"),
    **dict.fromkeys(("video", "video_url", "input_video"), "video"),
    **dict.fromkeys(("file", "input_file", "document", "document_url", "media", "container_upload"), "file"),
}
"""Type of a part, or the first word of a media type → the kind."""


def _is_hidden(part: Mapping[str, Any]) -> bool:
    """Whether nothing of a part is visible: reasoning in any form, a cache point."""
    if not isinstance(part.get("type"), str | None):
        return False
    if block_code(part) is not None or part.get("thought") is True or reasoning_in(part) is not None:
        return True
    return "reasoningContent" in part or "cachePoint" in part


def _fields(value: Any) -> Mapping[str, Any]:
    """The fields of a value; none of what is no mapping."""
    return as_mapping(value) or {}


def _converse_answer(heard: _Heard, answer: Any) -> None:
    heard.result(_fields(answer).get("content"))


def _gemini_answer(heard: _Heard, answer: Any) -> None:
    inside, fields = _Heard(), _fields(answer)
    inside.content(canonical(fields.get("response")))
    inside.content(fields.get("parts"))
    heard.media += inside.media
    heard.results.append((str(fields.get("name") or ""), *inside.texts))


def _inline_data(heard: _Heard, data: Any) -> None:
    fields = _fields(data)
    named = str(fields.get("mimeType") or fields.get("mime_type") or "")
    heard.media.append(_MEDIA.get(named.partition("/")[0], "file"))


def _medium(kind: str) -> Callable[[_Heard, Any], None]:
    return lambda heard, value: heard.media.append(kind)


_BY_KEY: dict[str, Callable[[_Heard, Any], None]] = {
    "toolUse": lambda heard, call: heard.call(_fields(call).get("name"), _fields(call).get("input")),
    "toolResult": _converse_answer,
    **dict.fromkeys(
        ("functionCall", "function_call"),
        lambda heard, call: heard.call(_fields(call).get("name"), _fields(call).get("args")),
    ),
    **dict.fromkeys(("functionResponse", "function_response"), _gemini_answer),
    **dict.fromkeys(("inlineData", "inline_data", "fileData", "file_data"), _inline_data),
    **{kind: _medium(kind) for kind in ("image", "video", "audio")},
    "document": lambda heard, value: heard.medium("file", _fields(value)),
    "json": lambda heard, value: heard.content(canonical(value)),
    "refusal": lambda heard, value: heard.content(value),
}
"""Key of a part that says what it is, in the forms whose parts have no type."""
_NOT_READ = frozenset({"type", "id", "cache_control", "status", "annotations", PSF, *EXTRAS})


def _other(part: Mapping[str, Any]) -> str:
    """A part that nobody knows, as JSON."""
    return canonical(_without_data({key: value for key, value in part.items() if key not in _NOT_READ}))


def _without_data(value: Any) -> Any:
    """The value without reasoning at any depth, and without long words: data in base64, or something sealed."""
    if isinstance(value, str):
        return "" if len(value) >= _LONG and " " not in value and "\n" not in value[:_LONG] else value
    if isinstance(value, Mapping):
        return {str(key): _without_data(each) for key, each in value.items() if not _is_secret(key, each)}
    if not isinstance(value, list | tuple):
        return value
    return [_without_data(each) for each in value if not (isinstance(each, Mapping) and _is_hidden(each))]


def _is_secret(key: Any, value: Any) -> bool:
    """Whether nothing under a key in an unknown part is for anybody to read."""
    sealed = key in _SECRET or str(key).startswith("encrypted")
    return sealed or (isinstance(value, Mapping) and _is_hidden(value))


_SECRET = frozenset({*STRINGS, *SEALED, "thoughtSignature", "thought", "reasoningContent", "redactedContent"})
"""Keys in the parts of every form; one that begins with `encrypted` is sealed whatever its end."""


_LONG = 128
"""Characters without white space from which a word in an unknown part is taken for data (a guess, 2026-11)."""


def _usual_calls(calls: Any) -> list[tuple[str, Any]]:
    """Calls of chat hosts: name and arguments under `function`, or of a custom tool."""
    found: list[tuple[str, Any]] = []
    for given in calls if isinstance(calls, list | tuple) else ():
        try:
            if given.__class__ is dict and (function := given["function"]).__class__ is dict:
                name = function["name"]
                found.append((name if name.__class__ is str else "", function["arguments"]))
                continue
        except KeyError:
            pass
        found += _odd_call(plain(given))
    return found


def _odd_call(call: Any) -> list[tuple[str, Any]]:
    """A call whose keys are not the usual ones."""
    if not isinstance(call, Mapping):
        return []
    inside = as_mapping(call.get("function")) or as_mapping(call.get("custom")) or call
    name = inside.get("name")
    arguments = next((inside[key] for key in _ARGUMENTS if inside.get(key) is not None), None)
    return [(name if isinstance(name, str) else "", arguments)]


_ARGUMENTS = ("arguments", "args", "input")


def _chat(message: Mapping[str, Any]) -> Spoken:
    role, content = str(message.get("role")), message.get("content")
    if content.__class__ is str and role != "assistant" and "name" not in message and "images" not in message:
        return Spoken(role, (), (), ((content,),)) if role in _ANSWERS else Spoken(role, (content,) if content else ())
    heard = _Heard(role)
    if role in _ANSWERS:
        heard.result(content)
    else:
        inline = inline_in(content) if role == "assistant" else None
        heard.content(content if inline is None else inline.rest)
    if role != "assistant":
        heard.content(message.get("name") if role not in _ANSWERS else None)
    else:
        heard.calls += _usual_calls(message.get("tool_calls"))
        function = as_mapping(message.get("function_call"))
        heard.calls += _usual_calls([function] if function is not None and not heard.calls else ())
        heard.content(message.get("refusal"))
    heard.media += ["audio"] * (message.get("audio") is not None)
    pictures = message.get("images")
    heard.media += ["image"] * (len(pictures) if isinstance(pictures, list) else 0)
    return heard.all("tool" if role in _ANSWERS else role)


_ANSWERS = ("tool", "function")


def _langchain(row: Mapping[str, Any]) -> Spoken:
    kind, content = str(row.get("type")), row.get("content")
    role = _LANGCHAIN_ROLES.get(kind, str(row.get("role") or kind))
    heard = _Heard(role)
    if role == "tool":
        heard.result(content)
        return heard.all(role)
    if isinstance(content, list):
        for part in content:
            if not is_call(part):
                heard.part(plain(part))
    else:
        inline = inline_in(content) if role == "assistant" else None
        heard.content(content if inline is None else inline.rest)
    if role == "assistant":
        calls = [*(row.get("tool_calls") or ()), *(row.get("invalid_tool_calls") or ())]
        heard.calls += _usual_calls(calls or (row.get(KWARGS) or {}).get("tool_calls"))
    return heard.all(role)


_LANGCHAIN_ROLES = {
    "human": "user", "HumanMessageChunk": "user", "ai": "assistant", "AIMessageChunk": "assistant",
    "system": "system", "SystemMessageChunk": "system", "tool": "tool", "ToolMessageChunk": "tool",
    "function": "tool", "FunctionMessageChunk": "tool",
}  # fmt: skip


def _item(item: Mapping[str, Any]) -> Spoken:
    """An item of the Responses API."""
    kind = str(item.get("type") or "message")
    heard = _Heard(str(item.get("role")))
    if kind == "message":
        heard.content(item.get("content"))
        return heard.all(str(item.get("role")))
    if kind != "item_reference":
        heard.part(item)
    return heard.all("tool" if heard.results else "assistant")


def _blocks(key: str) -> Callable[[Mapping[str, Any]], Spoken]:
    """The reader of a form whose messages are lists of blocks."""

    def read(message: Mapping[str, Any]) -> Spoken:
        role, content = str(message.get("role") or "user"), message.get(key)
        role = "assistant" if role == "model" else "tool" if role == "function" else role
        if content.__class__ is str:
            return Spoken(role, (content,) if content else ())
        heard = _Heard(role)
        heard.content(content)
        return heard.all(role)

    return read


_READERS: dict[str, Callable[[Mapping[str, Any]], Spoken]] = {
    "chat": _chat,
    "litellm": _chat,
    "ollama": _chat,
    "responses": _item,
    "anthropic": _blocks("content"),
    "bedrock": _blocks("content"),
    "gemini": _blocks("parts"),
    "langchain": _langchain,
}
"""Form → its reader."""
