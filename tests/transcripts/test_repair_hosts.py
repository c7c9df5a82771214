"""Every refusal that a strict host can give for a history: provoked over HTTP, repaired by its own words, taken with 200.

A history is made by talking to the host, broken by hand and sent as it stands. What the host says goes to `repair`, and
what comes of that is sent once more: as it stands, and through `prepare`.
"""

from copy import deepcopy

import httpx
import pytest

from reasoning_replay import MemoryStore, Origin, Policy, capture, prepare
from reasoning_replay.testing import AUTO, Reply, Sealed, Text, Think, aliases, call
from reasoning_replay.transcripts import repair
from wire_client import CLIENTS, MANUAL, message_of, results_of

pytestmark = [
    pytest.mark.moves_prefix(reason="a history is changed, to be refused"),
    pytest.mark.leaks(reason="a history is sent as it stands, to be refused"),
]

KEYS = {"responses": "input", "gemini": "contents"}


class Talk:
    """One strict host, what was said with it, and who wrote what."""

    def __init__(self, host, **request):
        self.host, self.known = host, MemoryStore()
        self.client = CLIENTS[host.dialect]
        self.model = request.pop("model", host.model)
        self.forgets = request.pop("forget", False)
        self.headers = request.pop("headers", {})
        body = self.client.body_for([])
        self.request = {
            k: v for k, v in {**body, **request}.items() if k not in ("messages", "input", "contents") and v is not None
        }
        self.history = self._rows([{"role": "user", "content": "How is the weather?"}])

    def _rows(self, rows):
        body = self.client.body_for(rows)
        return list(body[KEYS.get(self.host.dialect, "messages")])

    def send(self, history, request=None):
        body = {
            "model": self.model,
            KEYS.get(self.host.dialect, "messages"): history,
            **(self.request if request is None else request),
        }
        if hasattr(self.client, "request"):
            url, body = self.client.request(self.host, body)
        else:
            url = f"{self.host.url}{self.host.judge.route.format(model=self.model)}"
        return httpx.post(url, json=body, headers=self.headers, timeout=30)

    def loop(self, steps=8):
        """A tool loop to its end."""
        for _ in range(steps):
            response = self.send(self.history)
            assert response.status_code == 200, response.text
            message = message_of(self.host, response)
            capture(response.json(), self.origin, known=self.known)
            rows = self._rows([self.client.forget(message) if self.forgets else message])
            self.history += rows
            results = results_of(self.host, message)
            self.history += self._rows(results)
            if not results:
                break
        return self

    @property
    def origin(self):
        return Origin(self.host.name, dialect=self.host.dialect, model=self.model)

    @property
    def about(self):
        return {
            "host": self.host.name, "dialect": self.host.dialect, "model": self.model, "known": self.known,
            "policy": Policy(aliases=aliases([self.host])),
        }  # fmt: skip

    def say(self, text="And tomorrow?"):
        self.history += self._rows([{"role": "user", "content": text}])
        return self


def said(history):
    """The assistant's rows."""
    return [row for row in history if row.get("role") in ("assistant", "model") or row.get("type") in ITEMS]


ITEMS = ("reasoning", "function_call", "message")


# How histories break --------------------------------------------------------------------------------------------------


def forgotten(*keys):
    """A client that drops these keys of every reply."""

    def breaks(history):
        return [{k: v for k, v in row.items() if k not in keys} for row in history]

    return breaks


def added(key, value="It is foreign."):
    """A key that another host's reply had."""

    def breaks(history):
        return [{**row, key: value} if row.get("role") == "assistant" else row for row in history]

    return breaks


def blocks(change, which=0):
    """The thinking blocks of the which-th reply that has some, changed or dropped (None)."""

    def breaks(history):
        history = deepcopy(history)
        rows = [row for row in said(history) if any(map(is_thinking, row["content"]))]
        row = rows[which]
        row["content"] = [made for block in row["content"] if (made := change(block) if is_thinking(block) else block)]
        return history

    return breaks


def is_thinking(block):
    return isinstance(block, dict) and (
        block.get("type") in ("thinking", "redacted_thinking") or "reasoningContent" in block
    )


def forged(block):
    if "reasoningContent" in block:
        return {
            "reasoningContent": {
                "reasoningText": {**block["reasoningContent"]["reasoningText"], "signature": "Rm9yZ2Vk"}
            }
        }
    return {**block, "signature": "Rm9yZ2Vk"}


