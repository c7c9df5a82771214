"""Strict hosts: real HTTP servers on loopback that refuse what the real host refuses, in its words.

JUDGES is the table: who judges, how the host speaks, where we know it from and since when. A row is everything that is
known of a host here; no `if` in this package holds the name of a host. The rule table of the library is not imported.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from . import _claude, _claude_voice, _judges, _mistral, _openrouter, _voices
from ._law import MARK, Refusal, Verdict, calls_of, matches
from ._script import CANARY, Issuer, Part, Reply, Script, Sealed, Turn, reply_for, step_of
from ._server import Answer, Server
from ._voices import Voice

Law = Callable[[_claude.Case, Mapping[str, Any]], Verdict]


def by_body(judge: Callable[[Mapping[str, Any], Mapping[str, Any]], Verdict]) -> Law:
    """A law that needs the body alone."""
    return lambda case, options: judge(case.body, options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """One row of the table."""

    law: Law
    voice: Voice = field(default_factory=Voice)
    dialect: str = "chat"
    alias: str
    """The name by which a policy may call the real host (`Policy(aliases=host.alias)`)."""
    base: str = "/v1"
    """The path of the base URL that a client is given."""
    route: str = "/chat/completions"
    """What the client adds to it."""
    model: str
    """A model name of the real host for tests that do not care."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The judge's options and their defaults; `strict_host` takes these and no others."""
    new_call_id: Callable[[], str] = _voices.call_id
    signs: bool = False
    """Whether the host signs its reasoning."""
    seals: bool = True
    """Whether the host can write opaque parts; the others leave them out."""
    upstreams: tuple[_openrouter.Upstream, ...] = ()
    """The vendors behind a router; empty: the host is its own vendor."""
    source: str
    date: str
    confidence: str


DEEPSEEK_VOICE: Final = Voice(silent="", opening={"role": "assistant", "content": None, "reasoning_content": ""})

