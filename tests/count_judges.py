"""Histories to count, and what the vendors' own packages make of their requests: prompts in tokens.

Fifty of a vendor, from a seed: languages, code, tools with nested schemas, parallel calls, long and short, ending in a question
or in a result. The judges see the planned messages as they would come over the wire, and know nothing of our tables.
"""

import json
import random
from functools import cache
from types import SimpleNamespace
from typing import NamedTuple

from reasoning_replay import Origin, adopt
from reasoning_replay._vocabulary import hugging_face

# ruff: noqa: RUF001 - texts of the world
SENTENCES = {
    "english": "The committee postponed its decision until the measurements from the northern station arrive on Thursday.",
    "german": "Die Überprüfung der Messwerte ergab, dass die Grenzwerte an drei von fünf Standorten überschritten wurden.",
    "french": "Après avoir comparé les résultats, j'ai remarqué que l'écart était dû à une erreur d'étalonnage.",
    "russian": "Мы проверили показания приборов и обнаружили, что две станции передают данные с задержкой.",
    "chinese": "我们比较了过去三天的测量结果，发现北部站点的温度明显低于平均值，需要进一步检查。",
    "japanese": "昨日の観測データを確認したところ、湿度の値が平均より高いことがわかりました。",
    "hindi": "हमने पिछले सप्ताह के आँकड़ों की तुलना की और पाया कि तापमान सामान्य से कम था।",
    "arabic": "قارنا نتائج القياسات خلال الأيام الثلاثة الماضية ووجدنا فرقا واضحا بين المحطتين.",
    "code": 'def mean(values: list[float]) -> float:\n    """The mean."""\n    return sum(values) / len(values) if values else 0.0\n',
    "json": '{"station": "NO-4711", "temperature": 3.25, "wind": {"speed": 7.5, "direction": "NW"}, "ok": true}',
    "log": "2026-11-30T08:15:22.481Z ERROR [worker-3] upstream timed out after 30000ms (id=7f3a9c12-4b); retry 2/5\n",
}
LANGUAGES = tuple(SENTENCES)


class History(NamedTuple):
    """A conversation, neutral: what each host's own keys are is `wire`'s word."""

    name: str
    messages: list
    request: dict


