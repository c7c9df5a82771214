"""The router host: one address in front of many vendors. Its judge, its table of upstreams, and its way to speak.

An upstream is found by the vendor in front of the model's name. A signature is good only for the upstream that it was
issued under. What an upstream refuses comes back inside `Provider returned error`, as the router hands it on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ._judges import MOONSHOT_MISSING, deepseek_error, openai_error, short_error, thinking_off, well_formed
from ._law import Refusal, Verdict, assistants, calls_of, last_user, matches
from ._script import Issuer, Part, Sealed, Summary, Think, is_set
from ._voices import Voice, call_deltas, cut, plain_message, text_deltas, texts_of

CLAUDE_FORMAT: Final = "anthropic-claude-v1"
GEMINI_FORMAT: Final = "google-gemini-v1"
OPENAI_FORMAT: Final = "openai-responses-v1"
PLAIN_FORMAT: Final = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """One vendor behind the router."""

    name: str
    """The vendor: what an issued word is remembered under."""
    models: tuple[str, ...]
    shown: str
    """`provider_name` in errors and `provider` in replies."""
    format: str
    signs: bool = False
    """Whether readable reasoning must carry the upstream's signature."""
    seals: bool = False
    """Whether it writes encrypted entries."""
    needs: str | None = None
    """Which messages must carry reasoning: `current_turn`, `calls`, `sealed_calls`, or None."""

    def voice(self) -> Voice:
        """How replies of this upstream look."""
        return Voice(
            key=self.format,
            extra={"provider": self.shown, "system_fingerprint": None},
            message=_message,
            deltas=_deltas,
        )


UPSTREAMS: Final = (
    Upstream(name="anthropic", models=("anthropic/*",), shown="Anthropic", format=CLAUDE_FORMAT, signs=True, seals=True),
    Upstream(name="google", models=("google/gemini*",), shown="Google", format=GEMINI_FORMAT, signs=True, seals=True,
             needs="sealed_calls"),
    Upstream(name="openai", models=("openai/*",), shown="OpenAI", format=OPENAI_FORMAT, seals=True),
    Upstream(name="deepseek", models=("deepseek/*",), shown="DeepSeek", format=PLAIN_FORMAT, needs="current_turn"),
    Upstream(name="moonshotai", models=("moonshotai/*",), shown="Moonshot AI", format=PLAIN_FORMAT, needs="calls"),
    Upstream(name="other", models=("*",), shown="Other", format=PLAIN_FORMAT),
)  # fmt: skip
"""First match decides. Reasoning token guide of openrouter.ai; its client 2.10.0 (issues #418, #423); inspect_ai PR 4080."""

GEMINI_MISSING: Final = (
    "Gemini models require OpenRouter reasoning details to be preserved in each request. Please refer to our docs: "
    "https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#preserving-reasoning-blocks. Upstream error: "
)
"""Wraps missing and corrupted signatures alike."""


def upstream_of(model: str) -> Upstream:
    """The upstream of a model's name."""
    return next(u for u in UPSTREAMS if matches(model, u.models))


def judge(body: Mapping[str, Any], issuer: Issuer) -> Verdict:
    """The router's own shape, then what the upstream says."""
    shape = well_formed(body, openai_error)
    if shape is not None:
        return Verdict(shape)
    upstream = upstream_of(str(body.get("model", "")))
    for index, message in assistants(body["messages"]):
        details = message.get("reasoning_details")
        raw = _faulty(details, upstream, issuer) if isinstance(details, list) else None
        raw = raw or (_disordered(message, details, issuer) if isinstance(details, list) else None)
        raw = raw or _missing(body, index, message, upstream)
        if raw is not None:
            return Verdict(returned(raw.format(at=f"{index}.content.0"), upstream))
    return Verdict()


def returned(raw: str, upstream: Upstream) -> Refusal:
    """The router's error around an upstream's."""
    error = {
        "message": "Provider returned error",
        "code": 400,
        "metadata": {"raw": raw, "provider_name": upstream.shown},
    }
    return Refusal(400, {"error": error, "user_id": "user_strict"}, f"Provider returned error: {raw}")


BAD_SIGNATURE: Final[Mapping[str, str]] = {
    CLAUDE_FORMAT: '{{"type":"error","error":{{"type":"invalid_request_error","message":"messages.{at}: Invalid `signature` in `thinking` block"}}}}',
    GEMINI_FORMAT: GEMINI_MISSING + "Invalid thought signature.",
    OPENAI_FORMAT: "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
    PLAIN_FORMAT: "Unsupported reasoning details",
}
NO_SIGNATURE: Final[Mapping[str, str]] = {
    CLAUDE_FORMAT: '{{"type":"error","error":{{"type":"invalid_request_error","message":"messages.{at}.thinking.signature: Field required"}}}}',
    GEMINI_FORMAT: GEMINI_MISSING + "Function call is missing a thought_signature in functionCall parts.",
}


