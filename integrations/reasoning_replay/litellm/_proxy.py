"""The callback inside the LiteLLM Proxy: who is asking, what a client's marks are worth, what a reply says of it.

`litellm_settings.callbacks: [reasoning_replay.litellm.proxy_handler_instance]` makes it, with what the operator says
(`_proxy_settings`). For each request it finds the tenant, opens the client's marks, and leaves the rest to the layers,
which keep replies for this tenant and seal their marks. A call inside the proxy that no client has made (a websocket's,
a guardrail's) has no tenant: it finds nothing in the store, and no mark in it is believed.
LiteLLM looks for these hooks on the very class of a callback, not on its bases (litellm 1.110.2).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from types import MappingProxyType
from typing import Any, Self

from litellm.proxy import proxy_server

from .._faults import fail_closed
from .._known import first_time
from .._report import Report
from ..stores import Store
from ._attempt import REPORT, details_of
from ._callback import ReasoningReplay
from ._carriers import COVERED
from ._entries import Entry
from ._errors import without_hosts
from ._keeping import Asked, asking
from ._policies import KEY
from ._proxy_settings import BLOCK, Settings
from ._proxy_start import settings_store_secret
from ._sealed_marks import Sealer, opened, sealed, unmarked_rows
from ._tenant import Nothing, session_of, tenant_of
from ._told import report_of

HEADER = "x-reasoning-replay"
_log = logging.getLogger("reasoning_replay")

_noted: ContextVar[Mapping[str, Any]] = ContextVar("reasoning_replay_noted", default=MappingProxyType({}))
"""LiteLLM's notes of the request that is served: where a call has failed, it hands them to nobody any more."""
_opened: ContextVar[tuple[tuple[str, list[Any]], ...]] = ContextVar("reasoning_replay_opened", default=())
"""Key and messages of the request whose marks were opened: opened again, all of them would be nothing."""
_FORMS = {"messages": "litellm", "input": "responses"}
"""Key of the history in a request → the form that it is written in, but for the messages API."""
_ROWS = ("messages", "input", "contents")


class ProxyReplay(ReasoningReplay):
    """What `proxy_handler_instance` is. One a process."""

    def __new__(cls, settings: Settings, store: Store | None, secret: bytes) -> Self:
        return super().__new__(cls, settings.policy, None, redact_logs=settings.redact_logs)

    def __init__(self, settings: Settings, store: Store | None, secret: bytes) -> None:
        super().__init__(settings.policy, None, redact_logs=settings.redact_logs)
        self._settings = settings
        self._store = store
        self._sealer = Sealer(secret)
        self._nobody = self._asked_by(None, None)

    def _asked_by(self, tenant: str | None, session: str | None) -> Asked:
        known = Nothing() if tenant is None or self._store is None else self._store.of(tenant, session=session)
        return Asked(known=known, seal=partial(sealed, sealer=self._sealer))

    def asked(self) -> Asked:
        """Who asks; nobody, where no request of a client is being served."""
        return asking.get() or self._nobody

    # A request arrives

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> None:
        """Finds the tenant of a request and opens its marks, in the request itself."""
        done, now = _opened.get(), asking.get()
        same = now is not None and fail_closed("litellm", lambda: self._is_by(now, user_api_key_dict), lambda: False)
        if same and any(data.get(key) is rows for key, rows in done):
            return  # LiteLLM lists a callback twice after it has read its configuration again
        if same and call_type not in COVERED:  # a tool that LiteLLM runs within the request: its next step is theirs
            fail_closed("litellm", lambda: _uncovered(data), lambda: _bare(data))
            return
        asking.set(None)
        _opened.set(())
        _noted.set(details_of(data.get("litellm_logging_obj")))
        fail_closed("litellm", lambda: self._arrives(user_api_key_dict, data, call_type), lambda: _bare(data))

    def _is_by(self, now: Asked, auth: Any) -> bool:
        """Whether a call is of the tenant whose request is being served."""
        return auth is None or self._tenant(auth) == getattr(now.known, "tenant", None)

    def _arrives(self, auth: Any, data: dict[str, Any], call_type: str) -> None:
        if call_type not in COVERED:
            _uncovered(data)
            return
        _forget_orders(data)
        for key in _ROWS:
            rows = data.get(key)
            if isinstance(rows, list):
                form = "anthropic" if call_type == "anthropic_messages" else _FORMS.get(key)
                left = unmarked_rows(rows) if form is None else opened(rows, form, self._sealer)
                _put(data, key, left)
                _opened.set((*_opened.get(), (key, left)))
        tenant = self._tenant(auth)
        self._warn_of_nobody(tenant)
        asking.set(self._asked_by(tenant, session_of(data)))

    def _tenant(self, auth: Any) -> str | None:
        if self._store is None:
            return None
        return tenant_of(auth, self._settings.tenant, checked=_checks_keys(auth), mapped=_maps_users())

    def _warn_of_nobody(self, tenant: str | None) -> None:
        by = self._settings.tenant
        if self._store is not None and tenant is None and first_time(("no tenant", by)):
            _log.warning(
                "reasoning-replay: a request without a tenant (by %s); nothing is kept for it or restored (said once). "
                "A tenant needs a key that the proxy checks (general_settings.master_key, custom_auth), with a %s; "
                "or set %s.tenant: one, where all clients may share what they said",
                by,
                by,
                BLOCK,
            )

    # Calls that no request of a client has made

    def before_dispatch(self, fields: dict[str, Any]) -> dict[str, Any]:
        with without_hosts():
            return super().before_dispatch(_by_nobody(fields, "messages"))

    def through_client(self, context: Any) -> Any:
        with without_hosts():
            return super().through_client(context)

    def before_send(self, entry: Entry, fields: dict[str, Any]) -> dict[str, Any]:
        with without_hosts():
            return super().before_send(entry, _by_nobody(fields, entry.messages))

    def before_bridge(self, fields: dict[str, Any]) -> dict[str, Any]:
        with without_hosts():
            return super().before_bridge(_by_nobody(fields, "input"))

    def around_messages(self, call: Callable[..., Any], fields: dict[str, Any]) -> Any:
        return super().around_messages(call, _by_nobody(fields, "messages"))

    # A reply leaves

    async def async_post_call_response_headers_hook(
        self,
        data: dict[str, Any],
        user_api_key_dict: Any,
        response: Any,
        request_headers: dict[str, str] | None = None,
        litellm_call_info: dict[str, Any] | None = None,
    ) -> dict[str, str] | None:
        """Says in a header what became of the history's reasoning."""
        return fail_closed("litellm", lambda: _header(response), lambda: None)