JUDGES: Final[Mapping[str, Judge]] = {
    "deepseek": Judge(
        law=by_body(_judges.deepseek_v4), voice=DEEPSEEK_VOICE, alias="deepseek", model="deepseek-v4-pro", seals=False,
        options={"filler": "any"},
        source="deepseek-recipe 0.2.0, ReasoningContentBehavior.Reject; filler modes: NousResearch/hermes-agent PR 17341, "
               "craft-agents-oss#703", date="2026-11-30", confidence="the host's own package",
    ),
    "deepseek-v3.2": Judge(
        law=by_body(_judges.deepseek_v32), voice=DEEPSEEK_VOICE, alias="deepseek", model="deepseek-reasoner", seals=False,
        options={"filler": "any"},
        source="https://api-docs.deepseek.com/guides/thinking_mode (V3.2); zed#44301, anomalyco/opencode#9397",
        date="2026-07-24", confidence="documented",
    ),
    "deepseek-r1": Judge(
        law=by_body(_judges.deepseek_r1), voice=DEEPSEEK_VOICE, alias="deepseek", model="deepseek-r1", seals=False,
        source="tidyverse/ellmer#972; the words are from memory", date="2026-05-06", confidence="several reports",
    ),
    "moonshot": Judge(
        law=by_body(_judges.moonshot), voice=Voice(silent=""), alias="moonshot", model="kimi-k2.5", seals=False, options={"filler": "any"},
        source="continuedev/continue#11600, anomalyco/opencode#16318, bytedance/deer-flow#3043", date="2026-05-11",
        confidence="several reports",
    ),
    "groq": Judge(
        law=by_body(_judges.groq), voice=Voice(key="reasoning", extra={"service_tier": "on_demand"}), alias="groq",
        base="/openai/v1", model="openai/gpt-oss-120b", seals=False,
        options={"reasoning_models": ("*gpt-oss*", "*qwen3*")},
        source="janhq/jan#8136, AstrBotDevs/AstrBot#5946, vercel/ai#8056", date="2026-08-30", confidence="several reports",
    ),
    "cerebras": Judge(
        law=by_body(_judges.cerebras), voice=Voice(key="reasoning"), alias="cerebras", model="gpt-oss-120b", seals=False,
        options={"reasoning_models": ("gpt-oss*", "zai-glm*", "qwen*")},
        source="Kilo-Org/kilocode#10375, egoist/chatwise-releases#1442; several lines: Alishahryar1/free-claude-code#1136",
        date="2026-07-16", confidence="several reports",
    ),
    "anthropic": Judge(
        law=lambda case, options: _claude.judge(case), dialect="anthropic", alias="anthropic", base="", route="/v1/messages", model="claude-sonnet-4-5",
        new_call_id=lambda: _voices.call_id("toolu_"), signs=True,
        source="Anthropic's pages on extended thinking, troubleshooting and preserved thinking; anthropic-sdk-python#1598",
        date="2026-09-12", confidence="documented",
    ),
    "mistral": Judge(
        law=by_body(_mistral.judge), alias="mistral", model="magistral-medium-latest", seals=False,
        voice=Voice(silent="", message=_voices.mistral_message, deltas=_voices.mistral_deltas),
        options={"reasoning_models": _mistral.REASONING}, new_call_id=_voices.short_call_id,
        source="mistral-common 1.13.1; charmbracelet/crush#1590, BerriAI/litellm#30835; chunks on other models: a guess",
        date="2026-07-31", confidence="the host's own package, and ours for chunks",
    ),
    "openrouter": Judge(
        law=lambda case, options: _openrouter.judge(case.body, case.issuer), alias="openrouter", base="/api/v1",
        model="anthropic/claude-sonnet-4.5", upstreams=_openrouter.UPSTREAMS,
        source="https://openrouter.ai/docs/use-cases/reasoning-tokens; dirac-run/dirac#5, inspect_ai PR 4080",
        date="2026-08-20", confidence="documented; the words of signature errors are the upstreams'",
    ),
    "unknown": Judge(
        law=by_body(_judges.permissive), alias="unknown", model="some-model", seals=False,
        source="no host: takes everything and records it", date="2026-11-30", confidence="ours",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """One request as it came over the wire. `repr` shows no body."""

    path: str
    headers: Mapping[str, str] = field(repr=False)
    """Names in lower case."""
    raw: bytes = field(repr=False)
    json: Any = field(repr=False)
    """The parsed body, None if it is no JSON."""
    status: int
    refusal: str | None = None
    """The error message that went back, None if the request was taken."""
    prompt: str | None = field(default=None, repr=False)
    """What the model would see, where the host's own package renders it (DeepSeek)."""
    reply: Any = field(default=None, repr=False)
    """The whole reply as a non-streaming client gets it."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the body."""
        return list(self.json["messages"])


class StrictHost:
    """A running strict host. Mutable: it records requests and what it issued, until `reset`."""

    def __init__(self, name: str, *, script: Script = None, steps: int = 2, **options: Any) -> None:
        if name not in JUDGES:
            raise ValueError(f"strict_host: no host {name!r}; there are: {', '.join(sorted(JUDGES))}")
        judge = JUDGES[name]
        surplus = sorted(set(options) - set(judge.options))
        if surplus:
            raise ValueError(f"strict_host({name!r}): no option {surplus[0]!r}; there are: script, steps, {', '.join(judge.options)}")
        if options.get("filler", "any") not in _judges.FILLERS:
            raise ValueError(f"strict_host({name!r}): no filler {options['filler']!r}; there are: {', '.join(_judges.FILLERS)}")
        self.kind, self.judge = name, judge
        self.options: dict[str, Any] = {**judge.options, **options}
        self._defaults = (script, steps, dict(self.options))
        self.script, self.steps = script, steps
        self.requests: list[Captured] = []
        self._issuer = Issuer(name, judge.new_call_id)
        self._memory = _claude.Memory()
        self._lock = threading.Lock()
        self._server = Server(self._answer)

    def __repr__(self) -> str:
        return f"<strict host {self.kind} at {self.name}: {len(self.requests)} requests, {len(self.refusals)} refused>"

    @property
    def name(self) -> str:
        """`127.0.0.1:PORT`: what an Origin of this host holds."""
        return f"127.0.0.1:{self._server.port}"

    @property
    def url(self) -> str:
        """The base URL to give to a client."""
        return f"http://{self.name}{self.judge.base}"

    @property
    def endpoint(self) -> str:
        """The full URL that a client ends up calling."""
        return self.url + self.judge.route

    @property
    def dialect(self) -> str:
        """`chat` or `anthropic`."""
        return self.judge.dialect

    @property
    def model(self) -> str:
        """A model name of the real host."""
        return self.judge.model

    @property
    def alias(self) -> dict[str, str]:
        """For `Policy(aliases=...)`: this address is treated as the real host."""
        return {self.name: self.judge.alias}

    @property
    def last(self) -> Captured:
        """The newest request."""
        return self.requests[-1]

    @property
    def refusals(self) -> list[str]:
        """The error messages that went back, oldest first."""
        return [r.refusal for r in self.requests if r.refusal is not None]

    @property
    def issued(self) -> Mapping[str, str]:
        """What to search other bodies for -> the upstream it was issued under ("" where there is none)."""
        return dict(self._issuer.issued)

    @property
    def saw_mark(self) -> bool:
        """Whether our mark was in any body."""
        return any(MARK in r.raw for r in self.requests)

    def lost(self, request: Captured | None = None) -> list[str]:
        """What this host issued with the calls in a request's history and does not get back in it (default: the last)."""
        raw = (request or self.last).raw.decode("utf-8", "replace")
        return [w for id, words in dict(self._issuer.replies).items() if id in raw for w in words if w not in raw]

    def reset(self, *, script: Script = None, steps: int | None = None, **options: Any) -> None:
        """Forget requests and what was issued, go back to the options of the start, and change those that are given."""
        with self._lock:
            first_script, first_steps, first_options = self._defaults
            self.script = first_script if script is None else script
            self.steps = first_steps if steps is None else steps
            self.options = {**first_options, **options}
            self.requests.clear()
            self._issuer.reset()
            self._memory.by_key.clear()

    def start(self) -> StrictHost:
        """Open the port."""
        self._server.start()
        return self

    def stop(self) -> None:
        """Close the port."""
        self._server.stop()

    # One request --------------------------------------------------------------------------------------------------

    def _answer(self, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        with self._lock:
            try:
                return self._judged(path, headers, raw)
            except Exception as error:  # a fault of the test's own host must be seen in the test, not guessed at
                text = f"strict host {self.kind}: {type(error).__name__}: {error}"
                return self._refused(path, headers, raw, None, Refusal(500, {"error": {"message": text}}, text))

    def _judged(self, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not path.endswith(self.judge.route) or not isinstance(body, dict):
            text = f"Not Found: {path}" if isinstance(body, dict) else "We could not parse the JSON body of your request."
            refusal = _judges.openai_error(text, status=404 if isinstance(body, dict) else 400)
            return self._refused(path, headers, raw, body, refusal)
        case = _claude.Case(body, headers, self._issuer, self._memory)
        verdict = self.judge.law(case, self.options)
        if verdict.refusal is not None:
            return self._refused(path, headers, raw, body, verdict.refusal)
        return self._spoken(path, headers, raw, case, verdict)

    def _refused(self, path: str, headers: Mapping[str, str], raw: bytes, body: Any, refusal: Refusal) -> Answer:
        status, said, text = refusal
        self.requests.append(Captured(path=path, headers=headers, raw=raw, json=body, status=status, refusal=text, reply=said))
        return Answer(status=status, body=json.dumps(said).encode())

    def _spoken(self, path: str, headers: Mapping[str, str], raw: bytes, case: _claude.Case, verdict: Verdict) -> Answer:
        body = case.body
        turn = self._turn(case)
        reply = reply_for(self.script, self.steps, turn)
        if reply.status != 200:
            text = "Service unavailable"
            return self._refused(path, headers, raw, body, _judges.openai_error(text, status=reply.status))
        model = case.model or self.model
        choices = [self._filled(parts, turn.step, model) for parts in (reply.parts, *reply.more)]
        if self.dialect == "anthropic":
            self._memory.note(choices[0], case)
            whole = _claude_voice.message(choices[0], model)
        else:
            whole = _voices.completion(choices, self._voice(model), model)
        self.requests.append(Captured(path=path, headers=headers, raw=raw, json=body, status=200, prompt=verdict.prompt, reply=whole))
        if not body.get("stream"):
            return Answer(body=json.dumps(whole).encode())
        events = list(self._events(choices, whole, model, reply, body))
        return Answer(events=events[: reply.cut], broken=reply.cut is not None)

    def _filled(self, parts: Sequence[Part], step: int, model: str) -> tuple[Part, ...]:
        upstream = self._upstream(model)
        signs, seals = (upstream.signs, upstream.seals) if upstream else (self.judge.signs, self.judge.seals)
        kept = [part for part in parts if seals or not isinstance(part, Sealed)]
        return self._issuer.fill(kept, scope=upstream.name if upstream else "", step=step, signs=signs)

    def _upstream(self, model: str) -> _openrouter.Upstream | None:
        return next((u for u in self.judge.upstreams if matches(model, u.models)), None)

    def _voice(self, model: str) -> Voice:
        upstream = self._upstream(model)
        return upstream.voice() if upstream else self.judge.voice

    def same_upstream(self, request: Captured, scope: str) -> bool:
        """Whether a request went to the vendor that something was issued under. Always so where there is one vendor."""
        upstream = self._upstream(str(request.json.get("model", ""))) if isinstance(request.json, dict) else None
        return upstream is None or upstream.name == scope

    def _events(
        self, choices: Sequence[Sequence[Part]], whole: dict[str, Any], model: str, reply: Reply, body: Mapping[str, Any]
    ) -> Iterator[str]:
        if self.dialect == "anthropic":
            return _claude_voice.events(whole, reply.pieces)
        tail = reply.tail or bool((body.get("stream_options") or {}).get("include_usage"))
        return _voices.chunks(choices, self._voice(model), model, pieces=reply.pieces, tail=tail)

    def _turn(self, case: _claude.Case) -> Turn:
        answered = sum(1 for r in self.requests if r.status == 200)
        if self.dialect == "anthropic":
            step = step_of(case.messages, lambda m: any(b.get("type") == "tool_use" for b in _claude.content_of(m)))
            thinking = case.mode in (_claude.MANUAL, _claude.ADAPTIVE)
        else:
            step = step_of(case.body["messages"], lambda m: bool(calls_of(m)))
            thinking = not _judges.thinking_off(case.body)
        return Turn(case.body, step, answered, thinking, bool(case.body.get("tools")))


@contextmanager
def strict_host(name: str, *, script: Script = None, steps: int = 2, **options: Any) -> Iterator[StrictHost]:
    """A strict host for the time of a `with` block.

    `name` is a key of JUDGES. `steps` is how many calls the scripted model makes before it answers; `script` replaces the
    model: a list of replies in order of requests, or a function of a Turn. Other options are those of the judge.
    """
    host = StrictHost(name, script=script, steps=steps, **options).start()
    try:
        yield host
    finally:
        host.stop()


def aliases(hosts: Iterable[StrictHost]) -> dict[str, str]:
    """One mapping for `Policy(aliases=...)` over several hosts."""
    return {name: kind for host in hosts for name, kind in host.alias.items()}


@dataclass(frozen=True, slots=True)
class Foreign:
    """Reasoning found at a host that did not write it."""

    at: StrictHost
    written_by: StrictHost
    request: int
    """Index in `at.requests`."""
    word: str = field(repr=False)


def foreign_bytes(hosts: Iterable[StrictHost]) -> list[Foreign]:
    """Every canary, signature or sealed string in a raw body of a host that did not issue it."""
    all_hosts = list(hosts)
    return [
        Foreign(host, writer, index, word)
        for host in all_hosts
        for index, request in enumerate(host.requests)
        for writer in all_hosts
        for word, scope in writer.issued.items()
        if word.encode() in request.raw and (writer is not host or not host.same_upstream(request, scope))
    ]


def canaries_in(text: str) -> list[str]:
    """The canary words in a text: for logs, reports and errors, where there must be none."""
    return re.findall(re.escape(CANARY) + r"[\w.-]+", text)