def _faulty(details: Sequence[Any], upstream: Upstream, issuer: Issuer) -> str | None:
    """Whether an entry is not as this router issued it under this upstream."""
    for entry in details:
        if not isinstance(entry, Mapping):
            return BAD_SIGNATURE[upstream.format]
        kind, form = entry.get("type"), entry.get("format") or CLAUDE_FORMAT
        if form != upstream.format:
            return BAD_SIGNATURE[upstream.format]
        if kind == "reasoning.text" and upstream.signs:
            signature = entry.get("signature")
            if not isinstance(signature, str) or signature == "":
                return NO_SIGNATURE[upstream.format]
            if not issuer.opens(signature, "thinking", upstream.name, str(entry.get("text"))):
                return BAD_SIGNATURE[upstream.format]
        if kind == "reasoning.encrypted" and not issuer.opens(str(entry.get("data")), "data", upstream.name, ""):
            return BAD_SIGNATURE[upstream.format]
    return None


def _disordered(message: Mapping[str, Any], details: Sequence[Any], issuer: Issuer) -> str | None:
    """Whether entries that came with this message's calls changed places, or only some of them are there."""
    texts = [json.dumps(entry) for entry in details]
    for call in calls_of(message):
        words = issuer.replies.get(str(call.get("id")), ())
        places = [next((i for i, text in enumerate(texts) if word in text), -1) for word in words]
        if any(p >= 0 for p in places) and (min(places) < 0 or places != sorted(places)):
            return BAD_SIGNATURE[upstream_of_details(details).format]
    return None


def upstream_of_details(details: Sequence[Any]) -> Upstream:
    """The upstream that speaks the format of the first entry."""
    form = details[0].get("format") or CLAUDE_FORMAT
    return next(u for u in UPSTREAMS if u.format == form)


def _missing(body: Mapping[str, Any], index: int, message: Mapping[str, Any], upstream: Upstream) -> str | None:
    """What the upstream says to a message without the reasoning that it needs."""
    now = index > last_user(body["messages"])
    details = message.get("reasoning_details")
    if upstream.needs == "sealed_calls":
        sealed = any(e.get("type") == "reasoning.encrypted" for e in details or ())
        return NO_SIGNATURE[upstream.format] if now and calls_of(message) and not sealed else None
    wanted = {"current_turn": now, "calls": bool(calls_of(message))}.get(upstream.needs or "", False)
    readable = [message.get(key) for key in ("reasoning_content", "reasoning")]
    if not wanted or thinking_off(body) or _switched_off(body) or details or any(isinstance(r, str) for r in readable):
        return None
    raw = (
        MISSING[upstream.name].body
        if upstream.needs == "current_turn"
        else short_error(MOONSHOT_MISSING.format(index=index)).body
    )
    return json.dumps(raw).replace("{", "{{").replace("}", "}}")


def _switched_off(body: Mapping[str, Any]) -> bool:
    reasoning = body.get("reasoning")
    return isinstance(reasoning, Mapping) and (reasoning.get("enabled") is False or reasoning.get("effort") == "none")


MISSING: Final = {
    "deepseek": deepseek_error("The `reasoning_content` in the thinking mode must be passed back to the API.")
}


# Speaking -------------------------------------------------------------------------------------------------------------


def _entries(parts: Sequence[Part], form: str) -> list[dict[str, Any]]:
    """The reasoning details of a reply."""
    entries: list[dict[str, Any]] = []
    for part in parts:
        index = len(entries)
        match part:
            case Think(text=text, signature=signature):
                entry = {"type": "reasoning.text", "text": is_set(text) or "", "format": form, "index": index}
                entries.append(entry | ({"signature": is_set(signature)} if signature is not None else {}))
            case Summary(text=text):
                entries.append({"type": "reasoning.summary", "summary": is_set(text), "format": form, "index": index})
            case Sealed(data=data):
                entries.append({"type": "reasoning.encrypted", "data": is_set(data), "format": form, "index": index})
            case _:
                pass
    return entries


def _message(parts: Sequence[Part], voice: Voice) -> dict[str, Any]:
    message = plain_message([p for p in parts if not isinstance(p, Think | Summary | Sealed)], voice)
    entries = _entries(parts, voice.key)
    said = [e["text"] if "text" in e else e["summary"] for e in entries if "data" not in e]
    return message | ({"reasoning": "".join(said) if said else None, "reasoning_details": entries} if entries else {})


FRAGMENT: Final = {"reasoning.text": "text", "reasoning.summary": "summary"}


def _deltas(parts: Sequence[Part], voice: Voice, pieces: int) -> Iterator[dict[str, Any]]:
    """Text fragments with their details beside them; signatures and encrypted entries in deltas of their own."""
    yield dict(voice.opening)
    for entry in _entries(parts, voice.key):
        key = FRAGMENT.get(entry["type"])
        if key is None:
            yield {"reasoning_details": [entry]}
            continue
        bare = {k: v for k, v in entry.items() if k not in (key, "signature")}
        for piece in cut(entry[key], pieces):
            yield {"content": "", "reasoning": piece, "reasoning_details": [{**bare, key: piece}]}
        if "signature" in entry:
            yield {"content": "", "reasoning_details": [{**bare, "signature": entry["signature"]}]}
    yield from text_deltas(parts, "content", texts_of(parts), pieces)
    yield from call_deltas(parts, voice, pieces)