def text(dice, low, high, language=None):
    """A text of so many sentences, in one language with another mixed in now and then."""
    pieces = []
    for _ in range(dice.randint(low, high)):
        chosen = language if language and dice.random() < 0.85 else dice.choice(LANGUAGES)
        words = SENTENCES[chosen].split(" ")
        cut = dice.randint(max(1, len(words) // 2), len(words))
        pieces.append(" ".join(words[:cut]))
    return " ".join(pieces)


def tool(dice, number):
    kinds = [
        {"type": "string", "description": "The name of a place"},
        {"type": "integer"},
        {"type": "string", "enum": ["metric", "imperial"]},
        {"type": "array", "items": {"type": "string"}},
        {"type": "boolean", "description": "Whether to include details"},
        {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}, "required": ["lat"]},
    ]
    names = ["city", "days", "unit", "tags", "details", "point"]
    chosen = sorted(dice.sample(range(len(names)), dice.randint(1, 4)))
    properties = {names[at]: kinds[at] for at in chosen}
    parameters = {"type": "object", "properties": properties, "required": [names[chosen[0]]]}
    function = {
        "name": f"{dice.choice(['get', 'find', 'list'])}_item_{number}",
        "description": text(dice, 1, 2, "english"),
        "parameters": parameters,
    }
    return {"type": "function", "function": function}


def call(dice, tools, number):
    function = dice.choice(tools)["function"]
    values = {
        "string": lambda: dice.choice(["Oslo", "Tromsø", "北京", "a longer text with several words in it"]),
        "integer": lambda: dice.randint(1, 400),
        "array": lambda: dice.sample(["wind", "rain", "snow", "fog"], dice.randint(1, 3)),
        "boolean": lambda: dice.random() < 0.5,
        "object": lambda: {"lat": round(dice.uniform(-90, 90), 3), "lon": round(dice.uniform(-180, 180), 3)},
    }
    said = {name: values[schema["type"]]() for name, schema in function["parameters"]["properties"].items()}
    return {
        "id": f"call{number:05d}",
        "type": "function",
        "function": {"name": function["name"], "arguments": json.dumps(said, ensure_ascii=dice.random() < 0.3)},
    }


def history(seed, *, thinking_off=False):
    dice = random.Random(seed)
    language = LANGUAGES[seed % len(LANGUAGES)]
    tools = [tool(dice, number) for number in range(dice.randint(1, 6))] if dice.random() < 0.7 else []
    long = dice.random() < 0.3
    messages = [{"role": "system", "content": text(dice, 1, 6, language)}] if dice.random() < 0.7 else []
    calls = 0
    turns = dice.randint(1, 12 if long else 4)
    for turn in range(turns):
        messages.append({"role": "user", "content": text(dice, 1, 12 if long else 4, language)})
        last = turn == turns - 1
        steps = dice.randint(1 if last and dice.random() < 0.5 else 0, 4) if tools else 0
        for _ in range(steps):
            made = [call(dice, tools, calls + number) for number in range(dice.choice([1, 1, 1, 2, 3]))]
            calls += len(made)
            said = text(dice, 1, 2, language) if dice.random() < 0.3 else ""
            messages.append(
                {"role": "assistant", "content": said, "thought": text(dice, 1, 8, language), "tool_calls": made}
            )
            messages += [
                {"role": "tool", "tool_call_id": each["id"], "content": text(dice, 1, 6, language)} for each in made
            ]
        if not last:
            messages.append(
                {"role": "assistant", "content": text(dice, 1, 6, language), "thought": text(dice, 1, 8, language)}
            )
    request = {"tools": tools} if tools else {}
    if thinking_off:
        messages = [{key: value for key, value in message.items() if key != "thought"} for message in messages]
    return History(f"{seed} {language}", messages, request)


def wire(messages, key):
    """The neutral messages with reasoning where the host has it: under a key, or as Mistral's chunks."""
    out = []
    for message in messages:
        thought = message.get("thought")
        left = {name: value for name, value in message.items() if name != "thought"}
        if thought is not None and key == "chunks":
            said = [{"type": "text", "text": left["content"]}] if left["content"] else []
            left["content"] = [
                {"type": "thinking", "thinking": [{"type": "text", "text": thought}], "closed": True},
                *said,
            ]
        elif thought is not None:
            left[key] = thought
        out.append(left)
    return out


# The judges -----------------------------------------------------------------------------------------------------------


def deepseek_judge(body):
    """DeepSeek's own package writes the prompt; DeepSeek V3's vocabulary cuts it."""
    import deepseek_recipe as recipe

    name, encoding = (
        ("DeepSeek-V4.1-Flash", recipe.DeepseekV41Encoding)
        if "v4.1" in body["model"]
        else ("DeepSeek-V4-Pro", recipe.DeepseekV4Encoding)
    )
    options = recipe.ConversionOptions().with_reasoning_content_behavior(recipe.ReasoningContentBehavior.Reject)
    converted = recipe.ChatCompletionRequest({**body, "model": name}).convert(options)
    prompt = str(encoding().render_conversation(converted.conversation).prompt)
    return len(hugging_face("deepseek_tokenizer.json").encode(prompt, add_special_tokens=False).ids)


def harmony_judge(body):
    """`openai-harmony` as the model's own template uses it: a system message, the developer's with instructions and tools."""
    from openai_harmony import (
        Author,
        Conversation,
        DeveloperContent,
        Message,
        ReasoningEffort,
        Role,
        SystemContent,
        ToolDescription,
    )

    from reasoning_replay.testing._prompts import _harmony_vocabulary

    system = (
        SystemContent.new().with_reasoning_effort(ReasoningEffort.MEDIUM).with_conversation_start_date("2026-11-30")
    )
    talk = [Message.from_role_and_content(Role.SYSTEM, system)]
    told = [message["content"] for message in body["messages"] if message["role"] in ("system", "developer")]
    developer = DeveloperContent.new()
    if told:
        developer = developer.with_instructions("\n\n".join(told))
    if body.get("tools"):
        functions = [each["function"] for each in body["tools"]]
        developer = developer.with_function_tools(
            [ToolDescription.new(f["name"], f["description"], parameters=f["parameters"]) for f in functions]
        )
    if told or body.get("tools"):
        talk.append(Message.from_role_and_content(Role.DEVELOPER, developer))
    names = {}
    for message in body["messages"]:
        if message["role"] == "user":
            talk.append(Message.from_role_and_content(Role.USER, message["content"]))
        elif message["role"] == "tool":
            author = Author.new(Role.TOOL, f"functions.{names[message['tool_call_id']]}")
            result = Message.from_author_and_content(author, message["content"])
            talk.append(result.with_recipient("assistant").with_channel("commentary"))
        elif message["role"] == "assistant":
            calls = message.get("tool_calls") or ()
            said = [("analysis", message.get("reasoning")), ("commentary" if calls else "final", message["content"])]
            talk += [Message.from_role_and_content(Role.ASSISTANT, t).with_channel(c) for c, t in said if t]
            for each in calls:
                names[each["id"]] = each["function"]["name"]
                asked = Message.from_role_and_content(Role.ASSISTANT, each["function"]["arguments"]).with_channel(
                    "commentary"
                )
                talk.append(
                    asked.with_recipient(f"functions.{each['function']['name']}").with_content_type("<|constrain|>json")
                )
    return len(
        _harmony_vocabulary().render_conversation_for_completion(Conversation.from_messages(talk), Role.ASSISTANT)
    )


def mistral_judge(body):
    """`mistral-common` with Magistral's format."""
    from reasoning_replay.testing._prompts import RENDERERS

    return len(RENDERERS["mistral"][1](SimpleNamespace(json=body)))


class Vendor(NamedTuple):
    judge: object
    host: str
    model: str
    key: str
    package: str


VENDORS = {
    "deepseek v4": Vendor(
        deepseek_judge, "api.deepseek.com", "deepseek-v4-pro", "reasoning_content", "deepseek_recipe"
    ),
    "deepseek v4.1": Vendor(
        deepseek_judge, "api.deepseek.com", "deepseek-v4.1-flash", "reasoning_content", "deepseek_recipe"
    ),
    "gpt-oss": Vendor(harmony_judge, "api.groq.com", "openai/gpt-oss-120b", "reasoning", "openai_harmony"),
    "magistral": Vendor(mistral_judge, "api.mistral.ai", "magistral-medium-latest", "chunks", "mistral_common"),
}


@cache
def histories(vendor):
    """Fifty, marked as that vendor's."""
    found = VENDORS[vendor]
    origin = Origin(found.host, model=found.model)
    made = []
    for seed in range(50):
        each = history(seed, thinking_off=vendor.startswith("deepseek") and seed % 10 == 7)
        request = {
            **each.request,
            **({"thinking": {"type": "disabled"}} if vendor.startswith("deepseek") and seed % 10 == 7 else {}),
        }
        if vendor == "deepseek v4" and seed % 10 == 3:
            request["reasoning_effort"] = "max"
        made.append(History(each.name, adopt(wire(each.messages, found.key), origin), request))
    return made
