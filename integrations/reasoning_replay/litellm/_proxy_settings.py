"""What the operator of a proxy says: environment variables, or a `reasoning_replay` block in the proxy's config.yaml.

A variable `REASONING_REPLAY_X` stands for the block's key `x`, and beats it. Every value is checked when the proxy
starts, those in a deployment's `model_info` too: an error names the place, the value and what is allowed. Secrets and a
store's URL are never shown. YAML reads `off` as false, and a number without quotes as one: what was meant is taken.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from .._policy import nearest
from .._rules import BadPolicy, Policy
from ..stores import MemoryStore, Store, StoreError
from ._policies import KEY, PLAIN, check_aliases, policy_from
from ._tenant import TENANTS

BLOCK = "reasoning_replay"
PREFIX = "REASONING_REPLAY_"
SHORTEST_SECRET = 16
"""Characters of a secret that is given for us alone."""
BOUNDS = {"max_items": int, "max_bytes_per_item": int, "max_bytes": int, "ttl": float, "patience": float}
"""Keywords of a store. `patience`: seconds that a call waits for it; in memory nothing waits."""
KEYS = ("store", "secret", "tenant", "redact_logs", *BOUNDS, *PLAIN)
_STORES = "sqlite:///path, redis://…, rediss://…, memory, off"
_OFF = ("off", "false", "no")
_JSON = ("aliases", "same_host")
"""Keys whose variable is JSON."""
_FROM = "os.environ/"
"""Begins a value that stands in a variable. LiteLLM puts it in; here it is left where there was none."""


class BadSettings(ValueError):
    """A setting that cannot be; the message names it and the fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that an operator can say."""

    store: str | None = field(default=None, repr=False)
    """None: the file that `default_path` names."""
    secret: str | None = field(default=None, repr=False)
    """What marks are sealed with; the same in all workers, and kept over restarts."""
    tenant: str = "key"
    redact_logs: bool = False
    """LiteLLM's loggers get sizes and digests in place of reasoning."""
    bounds: Mapping[str, int | float | None] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)


def settings_from(block: object, environ: Mapping[str, str]) -> Settings:
    """The settings of a block and of the environment.

    Raises:
        BadSettings: a name or a value that is not allowed.
    """
    given = {**_block(block), **_variables(environ)}
    given = {name: (place, _as_meant(name, place, value, environ)) for name, (place, value) in given.items()}
    policy = _policy({name: given[name] for name in PLAIN if name in given}, Policy())
    bounds = {name: _bound(*given[name], kind) for name, kind in BOUNDS.items() if name in given}
    texts = {name: _text(*given[name], allowed) for name, allowed in _TEXTS.items() if name in given}
    _check_choices(given)
    redact = "redact_logs" in given and _switch(*given["redact_logs"])
    return Settings(bounds=bounds, policy=policy, redact_logs=redact, **texts)


_Given = tuple[str, Any]
"""How a person calls a place, and what stands there."""
_TEXTS = {"store": _STORES, "secret": "a string; put it in quotes", "tenant": ", ".join(TENANTS)}


def _as_meant(name: str, place: str, value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, str) and value.startswith(_FROM):
        variable = value.removeprefix(_FROM)
        if variable not in environ:
            how = " (`openssl rand -hex 32` makes a secret)" if name == "secret" else ""
            raise BadSettings(f"{place}: the variable {variable} is not set; set it{how}, or leave the line out")
        value = _read(variable, name, environ[variable])
    if name == "store" and (value is False or (isinstance(value, str) and value.lower() in _OFF)):
        return "off"
    return value


def _text(place: str, value: Any, allowed: str) -> str:
    if value is None:
        raise BadSettings(f"{place}: empty; give a value (the variable that it names may not be set), or leave it out")
    if not isinstance(value, str):
        raise BadSettings(f"{place}: {_kind(value)}; allowed: {allowed}")
    return value


def _switch(place: str, value: Any) -> bool:
    """`true` and `false`; in a variable also as words."""
    found = value if isinstance(value, bool) else _SWITCH.get(str(value).lower())
    if found is None or isinstance(value, int) is not isinstance(value, bool):
        raise BadSettings(f"{place}: {value!r}; allowed: true, false")
    return found


_SWITCH = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}