def unsigned(block):
    if "reasoningContent" in block:
        return {"reasoningContent": {"reasoningText": {"text": block["reasoningContent"]["reasoningText"]["text"]}}}
    return {key: value for key, value in block.items() if key != "signature"}


def every_block(change):
    def breaks(history):
        history = deepcopy(history)
        for row in said(history):
            if isinstance(row.get("content"), list):
                row["content"] = [
                    made for block in row["content"] if (made := change(block) if is_thinking(block) else block)
                ]
        return history

    return breaks


def items(change, kind="reasoning", which=0):
    """One item of a Responses history, changed or dropped (None)."""

    def breaks(history):
        history = deepcopy(history)
        at = [place for place, item in enumerate(history) if item.get("type") == kind][which]
        made = change(history[at])
        history[at : at + 1] = [] if made is None else [made]
        return history

    return breaks


def every_item(change, kind="reasoning"):
    def breaks(history):
        return [change(item) if item.get("type") == kind else item for item in history]

    return breaks


def parts(change):
    """The first signed call of a Gemini history."""

    def breaks(history):
        history = deepcopy(history)
        part = next(
            part for row in history for part in row["parts"] if "functionCall" in part and "thoughtSignature" in part
        )
        change(part)
        return history

    return breaks


def details(**changes):
    def breaks(history):
        history = deepcopy(history)
        next(row for row in history if row.get("reasoning_details"))["reasoning_details"][0].update(changes)
        return history

    return breaks


def after_another_prefix(history):
    return [{**history[0], "content": "How was the weather?"}, *history[1:]]


def ends_with_reasoning(history):
    """The last reply has lost what it said."""
    last = {**history[-1], "content": [block for block in history[-1]["content"] if is_thinking(block)]}
    return [*history[:-1], last]


def converse_prefix(history):
    return [{**history[0], "content": [{"text": "How was the weather?"}]}, *history[1:]]


def converse_foreign(history):
    block = {"reasoningContent": {"reasoningText": {"text": "It is foreign."}}}
    return [{**row, "content": [block, *row["content"]]} if row["role"] == "assistant" else row for row in history]


ADAPT = {"type": "adaptive"}
NOT_SAID = {"additionalModelRequestFields": None}
THINK = [{"type": "thinking", "thinking": [{"type": "text", "text": "It is foreign."}]}, {"type": "text", "text": "x"}]

