"""When something inside fails: the call goes on, and no reasoning with it.

Apart from the engine and the rules on purpose: it must work when they do not. It needs the form's `strip` and the one
small table below. Table: what a host demands on assistant messages even when there is nothing to send.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ._guards import says_how_to_think, without_thinking
from ._history import HistoryError
from .forms import Form, as_mapping, form_for, given_back


class Demand(NamedTuple):
    """A placeholder that a host wants instead of nothing."""

    names: tuple[str, ...]
    """Host names, as globs, and hints."""
    models: str
    """Glob on the model's name; first match wins."""
    fill: str | None
    thinks: bool = False
    """It thinks unless it is told not to, in the Anthropic dialect too: there a bare tool turn is refused."""


_ROUTERS = ("openrouter.ai", "openrouter", "opencode.ai", "opencode")
_NVIDIA = ("integrate.api.nvidia.com", "nvidia_nim")
_SERVERS = (
    *("ai-gateway.vercel.sh", "vercel_ai_gateway", "router.huggingface.co", "huggingface", "api.venice.ai", "veniceai"),
    *("gateway.ai.cloudflare.com", "clf_ai_gateway", "api.cloudflare.com", "cloudflare", "api.novita.ai", "novita"),
)

DEMANDS = (
    # DeepSeek's guide, 2026-11-30: 400 without the field from V3.2 on; the R1 models refused it.
    Demand(("api.deepseek.com", "deepseek"), "*deepseek-r1*", None),
    Demand(("api.deepseek.com", "deepseek"), "*", "", thinks=True),
    # "reasoning_content is missing in assistant tool call message", many reports 2026; "" is taken.
    Demand(("api.moonshot.ai", "api.moonshot.cn", "moonshot"), "*", "", thinks=True),
    Demand(("api.kimi.com", "api.kimi.ai", "kimi-code"), "*", "", thinks=True),
    # MiMo's guide, 2026-05-12: in both dialects, once a tool was called.
    Demand(("api.xiaomimimo.com", "token-plan-*.xiaomimimo.com", "xiaomi_mimo"), "*", "", thinks=True),
    # Who fronts the first party passes its refusal on; who serves the weights copied it (clients' tables, 2026-09).
    Demand((*_ROUTERS, *_NVIDIA, *_SERVERS), "*deepseek*", ""),
    Demand((*_ROUTERS, *_NVIDIA), "*kimi*", ""),
    Demand(_NVIDIA, "*glm-5*", ""),
    # models.dev and two clients, 2026-11: the field on every assistant message.
    Demand(("api.fireworks.ai", "fireworks_ai"), "*kimi-k3*", ""),
    Demand(("api.fireworks.ai", "fireworks_ai", "*.azure.com", "azure", "azure_ai"), "*deepseek-v4*", ""),
)


NONE = Demand((), "*", None)
SEALS = (("*gemini-1*", None), ("*gemini-2*", None), ("*gemma*", None), ("*", "skip_thought_signature_validator"))
"""Model → what stands for a call's signature in Gemini's own form; the first match wins. Both frameworks write it
themselves, and in the OpenAI-compatible dialect nothing can."""


def demanded(host: str, hint: str | None, model: str | None) -> Demand:
    """What the host demands of this model."""
    for demand in DEMANDS:
        asked = hint in demand.names or any(fnmatchcase(host, name) for name in demand.names)
        if asked and fnmatchcase((model or "").lower(), demand.models):
            return demand
    return NONE


def _seal(form: str, model: str | None) -> str | None:
    """What stands for a signature, where the form is the one that has a place for it."""
    name = (model or "").lower()
    return next(fill for models, fill in SEALS if fnmatchcase(name, models)) if form == "gemini" else None


def _is_off(request: Mapping[str, Any]) -> bool:
    thinking = request.get("thinking")
    switched = isinstance(thinking, Mapping) and thinking.get("type") == "disabled"
    return switched or request.get("reasoning_effort") == "none"


def _readable(form: Form, messages: Any) -> list[Mapping[str, Any]]:
    """The messages as mappings, without those that nobody can read."""
    try:
        return form.rows(messages)
    except HistoryError:
        return [row for message in messages if (row := as_mapping(message)) is not None]


def stripped(
    messages: Any, *, form: str | None, dialect: str, host: str, hint: str | None, model: str | None, request: Any
) -> tuple[list[Any], Mapping[str, Any] | None]:
    """Messages without any reasoning, and the parameters that such messages pass with.

    In the anthropic dialect thinking is switched off: with it on, a tool turn without its block is refused.
    """
    shape = form_for(form, dialect)
    if shape.back is None:
        rows = given = _readable(shape, messages)
    else:
        given, rows = messages, shape.rows(messages)
    demand, asked = demanded(host, hint, model), request if isinstance(request, Mapping) else {}
    if dialect == "chat":
        fill = None if _is_off(asked) else demand.fill
        return given_back(shape, given, rows, shape.strip(rows, fill)), request
    left = given_back(shape, given, rows, shape.strip(rows, _seal(shape.name, model)))
    if demand.thinks:
        return left, {**without_thinking(asked), "thinking": {"type": "disabled"}}
    return left, without_thinking(asked) if says_how_to_think(asked) else request