def _kind(value: object) -> str:
    """In the words of who writes YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    kinds = {int: "a number", float: "a number", str: "a string", list: "a list", dict: "a mapping"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def _block(block: object) -> dict[str, _Given]:
    if block is None:
        return {}
    if not isinstance(block, Mapping):
        raise BadSettings(f"{BLOCK}: {_kind(block)}; allowed: a mapping with {', '.join(KEYS)}")
    for name in block:
        if name not in KEYS:
            raise BadSettings(f"{BLOCK}.{name}: not known; {nearest(name, KEYS)}allowed: {', '.join(KEYS)}")
    return {name: (f"{BLOCK}.{name}", value) for name, value in block.items()}


def _variables(environ: Mapping[str, str]) -> dict[str, _Given]:
    found: dict[str, _Given] = {}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name not in KEYS:
            known = [f"{PREFIX}{key.upper()}" for key in KEYS]
            raise BadSettings(f"{variable}: not known; {nearest(variable, known)}allowed: {', '.join(known)}")
        found[name] = variable, _read(variable, name, environ[variable])
    return found


def _read(variable: str, name: str, text: str) -> Any:
    if name not in _JSON:
        return text
    try:
        return json.loads(text)
    except ValueError:
        example = {"aliases": '{"gw.corp.example": "deepseek"}', "same_host": '[["vllm-1:8000", "vllm-2:8000"]]'}
        raise BadSettings(f"{variable}: not JSON; for example {example[name]}") from None


def block_of(config: Mapping[str, Any]) -> Any:
    """The block of a config.yaml; None where there is none.

    Raises:
        BadSettings: there are two.
    """
    within = config.get("litellm_settings")
    nested = within.get(BLOCK) if isinstance(within, Mapping) else None
    if BLOCK in config and nested is not None:
        raise BadSettings(f"{BLOCK}: stands in config.yaml twice; leave it out of litellm_settings")
    return config.get(BLOCK, nested)


def deployment_policy(entry: object, number: int, base: Policy) -> Policy:
    """The policy of an entry of the config's model list: what its `model_info` says, over the proxy's own.

    Raises:
        BadSettings: a name or a value that no policy has; it names the place and the deployment.
    """
    info = entry.get("model_info") if isinstance(entry, Mapping) else None
    given = info.get(KEY) if isinstance(info, Mapping) else None
    if given is None or not isinstance(entry, Mapping):
        return base
    place = f"model_list[{number}] ({entry.get('model_name')}).model_info.{KEY}"
    if not isinstance(given, Mapping):
        raise BadSettings(f"{place}: {_kind(given)}; allowed: a mapping with {', '.join(PLAIN)}")
    for name in given:
        if name not in PLAIN:
            raise BadSettings(f"{place}.{name}: not known; {nearest(name, PLAIN)}allowed: {', '.join(PLAIN)}")
    return _policy({name: (f"{place}.{name}", value) for name, value in given.items()}, base)


def _policy(given: Mapping[str, _Given], policy: Policy) -> Policy:
    """The policy over another, key by key, so that an error names the place of its key."""
    for name, (place, value) in given.items():
        try:
            policy = policy_from({name: value}, policy)
            if name == "aliases":
                check_aliases(policy)
        except BadPolicy as error:
            raise BadSettings(f"{place}: {error}") from None
    return policy


def _bound(place: str, value: Any, kind: type[int | float]) -> int | float | None:
    if value is None or value == "none":
        return None
    try:
        number = value if isinstance(value, (int, float)) else float(value) if kind is float else _whole(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or isinstance(value, bool) or (kind is int and number % 1 != 0):
        allowed = "a whole number" if kind is int else "seconds, or none"
        raise BadSettings(
            f"{place}: {str(value).lower() if isinstance(value, bool) else repr(value)}; allowed: {allowed}"
        )
    return kind(number) if kind is int else number


def _whole(text: Any) -> int | float:
    """`65536`, `65_536`, and `1e6`, which YAML takes for a word."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _check_choices(given: Mapping[str, _Given]) -> None:
    place, tenant = given.get("tenant", ("", "key"))
    if tenant not in TENANTS:
        raise BadSettings(f"{place}: {tenant!r}; {nearest(tenant, TENANTS)}allowed: {', '.join(TENANTS)}")
    place, secret = given.get("secret", ("", None))
    if secret is not None and len(secret) < SHORTEST_SECRET:
        raise BadSettings(
            f"{place}: {len(secret)} characters; give at least {SHORTEST_SECRET} random ones, for example what "
            "`openssl rand -hex 32` prints, the same to every worker"
        )


def store_for(settings: Settings, default_path: Path) -> Store | None:
    """The store that is asked for; None where there is to be none.

    Raises:
        BadSettings: there is no such store, or it cannot be opened.
    """
    kind = kind_of_store(settings)
    url = f"sqlite:///{default_path}" if settings.store is None else settings.store
    try:
        if kind == "memory":
            return _memory(settings)
        if kind == "sqlite":
            return _sqlite(Path(unquote(url.removeprefix("sqlite:///"))), settings)
        return None if kind == "off" else _redis(url, settings)
    except StoreError as error:
        raise BadSettings(f"{BLOCK}.store: {error}") from None


def kind_of_store(settings: Settings) -> str:
    """`sqlite`, `redis`, `memory` or `off`; opens nothing.

    Raises:
        BadSettings: there is no such store.
    """
    url = settings.store
    if url is None or url in ("memory", "off"):
        return url or "sqlite"
    kind, separator, rest = url.partition(":")
    if kind == "sqlite" and rest.startswith("///") and len(rest) > 3:
        return kind
    if kind in ("redis", "rediss", "unix") and rest.startswith("//"):
        if kind != "unix" and urlsplit(url).hostname is None:
            raise BadSettings(f"{BLOCK}.store: a Redis URL without a host; for example redis://localhost:6379/0")
        return "redis"
    shown = repr(kind) if separator == "" else f"begins with {kind + separator!r}"
    raise BadSettings(f"{BLOCK}.store: {shown}; allowed: {_STORES}")


def check_store(settings: Settings) -> None:
    """Looks at what is said of the store, without opening it.

    Raises:
        BadSettings: there is no such store, or a bound that no store can have.
    """
    kind = kind_of_store(settings)
    try:
        if kind != "off":
            _memory(settings)
    except StoreError as error:
        raise BadSettings(f"{BLOCK}.store: {error}") from None


def _memory(settings: Settings) -> Store:
    return MemoryStore(**{name: value for name, value in settings.bounds.items() if name != "patience"})  # type: ignore[arg-type]


def _sqlite(path: Path, settings: Settings) -> Store:
    from ..stores import SQLiteStore

    if settings.store is None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return SQLiteStore(path, **settings.bounds)  # type: ignore[arg-type]


def _redis(url: str, settings: Settings) -> Store:
    from ..stores import RedisStore

    return RedisStore(url, **settings.bounds)  # type: ignore[arg-type]


def default_path(environ: Mapping[str, str]) -> Path:
    """Where a proxy keeps what clients drop, if its operator says nothing."""
    state = environ.get("XDG_STATE_HOME") or ""
    base = Path(state) if state else Path.home() / ".local" / "state"
    return base / "reasoning-replay" / "proxy.sqlite3"
