"""What a LiteLLM proxy's `config.yaml` says: its deployments, where each goes, and which may follow which.

LiteLLM is not imported (it takes seconds): the table of its carriers needs none of it. It is asked for one thing alone,
who serves a model whose name does not say it. No secret is kept: of a deployment, host, model and parameters remain.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from .._origin import OriginError, host_of
from .._rules import Policy, find_host
from ..hosts import all_hosts
from ._alone import alone
from ._proxy_block import ENVIRONMENT, said_in
from ._wrong import Wrong

CALLBACK = "reasoning_replay.litellm.proxy_handler_instance"
LINE = f"callbacks: {CALLBACK}"
NEEDS = "pip install 'reasoning-replay[cli]'"
FALLBACKS = ("fallbacks", "context_window_fallbacks", "content_policy_fallbacks")
SETTINGS = ("litellm_settings", "router_settings")


class Deployment(NamedTuple):
    """One entry of the model list."""

    name: str
    """The name that clients ask for."""
    litellm: str
    """The model as LiteLLM is told it."""
    model: str | None
    """The model as its host names it; None where it is a pattern."""
    host: str
    """`name[:port]`, or `custom:…` where it cannot be known."""
    url: str
    dialect: str
    hint: str | None
    request: Mapping[str, Any]
    """The parameters that the config adds to every call."""
    notes: tuple[str, ...] = ()
    policy: Policy = Policy()
    """The proxy's own, with what its `model_info` says over it."""

    @property
    def where(self) -> tuple[str, str | None, str]:
        """What tells two of them apart."""
        return self.host, self.model, self.dialect


class Step(NamedTuple):
    """A conversation may go from one to the other."""

    why: str
    source: Deployment
    target: Deployment


class Config(NamedTuple):
    """A config, as far as reasoning is concerned."""

    deployments: tuple[Deployment, ...]
    steps: tuple[Step, ...]
    warnings: tuple[str, ...]
    has_callback: bool
    faults: tuple[str, ...]
    """What the proxy would refuse at its start."""


def read_config(file: str) -> Config:
    """The config of a proxy.

    Raises:
        Wrong: no PyYAML, no such file, no YAML, or no model list.
    """
    raw = _loaded(Path(file))
    entries = raw.get("model_list")
    if not isinstance(entries, list) or not entries:
        keys = ", ".join(map(repr, list(raw)[:8])) or "none"
        raise Wrong(f"{file}: no 'model_list' (keys: {keys}); give the config.yaml that `litellm --config` is given")
    environment = {**os.environ, **_texts(raw.get("environment_variables"))}
    said = said_in(raw, _nodes(Path(file)), environment)
    found = tuple(
        _deployment(file, number, entry, environment)._replace(policy=policy)
        for number, (entry, policy) in enumerate(zip(entries, said.policies, strict=True), 1)
    )
    settings = {name: _mapping(raw.get(name)) for name in SETTINGS}
    steps, warnings = _steps(found, settings)
    notes = [f"{each.name}: {note}" for each in found for note in each.notes]
    warnings = list(dict.fromkeys([*notes, *said.notes, *warnings]))
    return Config(found, tuple(steps), tuple(warnings), _has_callback(settings), said.faults)


def _nodes(path: Path) -> Any:
    """The file's own nodes, which know their lines; it has been read once."""
    import yaml

    return yaml.compose(path.read_text("utf-8"), Loader=yaml.SafeLoader)


def _loaded(path: Path, depth: int = 0) -> dict[str, Any]:
    """A file with what it includes, as LiteLLM merges it: lists are joined, other values are the includer's."""
    try:
        import yaml
    except ImportError:
        raise Wrong(f"reading a config needs PyYAML: {NEEDS}") from None
    try:
        raw = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror or 'cannot be read'}; give the proxy's config.yaml") from None
    except UnicodeDecodeError:
        raise Wrong(f"{path}: not UTF-8; give the proxy's config.yaml") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f"line {mark.line + 1}" if mark is not None else "somewhere"
        raise Wrong(f"{path}: not YAML at {at} ({getattr(error, 'problem', None) or 'malformed'})") from None
    if not isinstance(raw, dict):
        kind = {type(None): "empty", list: "a list", str: "a text"}.get(type(raw), "a value")
        raise Wrong(f"{path}: {kind}, where the keys of a config should be; give the proxy's config.yaml")
    for name in raw.get("include") or () if depth < 5 else ():
        for key, value in _loaded(path.parent / str(name), depth + 1).items():
            here = raw.get(key)
            raw[key] = [*here, *value] if isinstance(here, list) and isinstance(value, list) else raw.get(key, value)
    return raw


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> dict[str, str]:
    return {str(key): str(text) for key, text in _mapping(value).items() if isinstance(text, str | int | float)}


