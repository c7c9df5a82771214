"""A running strict host: a real HTTP server on loopback that judges, answers, and keeps what it received.

The judge, the voice and their sources stand in `_strict`; this file knows the order of the steps and no host.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final

from . import _judges
from ._bedrock_case import REDACTED
from ._claude_case import Case, Memory
from ._dialect import NO_BODY, Saying, Upstream
from ._dialects import DIALECTS
from ._judges import FILLERS
from ._law import MARK, Refusal, Verdict, matches
from ._responses_voice import ENCRYPTS
from ._script import Issuer, Part, Script, Sealed, Summary, Think, Turn, reply_for
from ._server import Answer, Server
from ._strict import JUDGES, Judge
from ._voices import Voice


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
        """The history in the body as it stands there: messages, items or contents."""
        history = next(self.json[key] for key in HISTORY if key in self.json)
        return list(history) if isinstance(history, list) else [{"role": "user", "content": history}]


HISTORY: Final = ("messages", "input", "contents")
"""The key of the history, by dialect."""


class StrictHost:
    """A running strict host. Mutable: it records requests and what it issued, until `reset`."""

    def __init__(self, name: str, *, script: Script = None, steps: int = 2, **options: Any) -> None:
        if name not in JUDGES:
            raise ValueError(f"strict_host: no host {name!r}; there are: {', '.join(sorted(JUDGES))}")
        judge = JUDGES[name]
        _check_options(name, judge, options)
        missing = [package for package in judge.needs if find_spec(package) is None]
        if missing:
            raise ImportError(
                f"strict_host({name!r}) is judged by {missing[0]}, which is not installed; "
                "install it with: pip install 'reasoning-replay[testing]'"
            )
        self.kind, self.judge = name, judge
        self._speaks = DIALECTS[judge.dialect]
        self.options: dict[str, Any] = {**judge.options, **options}
        self._defaults = (script, steps, dict(self.options))
        self.script, self.steps = script, steps
        self.requests: list[Captured] = []
        self.faults: list[str] = []
        self._replied = 0
        self._issuer = Issuer(name, judge.new_call_id)
        self._memory = Memory()
        self._lock = threading.Lock()
        self._server = Server(self._answer, self._fault)

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
        return self.url + self.judge.route.format(model=self.model)

    @property
    def dialect(self) -> str:
        """A name of the table of dialects: `chat`, `anthropic`, …"""
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
        """What this host issued with the replies in a request's history and cannot read in it (default: the last request).

        A reply is known by the ids of its calls, or by the default model's own last line; where clients leave ids out, by
        the arguments, which several replies may share. Reasoning under a key that the host does not read is lost.
        """
        said = [row for row in self.rows(request or self.last) if self._speaks.is_said(row)]
        written = [(json.dumps(row), self._speaks.readable(row, self.judge.reads)) for row in said]
        known = [(sign, [words]) for sign, words in dict(self._issuer.replies).items()]
        lost = [
            word
            for sign, replies in (*known, *dict(self._issuer.alike).items())
            for whole, readable in written
            if sign in whole and not any(all(word in readable for word in words) for words in replies)
            for word in replies[0]
            if word not in readable
        ]
        return list(dict.fromkeys(lost))

    def rows(self, request: Captured) -> list[dict[str, Any]]:
        """A request's history, one row a message; where one reply is many items, one row a reply."""
        return self._speaks.rows(request.json)

    def reset(self, *, script: Script = None, steps: int | None = None, **options: Any) -> None:
        """Forget requests and what was issued, go back to the options of the start, and change those that are given."""
        _check_options(self.kind, self.judge, options)
        with self._lock:
            first_script, first_steps, first_options = self._defaults
            self.script = first_script if script is None else script
            self.steps = first_steps if steps is None else steps
            self.options = {**first_options, **options}
            self.requests.clear()
            self.faults.clear()
            self._replied = 0
            self._issuer.reset()
            self._memory.clear()

    def start(self) -> StrictHost:
        """Open the port."""
        self._server.start()
        return self

    def stop(self) -> None:
        """Close the port."""
        self._server.stop()

    def begin_stop(self) -> None:
        """Ask for the end without waiting; `stop` waits."""
        self._server.begin_stop()

    # One request --------------------------------------------------------------------------------------------------

    def _answer(self, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        with self._lock:
            return self._judged(path, headers, raw)

    def _fault(self, error: Exception) -> Answer:
        """A fault of the script or of the host itself: a 500 that says so, and kept for the test."""
        text = f"strict host {self.kind}: {type(error).__name__}: {error}"
        self.faults.append(text)
        return Answer(status=500, body=json.dumps({"error": {"message": text}}).encode())

    def _judged(self, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return self._refused(path, headers, raw, body, _judges.openai_error(NO_BODY))
        named = self.judge.at(path)
        if named is None:
            refusal = _judges.openai_error(self._speaks.not_found.format(path=path), status=404)
            return self._refused(path, headers, raw, body, refusal)
        case = Case(body, headers, self._issuer, self._memory, path, named, options=self.options)
        upstream = self._upstream(case.model)
        case = case._replace(scope=upstream.name if upstream else "")
        verdict = self.judge.law(case, self.options)
        if verdict.refusal is not None:
            return self._refused(path, headers, raw, body, verdict.refusal)
        return self._spoken(path, headers, raw, case, verdict)

    def _refused(self, path: str, headers: Mapping[str, str], raw: bytes, body: Any, refusal: Refusal) -> Answer:
        status, said, text = refusal
        self.requests.append(
            Captured(path=path, headers=headers, raw=raw, json=body, status=status, refusal=text, reply=said)
        )
        return Answer(status=status, body=json.dumps(said).encode())

    def _spoken(self, path: str, headers: Mapping[str, str], raw: bytes, case: Case, verdict: Verdict) -> Answer:
        body = case.body
        turn = self._turn(case)
        reply = reply_for(self.script, self.steps, turn)
        self._replied += 1
        if reply.status != 200:
            return self._refused(path, headers, raw, body, self.judge.fails(reply.status))
        model = case.model or self.model
        choices = [self._filled(parts, case, turn.step, model) for parts in (reply.parts, *reply.more)]
        saying = Saying(choices, model, self._voice(model), reply, case)
        whole = self._speaks.whole(saying)
        self._speaks.note(saying, whole)
        self.requests.append(
            Captured(path=path, headers=headers, raw=raw, json=body, status=200, prompt=verdict.prompt, reply=whole)
        )
        if not self._speaks.streams(case):
            return Answer(body=json.dumps(whole).encode())
        events = list(self._speaks.events(saying, whole))
        return Answer(events=events[: reply.cut], broken=reply.cut is not None, media=self._speaks.media)

    def _filled(self, parts: Sequence[Part], case: Case, step: int, model: str) -> tuple[Part, ...]:
        upstream = self._upstream(model)
        signs, seals = (upstream.signs, upstream.seals) if upstream else (self.judge.signs, self.judge.seals)
        hidden = () if matches(model, self.judge.shows) else (Think, Summary, Sealed)
        kept = [part for part in self._speaks.shape(parts, case) if seals or not isinstance(part, Sealed)]
        kept = [part for part in kept if not isinstance(part, hidden)]
        return self._issuer.fill(kept, scope=upstream.name if upstream else "", step=step, signs=signs)

    def _upstream(self, model: str) -> Upstream | None:
        return next((u for u in self.judge.upstreams if matches(model, u.models)), None)

    def _voice(self, model: str) -> Voice:
        upstream = self._upstream(model)
        return upstream.voice() if upstream else self.judge.voice

    def same_upstream(self, request: Captured, scope: str) -> bool:
        """Whether a request went to the vendor that something was issued under. Always so where there is one vendor."""
        if not isinstance(request.json, dict):
            return True
        upstream = self._upstream(str(request.json.get("model") or self.judge.at(request.path) or ""))
        return upstream is None or upstream.name == scope

    def _turn(self, case: Case) -> Turn:
        thinking, tools = self._speaks.thinking(case), self._speaks.tools(case)
        return Turn(case.body, self._speaks.step_in(case), self._replied, thinking, tools)


def _check_options(name: str, judge: Judge, options: Mapping[str, Any]) -> None:
    surplus = sorted(set(options) - set(judge.options))
    if surplus:
        known = ", ".join(("script", "steps", *judge.options))
        raise ValueError(f"strict_host({name!r}): no option {surplus[0]!r}; there are: {known}")
    for key, choices in CHOICES.items():
        chosen = options.get(key, choices[0])
        if chosen not in choices:
            raise ValueError(f"strict_host({name!r}): no {key} {chosen!r}; there are: {', '.join(choices)}")


CHOICES: Final = {"filler": FILLERS, "encrypts": ENCRYPTS, "redacted": REDACTED}
"""The options whose values are a few words."""


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