# name -> (strict host, what the request says, the break, what the host means)
CASES = {
    "deepseek: a client that forgets": ("deepseek", {"cut": 1}, forgotten("reasoning_content"), "missing"),
    "deepseek V3.2: a client that forgets": ("deepseek-v3.2", {"cut": 1}, forgotten("reasoning_content"), "missing"),
    "deepseek R1: reasoning comes back": ("deepseek-r1", {"forget": True}, added("reasoning_content"), "refused"),
    "moonshot: a client that forgets": ("moonshot", {}, forgotten("reasoning_content"), "missing"),
    "azure: DeepSeek's reasoning forgotten": ("azure", {"model": "deepseek-v4-pro"}, forgotten("reasoning_content"), "missing"),
    "azure: a key that its models do not know": ("azure", {}, added("reasoning_content"), "refused"),
    "groq: another host's key": ("groq", {}, added("reasoning_content"), "refused"),
    "groq: its own key, for a model that does not reason": ("groq", {"model": "llama-3.3-70b-versatile", "forget": True}, added("reasoning"), "refused"),
    "cerebras: another host's key": ("cerebras", {}, added("reasoning_content"), "refused"),
    "cerebras: its own key, for a model that does not reason": ("cerebras", {"model": "llama-4-scout", "forget": True}, added("reasoning"), "refused"),
    "mistral: another host's key": ("mistral", {}, added("reasoning_content"), "refused"),
    "fireworks: another host's key": ("fireworks", {}, added("reasoning"), "refused"),
    "openai: a key of reasoning": ("openai", {}, added("reasoning_content"), "refused"),
    "openrouter: a forged signature of Claude": ("openrouter", {}, details(signature="Rm9yZ2Vk"), "sealed"),
    "openrouter: Claude's signature gone": ("openrouter", {}, details(signature=None), "sealed"),
    "openrouter: a forged signature of Gemini": ("openrouter", {"model": "google/gemini-3-pro", "script": "sealed"}, details(signature="Rm9yZ2Vk"), "sealed"),
    "openrouter: DeepSeek's reasoning forgotten": ("openrouter", {"model": "deepseek/deepseek-v4-pro", "cut": 1}, forgotten("reasoning_details", "reasoning"), "missing"),
    "openrouter: Kimi's reasoning forgotten": ("openrouter", {"model": "moonshotai/kimi-k2.6"}, forgotten("reasoning_details", "reasoning"), "missing"),
    "claude: a forged signature": ("anthropic", {}, blocks(forged), "sealed"),
    "claude: a forged signature in the latest reply": ("anthropic", {}, blocks(forged, -1), "sealed"),
    "claude: redacted data of another": ("anthropic", {}, blocks(lambda block: {"type": "redacted_thinking", "data": "Rm9yZ2Vk"}), "sealed"),
    "claude: no signature": ("anthropic", {}, blocks(unsigned), "sealed"),
    "claude: a null for a signature": ("anthropic", {}, blocks(lambda block: {**block, "signature": None}), "sealed"),
    "claude: an empty block": ("anthropic", {}, blocks(lambda block: {**block, "thinking": "", "signature": ""}), "refused"),
    "claude: a run in the latest reply, half of it gone": ("anthropic", {"script": "two", "cut": 2}, blocks(lambda block: None if block["thinking"].startswith("B") else block, -1), "lost"),
    "claude: the running loop without its block": ("anthropic", {"cut": 1}, blocks(lambda block: None, -1), "missing"),
    "claude: another beginning": ("anthropic", {"model": "claude-opus-5-5", "thinking": ADAPT}, after_another_prefix, "prefix"),
    "claude: thinking off, and the last reply thought": ("anthropic", {"thinking": None, "first": MANUAL, "ends": True}, lambda h: h, "refused"),
    "claude: of the last reply only reasoning is left": ("anthropic", {"ends": True}, ends_with_reasoning, "ending"),
    "converse: a forged signature": ("bedrock", {}, blocks(forged), "sealed"),
    "converse: no signature": ("bedrock", {}, blocks(unsigned), "sealed"),
    "converse: the running loop without its block": ("bedrock", {"cut": 1}, blocks(lambda block: None, -1), "missing"),
    "converse: a signature at a model that has none": ("bedrock", {"model": "openai.gpt-oss-120b-1:0", **NOT_SAID}, every_block(forged), "refused"),
    "converse: reasoning at a model that takes none": ("bedrock", {"model": "deepseek.r1-v1:0", "forget": True, **NOT_SAID}, converse_foreign, "refused"),
    "converse: another beginning": ("bedrock", {"model": "us.anthropic.claude-opus-5-5-v1:0", "additionalModelRequestFields": {"thinking": ADAPT}}, converse_prefix, "prefix"),
    "gemini: a signature of Vertex": ("gemini", {"cut": 1}, parts(lambda part: part.update(thoughtSignature="Rm9yZ2VkRm9yZ2Vk")), "sealed"),
    "gemini: a signature that is no base64": ("gemini", {"cut": 1}, parts(lambda part: part.update(thoughtSignature="?!")), "sealed"),
    "gemini: a client that forgets": ("gemini", {"cut": 1}, parts(lambda part: part.pop("thoughtSignature")), "missing"),
    "vertex: a signature of the Gemini API": ("vertex", {"cut": 1}, parts(lambda part: part.update(thoughtSignature="Rm9yZ2VkRm9yZ2Vk")), "sealed"),
    "vertex: a client that forgets": ("vertex", {"cut": 1}, parts(lambda part: part.pop("thoughtSignature")), "missing"),
    "openai responses: a blob of another": ("openai-responses", {"store": False}, items(lambda item: {**item, "encrypted_content": "gAAAAforged=="}), "sealed"),
    "openai responses: a blob under another id": ("openai-responses", {"store": False}, items(lambda item: {**item, "id": "rs_other"}), "sealed"),
    "openai responses: an id that nothing is stored under": ("openai-responses", {"store": False}, items(lambda item: {k: v for k, v in item.items() if k != "encrypted_content"} | {"id": "rs_elsewhere"}), "lost"),
    "openai responses: reasoning without what followed": ("openai-responses", {"ends": True}, items(lambda item: None, "message", -1), "pair"),
    "openai responses: what followed without its reasoning": ("openai-responses", {}, items(lambda item: None), "pair"),
    "openai responses: a reference to what is elsewhere": ("openai-responses", {}, items(lambda item: {"type": "item_reference", "id": "rs_elsewhere"}), "lost"),
    "azure responses: a blob of another": ("azure-responses", {"store": False}, items(lambda item: {**item, "encrypted_content": "gAAAAforged=="}), "sealed"),
    "azure responses: what followed without its reasoning": ("azure-responses", {}, items(lambda item: None), "pair"),
    "azure responses: a project's reasoning without an id": ("azure-responses", {"store": False, "options": {"project": True}}, every_item(lambda item: {k: v for k, v in item.items() if k != "id"}), "pair"),
    "xai responses: a blob of another": ("xai-responses", {"store": False}, items(lambda item: {**item, "encrypted_content": "forged"}), "sealed"),
    "vllm responses: a blob": ("vllm-responses", {}, items(lambda item: {**item, "encrypted_content": "forged"}), "refused"),
    "llama.cpp responses: a blob of another, without text": ("llamacpp-responses", {}, items(lambda item: {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "encrypted_content": "forged"}), "refused"),
    "llama.cpp responses: an empty content": ("llamacpp-responses", {}, items(lambda item: {**item, "content": [], "encrypted_content": "x"}), "refused"),
}  # fmt: skip


