"""What the operator of a proxy says: environment variables, or a `reasoning_replay` block in the proxy's config.yaml.

A variable `REASONING_REPLAY_X` stands for the block's key `x`, and beats it. Every value is checked when the proxy
starts: an error names the place, the value and what is allowed. Secrets and a store's URL are never shown.
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
from ._policies import PLAIN, policy_from
from ._tenant import TENANTS

BLOCK = "reasoning_replay"
PREFIX = "REASONING_REPLAY_"
SHORTEST_SECRET = 16
"""Characters of a secret that is given for us alone."""
BOUNDS = {"max_items": int, "max_bytes_per_item": int, "max_bytes": int, "ttl": float, "patience": float}
"""Keywords of a store. `patience`: seconds that a call waits for it; in memory nothing waits."""
KEYS = ("store", "secret", "tenant", *BOUNDS, *PLAIN)
_STORES = "sqlite:///path, redis://…, rediss://…, memory, off"
_JSON = ("aliases", "same_host")
"""Keys whose variable is JSON."""


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
    bounds: Mapping[str, int | float | None] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)


def settings_from(block: object, environ: Mapping[str, str]) -> Settings:
    """The settings of a block and of the environment.

    Raises:
        BadSettings: a name or a value that is not allowed.
    """
    given = {**_block(block), **_variables(environ)}
    options = {name: value for name, (_, value) in given.items()}
    policy = _policy({name: given[name] for name in PLAIN if name in given})
    bounds = {name: _bound(*given[name], kind) for name, kind in BOUNDS.items() if name in given}
    for name in ("store", "secret", "tenant"):
        if name in given and not isinstance(options[name], str):
            raise BadSettings(f"{given[name][0]}: a {type(options[name]).__name__}; allowed: a string")
    _check_choices(given)
    texts = {name: options[name] for name in ("store", "secret", "tenant") if name in options}
    return Settings(bounds=bounds, policy=policy, **texts)


_Given = tuple[str, Any]
"""How a person calls a place, and what stands there."""


def _block(block: object) -> dict[str, _Given]:
    if block is None:
        return {}
    if not isinstance(block, Mapping):
        raise BadSettings(f"{BLOCK}: a {type(block).__name__}; allowed: a mapping with {', '.join(KEYS)}")
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


def _policy(given: Mapping[str, _Given]) -> Policy:
    """The policy, key by key, so that an error names the place of its key."""
    policy = Policy()
    for name, (place, value) in given.items():
        try:
            policy = policy_from({name: value}, policy)
        except BadPolicy as error:
            raise BadSettings(f"{place}: {error}") from None
    return policy


def _bound(place: str, value: Any, kind: type[int | float]) -> int | float | None:
    if value is None or value == "none":
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    try:
        return kind(value)
    except (TypeError, ValueError):
        whole = "a whole number" if kind is int else "seconds, or none"
        raise BadSettings(f"{place}: {value!r}; allowed: {whole}") from None


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
    url = f"sqlite:///{default_path}" if settings.store is None else settings.store
    if url == "off":
        return None
    kind, separator, rest = url.partition(":")
    try:
        if url == "memory":
            return MemoryStore(**{name: value for name, value in settings.bounds.items() if name != "patience"})  # type: ignore[arg-type]
        if kind == "sqlite" and rest.startswith("///") and len(rest) > 3:
            return _sqlite(Path(unquote(rest[3:])), settings)
        if kind in ("redis", "rediss", "unix") and rest.startswith("//"):
            return _redis(url, settings)
    except StoreError as error:
        raise BadSettings(f"{BLOCK}.store: {error}") from None
    shown = repr(kind) if separator == "" else f"begins with {kind + separator!r}"
    raise BadSettings(f"{BLOCK}.store: {shown}; allowed: {_STORES}")


def _sqlite(path: Path, settings: Settings) -> Store:
    from ..stores import SQLiteStore

    if settings.store is None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return SQLiteStore(path, **settings.bounds)  # type: ignore[arg-type]


def _redis(url: str, settings: Settings) -> Store:
    from ..stores import RedisStore

    host = urlsplit(url).hostname
    if host is None and not url.startswith("unix:"):
        raise BadSettings(f"{BLOCK}.store: a Redis URL without a host; for example redis://localhost:6379/0")
    return RedisStore(url, **settings.bounds)  # type: ignore[arg-type]


def default_path(environ: Mapping[str, str]) -> Path:
    """Where a proxy keeps what clients drop, if its operator says nothing."""
    state = environ.get("XDG_STATE_HOME") or ""
    base = Path(state) if state else Path.home() / ".local" / "state"
    return base / "reasoning-replay" / "proxy.sqlite3"
