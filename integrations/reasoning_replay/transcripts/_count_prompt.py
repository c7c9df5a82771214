"""What a template makes of messages and tools, in tokens. Additive: no prompt is put together.

Tables say how arguments and tools are written; `Template` says what stands around them. Nothing here knows a host or
a model, and no text is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ..forms import as_mapping, canonical, plain
from ..forms._spoken import Spoken, spoken
from ._count_families import Template
from ._count_words import Words

_SYSTEM_ROLES: Final = frozenset({"system", "developer"})


class Cost(NamedTuple):
    """Tokens of what is said, and of what the template writes around it."""

    said: int
    around: int


def message_cost(spoken: Spoken, template: Template, words: Words) -> Cost:
    """A message without its reasoning and its media."""
    count = words.count
    said = 0
    for text in spoken.texts:
        said += count(text)
    if spoken.role == "assistant":
        around = template.reply + (template.said if spoken.texts else 0)
        if spoken.calls:
            around += template.calls
            for name, arguments in spoken.calls:
                inside, more = _arguments_cost(arguments, template.arguments, words)
                said += count(name) + inside
                around += template.call + more * template.argument
    else:
        system = spoken.role in _SYSTEM_ROLES
        around = 0 if spoken.results and not said else template.system if system else template.message
    for texts in spoken.results:
        said += sum(map(count, texts))
        around += template.result
    return Cost(said, around)


def _arguments_cost(arguments: Any, style: str, words: Words) -> tuple[int, int]:
    if arguments.__class__ is str:
        return words.arguments(style, arguments, ARGUMENTS[style])
    return ARGUMENTS[style](arguments, words)


def system_texts(request: Mapping[str, Any]) -> list[str]:
    """What a request says to the model beside its messages: system text in any dialect."""
    texts: list[str] = []
    for key in _SYSTEM:
        given = plain(request.get(key))
        if given is not None:
            texts += spoken("gemini", {"parts": _parts(given)}).texts
    return texts


_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")


def _parts(given: Any) -> Any:
    """The parts of a content of Gemini's; a text or a list of blocks as it is."""
    parts = given.get("parts") if isinstance(given, Mapping) else None
    return given if parts is None else parts


_Arguments = Callable[[Any, Words], tuple[int, int]]
"""Arguments → their tokens, and how many they are."""


def _as_text(arguments: Any, words: Words) -> tuple[int, int]:
    return words.count(arguments if isinstance(arguments, str) else _dumped({} if arguments is None else arguments)), 0


def _spaced(arguments: Any, words: Words) -> tuple[int, int]:
    value = _loaded(arguments)
    return words.count(arguments if value is None else _dumped(value)), 0


def _each(arguments: Any, words: Words) -> tuple[int, int]:
    value = _loaded(arguments)
    if not isinstance(value, Mapping):
        return _as_text(arguments, words)
    texts = (each if isinstance(each, str) else _dumped(each) for each in value.values())
    return sum(map(words.count, map(str, value))) + sum(map(words.count, texts)), len(value)


def _loaded(arguments: Any) -> Any:
    """Arguments as a value; None for a text that is no JSON."""
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str, skipkeys=True)


ARGUMENTS: Final[dict[str, _Arguments]] = {"json": _as_text, "spaced": _spaced, "each": _each}
"""`json`: as they came. `spaced`: as Python writes them. `each`: every argument for itself, a text as it is."""


class Tool(NamedTuple):
    """A tool of a request."""

    name: str
    description: str
    parameters: Any
    whole: Any
    """As the request has it."""


def tools_of(request: Mapping[str, Any]) -> list[Tool]:
    """The tools of a request in any dialect, also in its `extra_body`."""
    found: list[Tool] = []
    for place in (request, request.get("extra_body")):
        if not isinstance(place, Mapping):
            continue
        config = place.get("toolConfig")
        for key, holder in (("tools", place), ("functions", place), ("tools", config)):
            given = holder.get(key) if isinstance(holder, Mapping) else None
            for tool in given if isinstance(given, list | tuple) else ():
                found += _tools_in(plain(tool))
    return found


