"""Who produced reasoning, who may have it back, and the mark that says so.

Whether one origin's reasoning may go to another is decided here alone: invariant 1 is the body of `accepts`.
It knows no message, no rule file and no framework; what a rule says about reach comes in as `Reach`.
Host names are compared exactly after `host_of`; a look-alike is another host.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import quote, unquote
from zlib import crc32

Dialect = Literal["chat", "anthropic", "responses", "gemini", "bedrock", "ollama"]
DIALECTS: tuple[str, ...] = get_args(Dialect)

MARK = "reasoning_replay"
"""The key of the mark, beside the reasoning that it belongs to."""

REDACTED = "redacted"
"""Stands in a mark for its origin where the reasoning was taken out for people to look at: no request can be made of
that. It is no origin, so a library that does not know the word takes the mark for a broken one."""

LONGEST_ID = 4096
"""Characters of a mark's id that is read: Bedrock's ARNs, the longest of models' names, have 2048 at most."""

_DEFAULT_PORTS = {"https": 443, "": 443, "http": 80, "wss": 443, "ws": 80}
_URL = r"(?s)(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?//(?P<rest>.*)"
_CUSTOM = r"(?a)custom:[A-Za-z_][\w.-]*\Z"
_NAME = r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?\Z|\[[0-9a-f:.]+(?:%25[\w.-]+)?\]\Z"


class OriginError(ValueError):
    """A host that cannot be read; the message says what was given and what is allowed."""


def host_of(url: str) -> str:
    """The normalised `name[:port]` of a URL, or of a bare host name.

    IDNA 2008 for names that are not ASCII (full-width look-alikes are refused, not folded), lower case, user info
    and one trailing dot removed, `:443` dropped with https or without a scheme, `:80` with http. `custom:<name>`
    stands for a host without a URL and is returned as it is.

    Raises:
        OriginError: white space or control characters, no host, a bad port, a name that no DNS could hold.
    """
    if re.match(_CUSTOM, url):
        return url
    return _host_of(url)


@lru_cache(maxsize=1024)
def _host_of(url: str) -> str:
    if any(character.isspace() or not character.isprintable() for character in url):
        raise OriginError(
            f"host {url!r}: contains white space or control characters; give 'name', 'name:port' or a URL"
        )
    match = re.match(_URL, url if "//" in url.split("?", 1)[0] else f"//{url}")
    scheme = (match["scheme"] or "").lower() if match else ""
    authority = re.split(r"[/\\?#]", match["rest"], maxsplit=1)[0] if match else ""
    name, port = _split_port(authority.rpartition("@")[2], url)
    name = _ascii(name.removesuffix("."), url)
    if not re.match(_NAME, name) or ".." in name:
        raise OriginError(f"host {url!r}: {name!r} is no host name; give 'name', 'name:port' or a URL")
    return name if port in (None, _DEFAULT_PORTS.get(scheme)) else f"{name}:{port}"


def _split_port(authority: str, url: str) -> tuple[str, int | None]:
    bracket = authority.rfind("]")
    name, colon, port = authority[bracket + 1 :].partition(":")
    name = authority[: bracket + 1] + name
    if not colon or not port:
        return name, None
    if not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise OriginError(f"host {url!r}: {port!r} is no port; a port is a number from 1 to 65535")
    return name, int(port)


def _ascii(name: str, url: str) -> str:
    if name.isascii():
        return name.lower()
    import idna  # not at the top: only names that are not ASCII need it

    if any(dot in name for dot in "\u3002\uff0e\uff61"):  # idna takes these for a dot; a person reads them as one
        raise OriginError(f"host {url!r}: has a dot that is not '.'; give the name's ASCII form (xn--…)")
    try:
        return idna.encode(name.lower()).decode("ascii").lower()
    except idna.IDNAError as error:
        raise OriginError(f"host {url!r}: {error}; give the name's ASCII form (xn--…)") from None


