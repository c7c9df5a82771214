"""What a config says to us: its `reasoning_replay` block and those in `model_info`, read by the proxy's own parser.

What the proxy would refuse at its start is a fault here, in the same words, with its line in the file. A variable that
is not set here may be set there: its key is left out, with a note. No value of a store or a secret is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .._rules import Policy
from ._alone import alone

ENVIRONMENT = "os.environ/"


class Said(NamedTuple):
    """What the blocks say."""

    policies: tuple[Policy, ...]
    """One for each entry of the model list; where it cannot be, the proxy's own."""
    faults: tuple[str, ...]
    """Why the proxy would not start."""
    notes: tuple[str, ...]


def said_in(raw: Mapping[str, Any], tree: Any, environment: Mapping[str, str]) -> Said:
    """The policies of a config's deployments, and what is wrong with what it says.

    Args:
        tree: the file as YAML's nodes, for the lines of faults.
        environment: the variables, those that the config sets among them.
    """
    settings = alone("_proxy_settings")
    faults: list[str] = []
    notes: list[str] = []
    base = Policy()
    try:
        block = settings.block_of(raw)
        found = settings.settings_from(_filled(block, settings.BLOCK, environment, notes), environment)
        base = found.policy
        settings.check_store(found)
    except settings.BadSettings as error:
        faults.append(_told(str(error), tree, settings.BLOCK, [[], ["litellm_settings"]]))
    policies = []
    for number, entry in enumerate(raw["model_list"]):
        policy = base
        try:
            policy = settings.deployment_policy(_entry(entry, settings.BLOCK, environment, notes), number, base)
        except settings.BadSettings as error:
            faults.append(_told(str(error), tree, settings.BLOCK, [["model_list", number, "model_info"]]))
        policies.append(policy)
    return Said(tuple(policies), tuple(faults), tuple(notes))


def _entry(entry: Any, block: str, environment: Mapping[str, str], notes: list[str]) -> Any:
    info = entry.get("model_info") if isinstance(entry, Mapping) else None
    if not isinstance(info, Mapping) or block not in info:
        return entry
    place = f"{entry.get('model_name')}: model_info.{block}"
    return {**entry, "model_info": {**info, block: _filled(info[block], place, environment, notes)}}


def _filled(block: Any, place: str, environment: Mapping[str, str], notes: list[str]) -> Any:
    """A block with its variables filled in, without those that are not set here."""
    if not isinstance(block, Mapping):
        return block
    filled = {}
    for key, value in block.items():
        variable = value.removeprefix(ENVIRONMENT) if isinstance(value, str) and value != "" else None
        if variable is None or variable == value:
            filled[key] = value
        elif variable in environment:
            filled[key] = environment[variable]
        else:
            notes.append(f"{place}.{key}: {variable} is not set here, so it is not looked at; the proxy needs it")
    return filled


# Where it stands ------------------------------------------------------------------------------------------------------


def _told(text: str, tree: Any, block: str, places: Sequence[Sequence[str | int]]) -> str:
    """A fault with its line, where it is in this file."""
    place = text.partition(": ")[0]
    if block not in place:
        return text  # of a variable
    key = place.rpartition(block)[2].removeprefix(".")
    lines = [line for within in places for line in [_line(tree, [*within, block, key])] if line is not None]
    return f"line {lines[0]}: {text}" if lines else text


def _line(tree: Any, path: Sequence[str | int]) -> int | None:
    """The line of a key, or where it is not there of the last block around it; None where there is no such block."""
    line, node = None, tree
    for step in path:
        found = next((pair for pair in _pairs(node) if pair[0] == step), None)
        if found is None:
            return line if isinstance(step, str) and step == path[-1] else None
        _, line, node = found
    return line


def _pairs(node: Any) -> Iterator[tuple[str | int, int, Any]]:
    """Key, line and node of what a node holds."""
    held = getattr(node, "value", None)
    for number, each in enumerate(held if isinstance(held, list) else ()):
        key, value = each if isinstance(each, tuple) else (None, each)
        named = number if key is None else str(key.value)
        yield named, (value if key is None else key).start_mark.line + 1, value