def _tools_in(tool: Any) -> Iterator[Tool]:
    if not isinstance(tool, Mapping):
        yield Tool("", "", None, str(getattr(tool, "name", "")))
        return
    many = tool.get("functionDeclarations", tool.get("function_declarations"))
    if isinstance(many, list | tuple):
        for each in map(plain, many):
            if isinstance(each, Mapping):
                yield _tool(each, each)
        return
    inside = next((as_mapping(tool[key]) for key in ("function", "toolSpec", "custom") if key in tool), None)
    yield _tool(tool if inside is None else inside, tool)


_PARAMETERS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")


def _tool(inside: Mapping[str, Any], whole: Mapping[str, Any]) -> Tool:
    parameters = next((plain(inside[key]) for key in _PARAMETERS if inside.get(key) is not None), None)
    if isinstance(parameters, Mapping) and set(parameters) == {"json"}:
        parameters = parameters["json"]
    kept = {key: value for key, value in whole.items() if key not in ("cache_control", "cachePoint")}
    return Tool(str(inside.get("name") or ""), str(inside.get("description") or ""), parameters, kept)


def tools_cost(tools: list[Tool], template: Template, words: Words) -> Cost:
    """The tools of a request; nothing where it has none."""
    if not tools:
        return Cost(0, 0)
    write = TOOLS[template.tool_style]
    return Cost(sum(words.count(write(tool)) for tool in tools), template.tools + len(tools) * template.tool)


def _function(tool: Tool) -> str:
    said = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return _dumped(said) if tool.name else canonical(tool.whole)


def _whole(tool: Tool) -> str:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return _dumped({"type": "function", "function": function}) if tool.name else canonical(tool.whole)


def _typescript(tool: Tool) -> str:
    """As OpenAI's models see a tool: `openai-harmony`."""
    if not tool.name:
        return canonical(tool.whole)
    head = "".join(f"// {line}\n" for line in tool.description.splitlines())
    if not isinstance(tool.parameters, Mapping):
        return f"{head}type {tool.name} = () => any;"
    return f"{head}type {tool.name} = (_: {_type(tool.parameters, '')}) => any;"


def _type(schema: Any, indent: str) -> str:
    """A JSON schema as a type."""
    if not isinstance(schema, Mapping):
        return "any"
    for key in ("oneOf", "anyOf"):
        if isinstance(schema.get(key), list):
            return " | ".join(_type(each, indent) for each in schema[key])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_type({**schema, "type": each}, indent) for each in kind)
    if kind == "object" or "properties" in schema:
        return _object(schema, indent)
    if isinstance(schema.get("enum"), list):
        return " | ".join(_dumped(each) for each in schema["enum"])
    if kind == "array":
        return f"{_type(schema.get('items'), indent)}[]"
    return _TYPES.get(str(kind), "any")


_TYPES = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}


def _object(schema: Mapping[str, Any], indent: str) -> str:
    properties, required = schema.get("properties"), schema.get("required")
    lines = []
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        told = inner if isinstance(inner, Mapping) else {}
        if told.get("description"):
            lines += [f"{indent}// {line}" for line in str(told["description"]).splitlines()]
        must = isinstance(required, list | tuple) and name in required
        usual = told.get("default")
        default = "," if usual is None else f", // default: {_dumped(usual)}"
        lines.append(f"{indent}{name}{'' if must else '?'}: {_type(inner, indent + '    ')}{default}")
    return "\n".join(["{", *lines, f"{indent}}}"])


TOOLS: Final[dict[str, Callable[[Tool], str]]] = {"function": _function, "whole": _whole, "typescript": _typescript}
"""`function`: JSON of the function. `whole`: JSON with its type around it. `typescript`: as OpenAI's models see it."""