def _by_nobody(fields: dict[str, Any], key: str) -> dict[str, Any]:
    """The arguments of a call, without any mark where no client's request is being served: nobody has opened them."""
    rows = fields.get(key)
    return fields if asking.get() is not None or not isinstance(rows, list) else {**fields, key: unmarked_rows(rows)}


def _put(data: dict[str, Any], key: str, rows: list[Any]) -> None:
    """Puts messages in the place of a request's; LiteLLM has noted them for its callbacks already."""
    data[key] = rows
    logging_obj: Any = data.get("litellm_logging_obj")
    if hasattr(logging_obj, "update_messages"):
        logging_obj.update_messages(rows)


def _uncovered(data: dict[str, Any]) -> None:
    _forget_orders(data)
    _bare(data)


def _bare(data: dict[str, Any]) -> None:
    for key in _ROWS:
        if isinstance(data.get(key), list):
            _put(data, key, unmarked_rows(data[key]))


def _forget_orders(data: dict[str, Any]) -> None:
    """Takes out what a client would have us do: a policy stands in a deployment's own `model_info`."""
    for name in [name for name in data if name.lstrip("_").startswith(KEY)]:
        del data[name]
    for name in [name for name in data if name.endswith("fallbacks")]:
        data[name] = _unmarked_fallbacks(data[name])
    for holder in (data, data.get("metadata"), data.get("litellm_metadata")):
        info = holder.get("model_info") if isinstance(holder, dict) else None
        if isinstance(holder, dict) and isinstance(info, Mapping) and KEY in info:
            holder["model_info"] = {name: value for name, value in info.items() if name != KEY}


def _unmarked_fallbacks(given: Any) -> Any:
    """A client's own fallbacks, each of which may bring messages of its own: without marks, since none is opened."""
    if isinstance(given, list):
        return [_unmarked_fallbacks(each) for each in given]
    if not isinstance(given, dict):
        return given
    return {
        name: unmarked_rows(value) if name in _ROWS and isinstance(value, list) else _unmarked_fallbacks(value)
        for name, value in given.items()
    }


def _header(response: Any) -> dict[str, str] | None:
    found = report_of(response)
    if found is None:
        found = _noted.get().get(REPORT)
    if not isinstance(found, Report):
        return None
    counts = found.counts()
    restored = counts.get("restore", 0)
    if restored > 0:  # a miss is told as one too
        restored = sum(row.action == "restore" and row.reason == "restored" for row in found.rows)
    kept = counts.get("keep", 0) + counts.get("rename", 0)
    return {HEADER: f"kept={kept};dropped={counts.get('drop', 0)};restored={restored}"}


def _checks_keys(auth: Any) -> bool:
    """Whether the proxy has found the key good: without a master key and a check of the operator's it takes any."""
    if getattr(auth, "via_virtual_key", False) or getattr(auth, "authenticated_by_custom_auth", False):
        return True
    if getattr(proxy_server, "user_custom_auth", None) is not None:
        return True
    settings = _general()
    others = any(settings.get(f"enable_{kind}") for kind in ("jwt_auth", "oauth2_auth", "oauth2_proxy_auth"))
    return others or getattr(proxy_server, "master_key", None) is not None


def _maps_users() -> bool:
    return bool(_general().get("user_header_mappings"))


def _general() -> Mapping[str, Any]:
    found = getattr(proxy_server, "general_settings", None)
    return found if isinstance(found, Mapping) else {}


# How it is made


def proxy_callback() -> ProxyReplay:
    """The callback for this proxy.

    Raises:
        BadSettings: the operator has said something that cannot be.
    """
    return ProxyReplay(*settings_store_secret())


__all__ = ["HEADER", "ProxyReplay", "proxy_callback"]