def _has_callback(settings: Mapping[str, Mapping[str, Any]]) -> bool:
    named = settings["litellm_settings"].get("callbacks")
    return CALLBACK in (named if isinstance(named, list) else [named])


# Deployments ----------------------------------------------------------------------------------------------------------


def _deployment(file: str, number: int, entry: object, environment: Mapping[str, str]) -> Deployment:
    params = _mapping(_mapping(entry).get("litellm_params"))
    name, model = _mapping(entry).get("model_name"), params.get("model")
    if not isinstance(name, str) or not isinstance(model, str):
        lacking = "model_name" if not isinstance(name, str) else "litellm_params.model"
        raise Wrong(
            f"{file}: entry {number} of model_list has no {lacking}; LiteLLM needs model_name and litellm_params.model"
        )
    notes: list[str] = []
    model = _resolved(model, environment) or model
    prefix, rest = _prefix(model, params, notes)
    carrier = alone("_carriers").carrier_of(prefix, rest)
    base = params.get("api_base") or params.get("base_url")
    url = (
        _url(str(base), environment, notes)
        if base is not None
        else _usual_url(prefix, name, carrier, params, environment)
    )
    try:
        host = host_of(url)
    except OriginError:
        notes.append("its api_base is no URL")
        host = url = f"custom:{_word(name)}"
    hint = alone("_carriers").hint_of(prefix, carrier)
    request = {key: value for key, value in params.items() if key in REQUEST}
    exact = None if "*" in rest else rest
    return Deployment(name, model, exact, host, url, carrier.dialect, hint, request, tuple(notes))


REQUEST = frozenset(
    {
        "thinking",
        "reasoning_effort",
        "reasoning",
        "max_tokens",
        "tool_choice",
        "extra_body",
        "context_management",
        "think",
    }
)
"""Parameters of a deployment that say something about reasoning."""


def _resolved(value: str, environment: Mapping[str, str]) -> str | None:
    """A value of the config; None for a variable that is not set."""
    return environment.get(value.removeprefix(ENVIRONMENT)) if value.startswith(ENVIRONMENT) else value


def _url(base: str, environment: Mapping[str, str], notes: list[str]) -> str:
    url = _resolved(base, environment)
    if url is None:
        variable = base.removeprefix(ENVIRONMENT)
        notes.append(f"{variable} is not set here, so its host is not known: told is what the provider's name says")
        return f"custom:{_word(variable)}"
    return url


