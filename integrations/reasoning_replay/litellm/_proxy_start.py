"""What the proxy's callback is made of: its configuration as LiteLLM has read it, checked, and told in one line.

A setting that cannot be is one line in the log before it stops the proxy, since LiteLLM's traceback is long. No value
is told: no path, no url, no secret. Must not know requests.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from litellm.proxy import proxy_server

from .._known import first_time
from ..stores import Store
from ._proxy_settings import (
    BadSettings,
    Settings,
    block_of,
    default_path,
    deployment_policy,
    settings_from,
    store_for,
)

_log = logging.getLogger("reasoning_replay")


def settings_store_secret() -> tuple[Settings, Store | None, bytes]:
    """What the operator says.

    Raises:
        BadSettings: something that cannot be.
    """
    _let_log()
    try:
        config = _config()
        settings = settings_from(_with_names(block_of(config)), os.environ)
        for number, entry in enumerate(config.get("model_list") or ()):
            deployment_policy(entry, number, settings.policy)
        store = _store(settings)
    except BadSettings as error:
        if first_time(("settings", str(error))):
            _log.error("reasoning-replay: the proxy cannot start: %s", error)
        raise
    secret, where = _secret(settings, config)
    kind = "off" if store is None else type(store).__name__
    _log.info("reasoning-replay: store %s, one tenant a %s, secret: %s", kind, settings.tenant, where)
    return settings, store, secret


def _let_log() -> None:
    """Our lines go to stderr, as LiteLLM's, unless the operator has set up logging: Python would drop the INFO."""
    if not _log.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        _log.addHandler(handler)
        _log.propagate = False
        if _log.level == logging.NOTSET:
            _log.setLevel(logging.INFO)


def _with_names(block: Any) -> Any:
    """The block with `os.environ/X` where LiteLLM has found no such variable and put None."""
    if not isinstance(block, Mapping) or None not in block.values():
        return block
    written = _written()
    return {name: _name_in(written, name) if value is None else value for name, value in block.items()}


def _name_in(written: Mapping[str, Any], name: str) -> str | None:
    found = written.get(name)
    return found if isinstance(found, str) and found.startswith("os.environ/") else None


def _written() -> Mapping[str, Any]:
    """The block as it stands in the file; empty where it came from somewhere else."""
    import yaml  # the proxy needs it

    try:
        config = yaml.safe_load(Path(str(proxy_server.user_config_file_path)).read_text("utf-8"))
        block = block_of(config)
    except (OSError, ValueError, AttributeError, yaml.YAMLError):
        return {}
    return block if isinstance(block, Mapping) else {}


def _config() -> Mapping[str, Any]:
    """The proxy's config.yaml as LiteLLM has read it, `os.environ/…` resolved; empty where there is none."""
    found = getattr(getattr(proxy_server, "proxy_config", None), "config", None)
    return found if isinstance(found, Mapping) else {}


def _store(settings: Settings) -> Store | None:
    path = default_path(os.environ)
    try:
        return store_for(settings, path)
    except (BadSettings, OSError):
        if settings.store is not None:
            raise
    _log.warning(
        "reasoning-replay: %s cannot be written, so what clients drop is kept in memory, each worker by itself; "
        "set REASONING_REPLAY_STORE (sqlite:///path, redis://…, memory, off)",
        path,
    )
    return store_for(Settings(store="memory", bounds=settings.bounds), path)


def _secret(settings: Settings, config: Mapping[str, Any]) -> tuple[bytes, str]:
    """What marks are sealed with, and where it is from. Never used as it is: the sealer derives its keys."""
    general = config.get("general_settings")
    master = general.get("master_key") if isinstance(general, Mapping) else None
    given = (
        (settings.secret, "set"),
        (os.environ.get("LITELLM_SALT_KEY"), "LITELLM_SALT_KEY"),
        (master, "the master key"),
        (os.environ.get("LITELLM_MASTER_KEY"), "the master key"),
    )
    for secret, where in given:
        if isinstance(secret, str) and secret != "":
            return secret.encode(), where
    _log.warning(
        "reasoning-replay: no secret to seal marks with; this process has made one up, so marks are worth nothing "
        "in another worker or after a restart. Set REASONING_REPLAY_SECRET (`openssl rand -hex 32`), the same in all"
    )
    return secrets.token_bytes(32), "made up by this process"
