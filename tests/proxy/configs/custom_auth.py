"""Keys of the form `sk-{PROXY_KEY_SECRET}-{user}-{team}-{number}`; user `nobody` gets no tenant."""

import os

from fastapi import Request
from litellm.proxy._types import ProxyException, UserAPIKeyAuth


async def user_api_key_auth(request: Request, api_key: str | None) -> UserAPIKeyAuth:
    """Who a key belongs to; None: the request has none."""
    if api_key == os.environ["LITELLM_MASTER_KEY"]:
        return UserAPIKeyAuth(api_key=api_key, user_id="admin", team_id="admins")
    words = (api_key or "").split("-")
    if len(words) != 5 or words[:2] != ["sk", os.environ["PROXY_KEY_SECRET"]]:
        raise ProxyException(message="no such key", type="auth_error", param="api_key", code=401)
    _, _, user, team, _ = words
    return UserAPIKeyAuth() if user == "nobody" else UserAPIKeyAuth(api_key=api_key, user_id=user, team_id=team)