def _two(turn):
    return Reply([Think(text="A first"), Think(text="B then"), call("get_weather", city="X")])


def _sealed(turn):
    if turn.step >= 2:
        return Reply([Text("Fine.")])
    return Reply([Think(text=AUTO), Sealed(data=AUTO), call("get_weather", city="X")])


SCRIPTS = {"two": _two, "sealed": _sealed}


def broken(strict_hosts, name):
    """A talk whose history its host refuses, and the refusal."""
    kind, asked, breaks, means = CASES[name]
    asked = dict(asked)
    cut, ends, first, script = (asked.pop(key, None) for key in ("cut", "ends", "first", "script"))
    host = strict_hosts(kind, script=SCRIPTS.get(script), **asked.pop("options", {}))
    talk = Talk(host, **asked)
    later = talk.request
    if first is not None:
        talk.request = {**later, "thinking": first}
    talk.loop(cut or 8)
    talk.request = later
    if not ends and not cut:
        talk.say()
    talk.history = breaks(talk.history)
    response = talk.send(talk.history)
    return talk, response, means


FIRST = {kind: name for name, (kind, *_) in reversed(CASES.items())}
"""One case of each host runs every time, all of them in the long run (.ci/full)."""
ROWS = [name if name in FIRST.values() else pytest.param(name, marks=pytest.mark.slow) for name in CASES]


@pytest.mark.parametrize("name", ROWS)
def test_what_its_words_allow_is_taken_by_the_host_and_so_is_what_is_healed_without_them(strict_hosts, name):
    talk, response, means = broken(strict_hosts, name)
    assert response.status_code in (400, 404, 422), "nothing was provoked"
    before = deepcopy(talk.history)
    done = repair(talk.history, request=talk.request, error=(response.status_code, response.text), **talk.about)
    assert (means, True) == (done.means, done.changed)
    assert before == talk.history
    plan = prepare(done.messages, request=done.request, **talk.about)
    assert 200 == talk.send(plan.messages, plan.request).status_code, talk.host.refusals[-1]
    for _ in range(8):  # as they stand: each refusal is answered in turn
        response = talk.send(done.messages, done.request)
        if response.status_code == 200:
            break
        error = (response.status_code, response.text)
        done = repair(done.messages, request=done.request, error=error, **talk.about)
        assert done.changed, response.text
    assert 200 == response.status_code
    check_without_the_refusal(talk, name)


def check_without_the_refusal(talk, name):
    """All that would have been refused is healed, once and for all."""
    before = deepcopy(talk.history)
    done = repair(talk.history, request=talk.request, **talk.about)
    assert before == talk.history
    again = repair(done.messages, request=done.request, **talk.about)
    assert again.messages is done.messages
    assert not again.changed
    plan = prepare(done.messages, request=done.request, **talk.about)
    if name not in ONLY_THE_HOST_KNOWS:
        assert 200 == talk.send(plan.messages, plan.request).status_code, talk.host.refusals[-1]


ONLY_THE_HOST_KNOWS = {
    "claude: another beginning",
    "converse: another beginning",
    "openai responses: a blob under another id",
    "openai responses: a reference to what is elsewhere",
    "azure responses: a project's reasoning without an id",
    "claude: a run in the latest reply, half of it gone",
}
"""Nothing in such a history says that it is broken."""