def path_of(url: str) -> str | None:
    """The path of a URL, without query and fragment; None where there is none."""
    match = re.match(_URL, url if "//" in url.split("?", 1)[0] else f"//{url}")
    path = re.split(r"[?#]", match["rest"].partition("/")[2], maxsplit=1)[0] if match else ""
    return f"/{path}" if path != "" else None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where reasoning came from, or where a request goes.

    Raises:
        OriginError: the host or the dialect cannot be read.
    """

    host: str
    """`name[:port]`, normalised by `host_of`; `custom:<name>` where no URL was called."""
    dialect: Dialect = "chat"
    """What the host speaks; sealed reasoning needs an equal one."""
    model: str | None = None
    """The model as the host names it."""
    upstream: str | None = None
    """At a router: the vendor of the model. None: taken from the model's name.

    Not who served a call, which OpenRouter and its like name in the reply (`provider`): nobody can say before the next
    request who will serve that one, and a model's text is its own wherever it runs.
    """
    account: str | None = None
    """The identity that the vendor binds sealed reasoning to; never a key, nor derived from one."""

    def __init__(
        self,
        host: str,
        *,
        dialect: str = "chat",
        model: str | None = None,
        upstream: str | None = None,
        account: str | None = None,
    ) -> None:
        if dialect not in DIALECTS:
            raise OriginError(f"dialect {dialect!r}: not known; allowed: {', '.join(DIALECTS)}")
        for name, value in (("host", host), ("model", model), ("upstream", upstream), ("account", account)):
            if not isinstance(value, str) and (value is not None or name == "host"):
                raise OriginError(
                    f"{name}: a {type(value).__name__}; allowed: a string{', or None' * (name != 'host')}"
                )
        write = object.__setattr__
        write(self, "host", host_of(host))
        write(self, "dialect", dialect)
        write(self, "model", model)
        write(self, "upstream", upstream)
        write(self, "account", account)

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        dialect: str = "chat",
        model: str | None = None,
        upstream: str | None = None,
        account: str | None = None,
    ) -> Origin:
        """The origin of what was called at `url`; path, query and user info play no part."""
        return cls(url, dialect=dialect, model=model, upstream=upstream, account=account)


def to_mark(origin: Origin) -> dict[str, Any]:
    """The mark of an origin: exactly `{"id", "v"}`, no text, no secret.

    The id holds a checksum, since frameworks that merge stream chunks add strings up: `id + id` must not be read
    as an origin.
    """
    return {"id": _mark_id(origin), "v": 1}


@lru_cache(maxsize=1024)
def _mark_id(origin: Origin) -> str:
    parts = (origin.host, origin.dialect, origin.model, origin.upstream, origin.account)
    body = "|".join("" if part is None else quote(part, safe=":/@+") or "%" for part in parts)
    return f"{body}|{crc32(body.encode()):08x}"


def mark_id(mark: object) -> str | None:
    """The id in a mark of the right shape, unchecked; None for anything else."""
    if isinstance(mark, dict) and mark.get("v") == 1 and len(mark) == 2:
        found = mark.get("id")
        return found if type(found) is str else None
    return None


def from_mark_id(identity: str) -> Origin | None:
    """The origin that a mark's id names; None when its checksum fails (broken is unknown)."""
    return (
        None if len(identity) > LONGEST_ID else _from_mark_id(identity)
    )  # before the cache: whoever writes may be anybody


@lru_cache(maxsize=4096)
def _from_mark_id(identity: str) -> Origin | None:
    body, _, checksum = identity.rpartition("|")
    parts = body.split("|")
    if len(parts) != 5 or checksum != f"{crc32(body.encode()):08x}":
        return None
    host, dialect, model, upstream, account = (
        None if part == "" else "" if part == "%" else unquote(part) for part in parts
    )
    if not host or dialect not in DIALECTS:
        return None
    found = Origin("custom:mark", dialect=dialect, model=model, upstream=upstream, account=account)
    object.__setattr__(found, "host", host)  # normalised when the mark was made: "http://x:443" is "x:443", not "x"
    return found


def from_mark(mark: object) -> Origin | None:
    """The origin that a mark names; None for a broken or foreign object."""
    identity = mark_id(mark)
    return None if identity is None else from_mark_id(identity)


class Reach(NamedTuple):
    """What besides an equal host lets reasoning go back: the part of a rule and a policy that `accepts` needs."""

    same_host: tuple[frozenset[str], ...] = ()
    """Sets of hosts that the caller declares to be one (replicas behind one service)."""
    router: bool = False
    """The host fronts many vendors: the upstream is compared too."""
    bound: frozenset[str] = frozenset()
    """What sealed parts are tied to besides the host: `account`, `model`, `upstream`."""
    holds_key: Callable[[str], bool] | None = None
    """Names of hosts that hold the same key as the target (regions of one vendor). None: the host alone."""
    upstream_of: Callable[[str | None], str | None] = lambda model: model
    """The vendor behind a router, by the model's name."""
    opens: Callable[[str | None], bool] = lambda model: True
    """Whether the target's model opens what another one sealed."""
    dialects: frozenset[str] = frozenset()
    """Dialects in which the same key holder seals in the same way; the target's own is always one."""


def accepts(target: Origin, source: Origin, reach: Reach, *, sealed: bool) -> bool:
    """Whether reasoning of `source` may go to `target`. The only place that compares two origins.

    Readable text needs an equal host (and an equal upstream at a router); sealed parts need an equal dialect as
    well and whatever the vendor ties them to. An unknown upstream at a router is nobody's.
    """
    if not _one_host(target.host, source.host, reach, sealed=sealed):
        return False
    if (reach.router or (sealed and "upstream" in reach.bound)) and not _one_upstream(target, source, reach):
        return False
    if not sealed:
        return True
    if target.dialect != source.dialect and source.dialect not in reach.dialects:
        return False
    if target.model != source.model and ("model" in reach.bound or not reach.opens(source.model)):
        return False
    known = target.account is not None and source.account is not None
    return not ("account" in reach.bound and known and target.account != source.account)


def _one_host(target: str, source: str, reach: Reach, *, sealed: bool) -> bool:
    if target == source or any(target in names and source in names for names in reach.same_host):
        return True
    return sealed and reach.holds_key is not None and reach.holds_key(source)


def _one_upstream(target: Origin, source: Origin, reach: Reach) -> bool:
    here, there = (
        origin.upstream if origin.upstream is not None else reach.upstream_of(origin.model)
        for origin in (target, source)
    )
    return here is not None and here == there
