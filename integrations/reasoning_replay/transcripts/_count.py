"""What a request will be billed as its prompt, by the plan that `prepare` makes of it.

Counted is what is sent and read: the planned messages, the reasoning that the plan keeps inside the rule's own window,
the tools and the system text of the request, and what the model's template writes around all of it. Sealed reasoning is
what its reply's usage says, else a named estimate, never the length of its base64. Nothing is sent, nobody is told.
It knows no host, no model and no vocabulary: `_count_families` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .._history import WINDOWS
from .._known import Known
from .._origin import path_of
from .._params import ABSENT, find
from .._plan import Plan, Work
from .._policy import Policy
from .._replay import prepare_untold
from .._rules import UNKNOWN, Choice, select
from ..forms._spoken import Spoken, spoken
from ..hosts import all_hosts
from ._count_families import Family, Template, family_of, words_for
from ._count_prompt import message_cost, system_texts, tools_cost, tools_of
from ._count_reasoning import ReasoningCost, reasoning_cost
from ._count_words import Words, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What a prompt is made of, in tokens. Holds no text."""

    visible: int
    """Texts, calls, results, pictures, and the system text of the request."""
    reasoning: int
    """Reasoning that can be read."""
    sealed: int
    """Reasoning that only its host can open, or whose text is a summary."""
    tools: int
    """Descriptions of the request's tools."""
    overhead: int
    """What the model's template writes around all that."""
    methods: Mapping[str, str] = field(repr=False, hash=False)
    """Which of these → how it was counted: `<vocabulary> (exact)`, or what estimate and whose."""

    @property
    def total(self) -> int:
        """The sum: what `count_tokens` gives."""
        return self.visible + self.reasoning + self.sealed + self.tools + self.overhead

    def __repr__(self) -> str:
        pieces = ", ".join(f"{name} {getattr(self, name):,}" for name in _PIECES if getattr(self, name))
        return f"<Count {self.total:,} tokens: {pieces or 'nothing'}; {self.methods['visible']}>"


_PIECES = ("visible", "reasoning", "sealed", "tools", "overhead")


def count_tokens(
    messages: Any,
    *,
    host: str,
    model: str | None = None,
    dialect: str = "chat",
    form: str | None = None,
    request: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
    hint: str | None = None,
    upstream: str | None = None,
    account: str | None = None,
    known: Known | None = None,
    encode: Callable[[str], Any] | None = None,
) -> int:
    """Tokens that the host will bill as the prompt of a request with these messages. See `counted`."""
    return counted(
        messages, host=host, model=model, dialect=dialect, form=form, request=request, policy=policy, hint=hint,
        upstream=upstream, account=account, known=known, encode=encode,
    ).total  # fmt: skip


def counted(
    messages: Any,
    *,
    host: str,
    model: str | None = None,
    dialect: str = "chat",
    form: str | None = None,
    request: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
    hint: str | None = None,
    upstream: str | None = None,
    account: str | None = None,
    known: Known | None = None,
    encode: Callable[[str], Any] | None = None,
) -> Count:
    """What the prompt of a request is made of. Sends nothing, fetches nothing, changes nothing.

    Args:
        messages: the history, as `prepare` takes it.
        request: the call's parameters: `tools` and system texts are counted, `thinking` and effort decide what is read.
        encode: a text → its tokens, or how many: it stands for the table's vocabulary.

    Raises:
        HistoryError, OriginError, BadPolicy, TypeError, MissingReasoning: as `prepare`.
        TypeError: `encode` cannot be called, or gives neither a number nor a list.
    """
    if encode is not None and not callable(encode):
        raise TypeError(f"encode: a {type(encode).__name__}; allowed: a function of a text, or None")
    plan = prepare_untold(
        messages, host=host, model=model, dialect=dialect, upstream=upstream, account=account,
        form=form, request=request, policy=policy, hint=hint, known=known,
    )  # fmt: skip
    return _count(plan, path_of(host), encode)


def _count(plan: Plan, path: str | None, encode: Callable[[str], Any] | None) -> Count:
    work, request = plan.work, plan.request or {}
    assert work is not None  # only the fallback's plan has none
    family = family_of(plan.origin.model, work.choice.rule.host)
    words, template = words_for(family) if encode is None else words_of(encode), family.template
    messages = [spoken(work.form.name, row) for row in work.form.rows(plan.messages)]
    messages += [Spoken("system", (text,)) for text in system_texts(request)]
    costs = [message_cost(message, template, words) for message in messages]
    media = sum(getattr(family.media, kind) for message in messages for kind in message.media)
    thought = reasoning_cost(work, _first_read(plan, work, path), family.sealed, words)
    tools = tools_cost(tools_of(request), template, words)
    replies = sum(message.role == "assistant" for message in messages)
    around = template.request + _effort(template, work.choice, request) + sum(cost.around for cost in costs)
    around += thought.replies * template.reasoning + max(0, replies - thought.replies) * template.bare
    return Count(
        visible=sum(cost.said for cost in costs) + media,
        reasoning=thought.readable,
        sealed=thought.sealed,
        tools=tools.said,
        overhead=around + tools.around,
        methods=_methods(family, words, thought, media),
    )


def _first_read(plan: Plan, work: Work, path: str | None) -> int:
    """The first row whose reasoning the model reads: a policy may send more than the rule's own window.

    At a host that nobody described the policy is taken at its word.
    """
    history, choice, policy = work.draft.history, work.choice, work.policy
    if policy.window is None or choice.rule.host == UNKNOWN:
        return 0
    used = history.calls_tools()
    own = replace(policy, window=None)
    rule = select(all_hosts(), plan.origin, plan.request, policy=own, hint=plan.hint, used_tools=used, path=path).rule
    return WINDOWS[rule.window](history._replace(turn_start=history.host_turn))


def _effort(template: Template, choice: Choice, request: Mapping[str, Any]) -> int:
    """What the template writes at the beginning about how long to think."""
    if not template.thinks or choice.thinking == "off":
        return 0
    asked = find(request, "reasoning_effort")
    told = dict(template.thinks)
    return told.get("" if asked is ABSENT else str(asked), told.get("*", 0))


def _methods(family: Family, words: Words, thought: ReasoningCost, media: int) -> dict[str, str]:
    by = f"{words.name} ({'exact' if words.exact else 'estimate'})"
    pictures = f"; pictures, sounds and files: {family.media.source}" if media else ""
    sealed = [
        name for name, often in (("usage of the reply", thought.told), (family.sealed.method, thought.guessed)) if often
    ]
    template = f"{family.template.name}: {family.template.source}"
    return {
        "visible": by + pictures,
        "reasoning": by,
        "sealed": "; ".join(sealed) or "none",
        "tools": by,
        "overhead": template,
    }