def _usual_url(prefix: str, name: str, carrier: Any, params: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Where LiteLLM goes when nothing is said: the table's default, else a name of the file that the prefix names."""
    default = next((base for base in carrier.bases if "://" in base), None)
    if default is not None:
        return _filled(default, params, environment)
    file = find_host(all_hosts(), f"custom:{_word(prefix)}", hint=prefix)
    exact = next((host for host in file.hosts if "*" not in host), None)
    return exact if exact is not None and prefix.lower() in map(str.lower, file.hints) else f"custom:{_word(name)}"


def _filled(base: str, params: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """A default with its region filled in, which is looked for where LiteLLM looks."""
    head, brace, rest = base.partition("{")
    name, _, tail = rest.partition("}")
    for place in alone("_carriers").REGIONS[name] if brace else ():
        kind, _, key = place.rpartition(".")
        found = params.get(key) if kind == "call" else environment.get(place)
        found = place[1:] if place.startswith("=") else found
        region = _resolved(found, environment) if isinstance(found, str) else None
        if region is not None:
            url = f"{head}{region}{tail}"
            return str(alone("_carriers").ELSEWHERE.get(url, url))
    return f"{head}region{tail}" if brace else base


def _word(name: str) -> str:
    text = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in name)
    return text if text[:1].isalpha() else f"_{text}"


def _prefix(model: str, params: Mapping[str, Any], notes: list[str]) -> tuple[str, str]:
    """LiteLLM's name for who serves a model, and the model's name there."""
    given = params.get("custom_llm_provider")
    first, slash, rest = model.partition("/")
    if isinstance(given, str):
        return given, rest if first == given else model
    if slash and first in _known():
        return first, rest
    found = _asked_litellm(model)
    if found is None:
        notes.append(f"{model!r} does not say who serves it; write the provider before it, as in openai/{model}")
        return "", model
    return found


@cache
def _known() -> frozenset[str]:
    """LiteLLM's providers, as far as the table of carriers and the rule files name them."""
    hints = (hint for host in all_hosts() for hint in host.hints)
    return frozenset({*hints, *(carrier.provider for carrier in alone("_carriers").CARRIERS)} - {"*"})


def _asked_litellm(model: str) -> tuple[str, str] | None:
    """What LiteLLM says; None where it is not installed or does not know."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it would fetch a price list
    try:
        from litellm import get_llm_provider
        from litellm.exceptions import BadRequestError
    except ImportError:
        return None
    try:
        with redirect_stdout(StringIO()):  # it prints advice on top of what it raises
            rest, prefix, _, _ = get_llm_provider(model)
    except BadRequestError:
        return None
    return prefix, rest


# Who may follow whom --------------------------------------------------------------------------------------------------


def _steps(found: tuple[Deployment, ...], settings: Mapping[str, Mapping[str, Any]]) -> tuple[list[Step], list[str]]:
    groups: dict[str, list[Deployment]] = {}
    for each in found:
        groups.setdefault(each.name, []).append(each)
    steps = [Step("same name", one, other) for members in groups.values() for one in members for other in members]
    warnings: list[str] = []
    aliases = _mapping(settings["router_settings"].get("model_group_alias"))
    rows = list(_fallbacks(settings))
    for key, name, targets in rows:
        own = {_alias(aliases, other) for kind, other, _ in rows if kind == key}
        for source in [group for group in groups if group not in own] if name == ANY else [_alias(aliases, name)]:
            for wanted in (_alias(aliases, target) for target in targets):
                lacking = [one for one in (source, wanted) if one not in groups]
                warnings += [f"{key}: {one!r} is no model_name of this config" for one in lacking]
                if not lacking and source != wanted:
                    why = key.replace("_", " ").removesuffix("s")
                    steps += [Step(why, one, other) for one in groups[source] for other in groups[wanted]]
    return list(_once(steps)), warnings


ANY = "*"
"""Stands for every group that has no fallback of its own; `default_fallbacks` is short for it."""


def _alias(aliases: Mapping[str, Any], name: str) -> str:
    found = aliases.get(name)
    found = found.get("model") if isinstance(found, Mapping) else found
    return found if isinstance(found, str) else name


def _once(steps: list[Step]) -> Iterator[Step]:
    """One step for each pair of places."""
    seen = set()
    for step in steps:
        pair = (step.source.name, step.source.where, step.target.name, step.target.where)
        if step.source.where != step.target.where and pair not in seen:
            seen.add(pair)
            yield step


def _fallbacks(settings: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, list[str]]]:
    """Setting, name of the group that failed, names of those that follow."""
    for given in settings.values():
        for key in FALLBACKS:
            for entry in given.get(key) or () if isinstance(given.get(key), list) else ():
                for name, targets in _mapping(entry).items():
                    yield key, str(name), _names(targets)
        default = given.get("default_fallbacks")
        if default is not None:
            yield FALLBACKS[0], ANY, _names(default)


def _names(targets: object) -> list[str]:
    listed = targets if isinstance(targets, list) else [targets]
    named = (one.get("model") if isinstance(one, Mapping) else one for one in listed)
    return [one for one in named if isinstance(one, str)]
