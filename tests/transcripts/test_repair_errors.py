"""Hosts' own words, as the evidence quotes them, and what each of them allows; words that are no complaint about reasoning.

The texts are written down here apart from the rule files: SAID holds what was read of the hosts and in reports
(hosts' pages, SDKs, issues; each with what its remedy is), and nothing here reads an `[[errors]]` table.
"""

import json
from copy import deepcopy

import pytest

from reasoning_replay import MemoryStore, Origin, Policy, adopt
from reasoning_replay.hosts import builtin
from reasoning_replay.transcripts import repair

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
URLS = {
    "anthropic": "https://api.anthropic.com", "minimax": "https://api.minimax.io/anthropic", "copilot": "https://api.githubcopilot.com",
    "bedrock": "https://bedrock-runtime.us-east-1.amazonaws.com", "vertex": "https://us-east5-aiplatform.googleapis.com",
    "deepseek": "https://api.deepseek.com", "moonshot": "https://api.moonshot.ai/v1", "kimi-code": "https://api.kimi.com/coding/v1",
    "gemini": "https://generativelanguage.googleapis.com", "openrouter": "https://openrouter.ai/api/v1", "openai": "https://api.openai.com/v1",
    "azure": "https://res.openai.azure.com", "xai": "https://api.x.ai/v1", "chatgpt": "https://chatgpt.com/backend-api/codex",
    "vllm": "http://gpu-7:8000/v1", "mistral": "https://api.mistral.ai/v1", "mimo": "https://api.xiaomimimo.com/v1",
    "opencode": "https://opencode.ai/zen/v1", "sglang": "http://gpu-8:30000/v1", "groq": "https://api.groq.com/openai/v1",
    "cerebras": "https://api.cerebras.ai/v1", "huggingface": "https://router.huggingface.co/v1", "fireworks": "https://api.fireworks.ai/inference/v1",
    "databricks": "https://x.cloud.databricks.com/serving-endpoints", "nvidia": "https://integrate.api.nvidia.com/v1",
    "sambanova": "https://api.sambanova.ai/v1", "llamacpp": "http://gpu-9:8080/v1",
}  # fmt: skip
HINTS = {"vllm": "hosted_vllm", "sglang": "sglang", "llamacpp": "llamacpp"}


def user(text="x"):
    return {"role": "user", "content": text}


def chat(key="reasoning_content", thought="t"):
    """Two turns; the first calls a tool. Rows 1 and 3 are the model's."""
    said = {} if key is None else {key: thought}
    return [
        user(),
        {"role": "assistant", "content": "", "tool_calls": [CALL], **said},
        {"role": "tool", "tool_call_id": "c1", "content": "3C"},
        {"role": "assistant", "content": "It is 3C.", **said},
        user(),
    ]


def running(history):
    """The same, in the running turn."""
    return history[:3]


def claude(*, running=False, thinking=True):
    block = [{"type": "thinking", "thinking": "t", "signature": "S1"}] if thinking else []
    later = [{"type": "thinking", "thinking": "u", "signature": "S2"}] if thinking else []
    rows = [
        user(),
        {"role": "assistant", "content": [*block, {"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3C"}]},
        {"role": "assistant", "content": [*later, {"type": "text", "text": "It is 3C."}]},
        user(),
    ]
    return rows[:3] if running else rows


def converse(*, signed=True):
    said = {"text": "t", "signature": "S1"} if signed else {"text": "t"}
    return [
        {"role": "user", "content": [{"text": "x"}]},
        {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": said}}, {"text": "It is 3C."}]},
        {"role": "user", "content": [{"text": "x"}]},
    ]


def gemini(signature="UzE="):
    call = {"functionCall": {"name": "f", "args": {}}}
    return [
        {"role": "user", "parts": [{"text": "x"}]},
        {"role": "model", "parts": [call if signature is None else {**call, "thoughtSignature": signature}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
    ]


def items(**reasoning):
    """Row 1 is the reasoning, row 2 its call, row 4 the next reasoning, row 5 its message."""
    one = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAone=="}
    two = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gAAAtwo=="}
    return [
        user(),
        {**one, **reasoning},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "3C"},
        two,
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "It is 3C."}],
        },
        user(),
    ]


def without(history, row, *keys):
    return [{k: v for k, v in each.items() if at != row or k not in keys} for at, each in enumerate(history)]


def less(history, row):
    return [each for at, each in enumerate(history) if at != row]


DETAILS = [{"type": "reasoning.text", "text": "t", "signature": "S1", "format": "anthropic-claude-v1", "index": 0}]
MANUAL = {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 4096}
FORCED = {**MANUAL, "tool_choice": {"type": "any"}}
SMALL = {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 2000}
TINY = {"thinking": {"type": "enabled", "budget_tokens": 100}, "max_tokens": 4096}
EDITS = {"context_management": {"edits": [{"type": "clear_thinking_20251015"}]}}
BINDING = {
    "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
    "max_tokens": 4096,
}
TOOLS = {"tools": [{"type": "function", "function": {"name": "f"}}]}
OFF = "the request"
E1 = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
PASSED = "The `reasoning_content` in the thinking mode must be passed back to the API."
LATEST = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain exactly as received"
FINAL = "When `thinking` is disabled, an `assistant` message in the final position cannot contain `thinking`."
PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."
INDEXED = "thinking is enabled but reasoning_content is missing in assistant tool call message at index {}"

# host, dialect, model, status, text, history, request, what is done: (row, action, reason); OFF: the parameters
SAID = [
    # hosts-native, errors
    *((host, dialect, model, 400, E1, claude(running=True, thinking=False), MANUAL, [(OFF, "guard", "disabled_after")]) for host, dialect, model in [("anthropic", "anthropic", "claude-sonnet-4-5"), ("vertex", "anthropic", "claude-sonnet-4-5")]),
    ("bedrock", "bedrock", "anthropic.claude-sonnet-4-5", 400, f"The model returned the following errors: {E1}", converse(), {"additionalModelRequestFields": MANUAL}, [(OFF, "guard", "disabled_after")]),
    ("anthropic", "anthropic", "claude-opus-5-5", 400, 'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".', claude(), None, [(1, "drop", "prefix"), (3, "drop", "prefix")]),
    ("anthropic", "anthropic", "claude-sonnet-4-5", 400, "messages.1.content.0: Invalid signature in thinking block", claude(), None, [(1, "drop", "sealed")]),
    ("anthropic", "anthropic", "claude-sonnet-4-5", 400, "messages.3.content.0: Invalid `signature` in `thinking` block", claude(), None, [(3, "drop", "sealed")]),
    ("anthropic", "anthropic", "claude-opus-5-5", 400, "messages.3.content.0: Invalid `signature` in `thinking` block", claude(), None, [(1, "drop", "sealed"), (3, "drop", "sealed")]),
    ("anthropic", "anthropic", "claude-sonnet-4-5", 400, "Invalid `signature` in `thinking` block", claude(), None, [(1, "drop", "sealed"), (3, "drop", "sealed")]),
    ("minimax", "anthropic", "MiniMax-M3", 400, "messages.1.content.0: Invalid `signature` in `thinking` block", claude(), None, [(1, "drop", "sealed")]),
    ("copilot", "chat", "claude-sonnet-4.6", 400, "messages.1.content.0: Invalid signature in thinking block", chat("reasoning_opaque", "S1"), None, [(1, "drop", "sealed")]),
    ("bedrock", "bedrock", "anthropic.claude-sonnet-4-5", 400, "The model returned the following errors: messages.1.content.0.thinking.signature: Field required", converse(signed=False), None, [(1, "drop", "sealed")]),
    ("anthropic", "anthropic", "claude-sonnet-4-5", 400, "messages.1.content.0.thinking.signature.str: Input should be a valid string", [user(), {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": None}, {"type": "text", "text": "x"}]}, user()], None, [(1, "drop", "sealed")]),
    ("anthropic", "anthropic", "claude-sonnet-4-5", 400, "messages.1.content.0.thinking: each thinking block must contain thinking", [user(), {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": ""}, {"type": "text", "text": "x"}]}, user()], None, [(1, "drop", "refused")]),
    ("anthropic", "anthropic", "claude-sonnet-4-5", 400, "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain exactly as received", claude(), None, [(3, "drop", "lost")]),
    ("anthropic", "anthropic", "claude-sonnet-4-5", 400, "When `thinking` is disabled, an `assistant` message in the final position cannot contain `thinking`.", claude()[:4], None, [(3, "drop", "refused")]),
    *((host, dialect, model, 400, "Thinking may not be enabled when tool_choice forces tool use.", claude(), FORCED, [(OFF, "guard", "forced_tools")]) for host, dialect, model in [("anthropic", "anthropic", "claude-sonnet-4-5"), ("vertex", "anthropic", "claude-sonnet-4-5")]),
    ("bedrock", "bedrock", "anthropic.claude-sonnet-4-5", 400, "Thinking may not be enabled when tool_choice forces tool use.", converse(), {"toolConfig": {"toolChoice": {"any": {}}}, "additionalModelRequestFields": {"thinking": MANUAL["thinking"]}}, [(OFF, "guard", "forced_tools")]),
    ("anthropic", "anthropic", "claude-sonnet-4-5", 400, "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/", claude(), SMALL, [(OFF, "guard", "budget")]),
    ("anthropic", "anthropic", "claude-sonnet-4-5", 400, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", claude(), TINY, [(OFF, "guard", "budget")]),
    ("anthropic", "anthropic", "claude-sonnet-4-5", 400, "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive", claude(), EDITS, [(OFF, "guard", "beside_thinking")]),
    ("anthropic", "anthropic", "claude-opus-5-5", 400, "thinking.adaptive.block_binding: Extra inputs are not permitted", claude(), BINDING, [(OFF, "guard", "beside_thinking")]),
    ("anthropic", "anthropic", "claude-opus-5", 400, "This model does not support assistant message prefill. The conversation must end with a user message.", [*claude(), {"role": "assistant", "content": [{"type": "thinking", "thinking": "v", "signature": "S3"}]}], None, [(5, "drop", "reasoning_only")]),
    ("bedrock", "bedrock", "anthropic.claude-opus-5-5", 400, "The model returned the following errors: messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.", converse(), None, [(1, "drop", "prefix")]),
    ("bedrock", "bedrock", "anthropic.claude-sonnet-4-5", 400, LATEST, converse(), None, [(1, "drop", "lost")]),
    ("bedrock", "bedrock", "anthropic.claude-sonnet-4-5", 400, FINAL, converse()[:2], None, [(1, "drop", "refused")]),
    ("bedrock", "bedrock", "anthropic.claude-opus-5", 400, PREFILL, [*converse(), {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "v", "signature": "S3"}}}]}], None, [(3, "drop", "reasoning_only")]),
    ("vertex", "anthropic", "claude-opus-5-5", 400, "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.", claude(), None, [(1, "drop", "prefix"), (3, "drop", "prefix")]),
    ("vertex", "anthropic", "claude-sonnet-4-5", 400, "messages.1.content.0: Invalid `signature` in `thinking` block", claude(), None, [(1, "drop", "sealed")]),
    ("vertex", "anthropic", "claude-sonnet-4-5", 400, LATEST, claude(), None, [(3, "drop", "lost")]),
    ("vertex", "anthropic", "claude-sonnet-4-5", 400, FINAL, claude()[:4], None, [(3, "drop", "refused")]),
    ("vertex", "anthropic", "claude-opus-5", 400, PREFILL, [*claude(), {"role": "assistant", "content": [{"type": "thinking", "thinking": "v", "signature": "S3"}]}], None, [(5, "drop", "reasoning_only")]),
    ("deepseek", "anthropic", "deepseek-v4-pro", 400, "400 The `content[].thinking` in the thinking mode must be passed back to the API.", claude(running=True, thinking=False), TOOLS, [(1, "fill", "missing")]),
    ("moonshot", "anthropic", "kimi-k2.5", 400, INDEXED.format(1), claude(running=True, thinking=False), TOOLS, [(1, "fill", "missing")]),
    ("moonshot", "chat", "kimi-k2.5", 400, INDEXED.format(1), chat(None), TOOLS, [(1, "fill", "missing")]),
    ("bedrock", "bedrock", "openai.gpt-oss-120b-1:0", 400, "This model doesn't support the reasoningContent.reasoningText.signature field. Remove reasoningContent.reasoningText.signature and try again.", converse(), None, [(1, "drop", "own_unsigned")]),
    ("bedrock", "bedrock", "deepseek.r1-v1:0", 400, "User messages cannot contain reasoning content. Please remove the reasoning content and try again.", converse(signed=False), None, [(1, "drop", "refused")]),
    ("gemini", "gemini", "gemini-3-pro", 400, "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly", gemini(None), None, [(1, "fill", "missing")]),
    ("vertex", "gemini", "gemini-3-pro", 400, "Unable to submit request because function call `default_api:f` in the 2. content block is missing a `thought_signature`.", gemini(None), None, [(1, "fill", "missing")]),
    *((host, "gemini", "gemini-3-pro", 400, text, gemini(), None, [(1, "drop", "sealed"), (1, "fill", "missing")]) for host in ("gemini", "vertex") for text in ("Corrupted thought signature.", "Invalid thought signature.", "Unable to submit request because Thought signature is not valid.. Learn more", "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed for \"UzE=\"")),
    ("openrouter", "chat", "google/gemini-3-pro", 400, "Provider returned error: Gemini models require OpenRouter reasoning details to be preserved in each request. Upstream error: Invalid thought signature.", chat("reasoning_details", DETAILS), None, [(1, "drop", "sealed"), (3, "drop", "sealed")]),
    ("openrouter", "chat", "anthropic/claude-sonnet-4.5", 400, "messages.1.content.0: Invalid `signature` in `thinking` block", chat("reasoning_details", DETAILS), None, [(1, "drop", "sealed")]),
    *((host, "responses", "gpt-5.4", 400, "Item 'rs_2' of type 'reasoning' was provided without its required following item.", less(items(), 5), None, [(4, "drop", "pair")]) for host in ("openai", "azure")),
    *((host, "responses", "gpt-5.4", 400, "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.", less(items(), 1), None, [(1, "drop", "pair")]) for host in ("openai", "azure")),
    *((host, "responses", "gpt-5.4", status, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", items(), None, [(1, "drop", "lost"), (2, "drop", "lost")]) for host in ("openai", "azure", "xai", "chatgpt") for status in (400, 404)),
    *((host, "responses", "gpt-5.4", 400, "Item with id 'msg_1' not found.", items(), None, [(5, "drop", "lost")]) for host in ("openai", "azure")),
    *((host, "responses", "gpt-5.4", 400, "The encrypted content gAAA...wo== could not be verified. Reason: Encrypted content could not be decrypted or parsed.", items(), None, [(4, "drop", "sealed"), (5, "drop", "sealed")]) for host in ("openai", "azure", "chatgpt")),
    ("openai", "responses", "gpt-5.4", 400, "The encrypted content for item rs_1 could not be verified.", items(), None, [(1, "drop", "sealed"), (2, "drop", "sealed")]),
    ("openai", "responses", "gpt-5.4", 400, {"error": {"message": "bad", "code": "invalid_encrypted_content"}}, items(), None, [(row, "drop", "sealed") for row in (1, 2, 4, 5)]),
    ("azure", "responses", "gpt-5.4", 400, {"error": {"message": "The provided data does not match the expected schema", "code": "invalid_payload"}}, without(items(), 1, "id"), None, [(1, "drop", "pair"), (2, "drop", "pair")]),
    ("xai", "responses", "grok-4.3", 400, "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content from a previous response.", items(), None, [(row, "drop", "sealed") for row in (1, 2, 4, 5)]),
    ("vllm", "responses", "Qwen/Qwen3.6-35B", 400, "Encrypted content is not supported.", less(items(), 4), None, [(1, "drop", "refused"), (2, "drop", "refused")]),
    ("vllm", "responses", "Qwen/Qwen3.6-35B", 500, "Encrypted content is not supported.", less(items(content=[{"type": "reasoning_text", "text": "t"}]), 4), None, [(1, "drop", "own_unsigned")]),
    ("mistral", "chat", "mistral-large-latest", 422, '{"type":"extra_forbidden","loc":["body","messages",3,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted"}', chat(), None, [(1, "drop", "refused"), (3, "drop", "refused")]),
    # hosts-compat, section 2
    ("deepseek", "chat", "deepseek-v4-pro", 400, PASSED, chat(None), TOOLS, [(1, "fill", "missing"), (3, "fill", "missing")]),
    ("deepseek", "chat", "deepseek-v4-pro", 400, PASSED, chat(), TOOLS, [(OFF, "guard", "disabled_after")]),
    ("openrouter", "chat", "deepseek/deepseek-v4-pro", 400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": json.dumps({"error": {"message": PASSED}}), "provider_name": "DeepSeek"}}}, chat(None), TOOLS, [(1, "fill", "missing"), (3, "fill", "missing")]),
    ("opencode", "chat", "deepseek-v4-flash", 400, f"Error from provider (DeepSeek): {PASSED}", chat(None), TOOLS, [(1, "fill", "missing"), (3, "fill", "missing")]),
    ("azure", "chat", "deepseek-v4-pro", 400, PASSED, chat(None), TOOLS, [(1, "fill", "missing"), (3, "fill", "missing")]),
    ("deepseek", "chat", "deepseek-chat", 400, "Missing `reasoning_content` field in the assistant message at message index 1. For more information, please refer to", running(chat(None)), TOOLS, [(1, "fill", "missing")]),
    ("kimi-code", "chat", "k3", 400, INDEXED.format(1), chat(None), TOOLS, [(1, "fill", "missing")]),
    ("mimo", "chat", "mimo-v2.5-pro", 400, {"error": {"message": "Param Incorrect", "param": "The reasoning_content in the thinking mode must be passed back to the API.", "code": "400"}}, chat(None), TOOLS, [(1, "fill", "missing")]),
    ("sglang", "chat", "deepseek-ai/DeepSeek-V3.2", 500, "ThinkingMode: thinking, invalid message without reasoning_content/tool_calls `x` after last user message", running(chat(None)), TOOLS, [(OFF, "guard", "disabled_after")]),
    ("groq", "chat", "openai/gpt-oss-120b", 400, "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]", chat(), None, [(1, "drop", "refused"), (3, "drop", "refused")]),
    ("groq", "chat", "llama-3.3-70b", 400, "`messages[1].reasoning`: reasoning is not supported with this model", chat("reasoning"), None, [(1, "drop", "refused"), (3, "drop", "refused")]),
    *((host, "chat", "gpt-oss-120b", 400, "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported", chat(), None, [(1, "drop", "refused"), (3, "drop", "refused")]) for host in ("cerebras", "huggingface")),
    *((host, "chat", model, 400, "Extra inputs are not permitted, field: 'messages[1].reasoning', value: 't'", chat("reasoning"), None, [(1, "drop", "refused"), (3, "drop", "refused")]) for host, model in [("fireworks", "accounts/fireworks/models/kimi-k2p6"), ("opencode", "glm-5.2")]),
    ("databricks", "chat", "databricks-claude-sonnet-5", 400, "messages.1.reasoning_content: Extra inputs are not permitted", chat(), None, [(1, "drop", "refused"), (3, "drop", "refused")]),
    *((host, "chat", "gpt-5.6", status, "Extra inputs are not permitted", chat(), None, [(1, "drop", "refused"), (3, "drop", "refused")]) for host in ("azure", "sambanova") for status in (400, 422)),
    ("nvidia", "chat", "qwen/qwen3-32b", 400, "[{'type': 'extra_forbidden', 'loc': ('body', 'messages', 1, 'assistant', 'reasoning_content'), 'msg': 'Extra inputs are not permitted'}]", chat(), None, [(1, "drop", "refused"), (3, "drop", "refused")]),
    ("openrouter", "responses", "meta/muse-spark", 400, "Referenced reasoning item rs_1 was not found or has expired", items(), None, [(1, "drop", "refused"), (2, "drop", "refused")]),
    ("opencode", "responses", "muse-spark", 400, "reasoning `encrypted_content` was not issued to this caller", items(), None, [(row, "drop", "refused") for row in (1, 2, 4, 5)]),
    # hosts-compat, section 3, and the strict hosts' own
    ("deepseek", "chat", "deepseek-r1", 400, "The reasoning_content is an intermediate result for display purposes only and will not be included in the context for inference. Please remove the reasoning_content from your message to reduce network traffic.", chat(), None, [(1, "drop", "refused"), (3, "drop", "refused")]),
    ("openai", "chat", "gpt-5.4", 400, "Unknown parameter: 'messages[1].reasoning_content'.", chat(), None, [(1, "drop", "refused"), (3, "drop", "refused")]),
    ("llamacpp", "responses", "qwen3.5-4b", 400, "item['content'] is not an array", items(), None, [(row, "drop", "refused") for row in (1, 2, 4, 5)]),
]  # fmt: skip


def asked(host, dialect, model, request=None):
    return {
        "host": URLS[host],
        "dialect": dialect,
        "model": model,
        "request": request,
        "hint": HINTS.get(host),
        "known": MemoryStore(),
    }


def own(history, host, dialect, model):
    return adopt(history, Origin(URLS[host], dialect=dialect, model=model))


def rows_of(done):
    return sorted(
        ((OFF if row.index is None else row.index), row.action, row.reason) for row in done.report.rows
    )  # fmt: skip


@pytest.mark.parametrize(
    ("host", "dialect", "model", "status", "text", "history", "request_", "expected"),
    SAID,
    ids=[f"{row[0]}-{row[1]}-{number}" for number, row in enumerate(SAID)],
)
def test_each_of_a_hosts_words_allows_its_smallest_change(
    host, dialect, model, status, text, history, request_, expected
):
    history = own(history, host, dialect, model)
    before, request_before = deepcopy(history), deepcopy(request_)
    done = repair(history, error=(status, text), **asked(host, dialect, model, request_))
    assert sorted(expected, key=str) == sorted(rows_of(done), key=str)
    assert done.changed
    assert (before, request_before) == (history, request_)
    touched = {row for row, _, _ in expected}
    assert all(
        done.messages[done.places.index(row)] is history[row] for row in range(len(history)) if row not in touched
    )
    if OFF in touched:
        assert done.messages is history
        assert done.request != request_
    else:
        assert done.request is request_


def test_every_error_of_every_host_file_is_among_those_words():
    import re

    for file in builtin():
        texts = [
            (row[3], row[4] if isinstance(row[4], str) else json.dumps(row[4])) for row in SAID if row[0] == file.id
        ]
        shown = {
            next(
                (one.match for one in file.errors if one.status in (None, status) and re.search(one.match, text)), None
            )
            for status, text in texts
        }
        assert [] == [one.match for one in file.errors if one.match not in shown], file.id


def test_a_forced_choice_that_a_model_never_takes_is_the_callers_to_change():
    """The remedy would be another tool_choice, which is not ours to choose."""
    text = 'tool_choice: type "tool" and "any" are not supported for this model.'
    done = repair(claude(), error=(400, text), **asked("anthropic", "anthropic", "claude-opus-5-5", FORCED))
    assert not done.changed


# Words that are no complaint about reasoning --------------------------------------------------------------------------

COMMON = [
    (429, "Rate limit reached for requests"), (401, "Incorrect API key provided: sk-****."), (403, "Your organization must be verified to use this model."),
    (404, "The model `x` does not exist or you do not have access to it."), (500, "The server had an error while processing your request."),
    (503, "Service unavailable"), (529, "Overloaded"), (402, "Insufficient Balance"), (413, "Request exceeds the maximum size"),
    (400, "We could not parse the JSON body of your request."), (400, "Invalid 'tools[0].function.name': string does not match pattern."),
    (400, "Invalid image data"), (408, "Request timed out."), (409, "Conflict"), (422, "Unprocessable Entity"), (400, "Unsupported parameter: 'temperature'"),
    (400, "The response was filtered due to the prompt triggering content management policy."), (400, "Invalid value for 'stop'"),
    (400, "Failed to call a function. Please adjust your prompt."), (400, "seed must be an integer"),
]  # fmt: skip
UNRELATED = {
    "chat": [
        *COMMON,
        (400, "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens."),
        (400, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."),
        (400, "tools.0.function.strict: Extra inputs are not permitted"), (400, "Extra inputs are not permitted, field: 'messages[3].tool_name'"),
        (400, "Unrecognized request argument supplied: service_tier"), (422, '{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}'),
        (400, "property 'parallel_tool_calls' is unsupported"), (400, "Unknown parameter: 'messages[2].name'."),
    ],
    "anthropic": [
        *COMMON,
        (400, "prompt is too long: 210000 tokens > 200000 maximum"), (400, "messages: text content blocks must be non-empty"),
        (400, "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."),
        (400, "tools.0.custom.input_schema.type: Field required"), (400, "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens"),
        (400, "messages.1.content.0.text.cache_control: Extra inputs are not permitted"), (400, "Your credit balance is too low to access the Anthropic API."),
        (400, "messages.0.content.1.image.source.base64.data: invalid base64 data"), (400, "adaptive thinking is not supported on this model"),
        (400, '"thinking.type.disabled" is not supported for this model'),
    ],
    "responses": [
        *COMMON,
        (400, "No tool output found for function call call_1."), (400, "Previous response with id 'resp_1' not found."),
        (400, "Unknown parameter: 'include[0]'."), (400, "Input exceeds the context window of this model."),
        (400, "Invalid 'input[6].id': ''. Expected an ID that contains letters"), (400, "Encrypted content cannot be requested for persisted responses"),
    ],
    "gemini": [
        *COMMON,
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."), (400, "API key not valid. Please pass a valid API key."),
        (400, "Please ensure that function call turn comes immediately after a user turn or after a function response turn."),
        (400, "Invalid value at 'contents[1].parts[0].inline_data.data' (TYPE_BYTES), Base64 decoding failed for \"x\""), (400, "Request contains an invalid argument."),
        (400, 'Invalid JSON payload received. Unknown name "foo": Cannot find field.'), (400, "Thinking level is not supported for this model."),
    ],
    "bedrock": [
        *COMMON,
        (400, "Input is too long for requested model."), (400, "The toolConfig field must be defined when using toolUse and toolResult content blocks."),
        (403, "You don't have access to the model with the specified model ID."), (400, "A conversation must alternate between user and assistant roles."),
        (400, "Malformed input request: #: required key [messages] not found"), (400, "The text field in the ContentBlock object at messages.1.content.0 is blank."),
    ],
}  # fmt: skip
HISTORIES = {"chat": chat(), "anthropic": claude(), "responses": items(), "gemini": gemini(), "bedrock": converse()}
SPEAKS = {
    "chat": ["deepseek", "moonshot", "groq", "cerebras", "mistral", "fireworks", "openrouter", "azure", "openai", "databricks", "sambanova", "mimo", "nvidia"],
    "anthropic": ["anthropic", "vertex", "deepseek", "moonshot", "minimax"],
    "responses": ["openai", "azure", "xai", "chatgpt", "vllm", "llamacpp", "openrouter"],
    "gemini": ["gemini", "vertex"],
    "bedrock": ["bedrock"],
}  # fmt: skip


@pytest.mark.parametrize(("dialect", "host"), [(dialect, host) for dialect, hosts in SPEAKS.items() for host in hosts])
def test_an_unrelated_refusal_changes_nothing(dialect, host):
    history, request = own(HISTORIES[dialect], host, dialect, "m"), {**MANUAL, **TOOLS}
    about = asked(host, dialect, "m", request)
    assert len(UNRELATED[dialect]) >= 20
    for status, text in UNRELATED[dialect]:
        for error in ((status, text), text, {"error": {"message": text, "code": status}}):
            done = repair(history, error=error, **about)
            assert (done.messages is history, done.request is request, done.changed, done.means) == (
                True,
                True,
                False,
                None,
            ), text
            assert () == done.report.rows


def test_a_status_of_another_kind_is_another_refusal():
    history = own(chat(None), "deepseek", "chat", "deepseek-v4-pro")
    done = repair(history, error=(500, PASSED), **asked("deepseek", "chat", "deepseek-v4-pro", TOOLS))
    assert not done.changed
    assert repair(history, error=PASSED, **asked("deepseek", "chat", "deepseek-v4-pro", TOOLS)).changed


def test_a_host_that_nobody_described_says_nothing_that_is_understood():
    history = chat()
    done = repair(history, host="https://gw.corp.example/v1", model="m", error=PASSED)
    assert done.messages is history
    alias = Policy(aliases={"gw.corp.example": "deepseek"})
    assert repair(
        chat(None),
        host="https://gw.corp.example/v1",
        model="deepseek-v4-pro",
        request=TOOLS,
        policy=alias,
        error=PASSED,
    ).changed


# What holds an error --------------------------------------------------------------------------------------------------

BODY = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "messages.1.content.0: Invalid `signature` in `thinking` block",
    },
}


def _response(module, body, status):
    return module.Response(status, json=body, request=module.Request("POST", "http://x"))


def openais():
    openai, httpx = pytest.importorskip("openai"), pytest.importorskip("httpx")
    body = {"error": {**BODY["error"], "code": None}}
    return openai.BadRequestError(f"Error code: 400 - {body}", response=_response(httpx, body, 400), body=body["error"])


def anthropics():
    anthropic, httpx = pytest.importorskip("anthropic"), pytest.importorskip("httpx")
    return anthropic.BadRequestError(f"Error code: 400 - {BODY}", response=_response(httpx, BODY, 400), body=BODY)


def litellms():
    litellm = pytest.importorskip("litellm")
    return litellm.BadRequestError(
        message=f"AnthropicException - {json.dumps(BODY)}", model="m", llm_provider="anthropic"
    )


def httpxs():
    httpx = pytest.importorskip("httpx")
    response = _response(httpx, BODY, 400)
    return httpx.HTTPStatusError("400 Bad Request", request=response.request, response=response)


def botos():
    botocore = pytest.importorskip("botocore.exceptions")
    said = {
        "Error": {"Code": "ValidationException", "Message": BODY["error"]["message"]},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    return botocore.ClientError(said, "Converse")


def googles():
    errors = pytest.importorskip("google.genai.errors")
    return errors.ClientError(
        400, {"error": {"code": 400, "message": BODY["error"]["message"], "status": "INVALID_ARGUMENT"}}
    )


def raised(error, cause=None):
    raise error from cause


def wrapped():
    """A framework's own error, raised from the SDK's."""
    try:
        raised(ValueError("the call failed"), anthropics())
    except ValueError as error:
        return error


@pytest.mark.parametrize("make", [openais, anthropics, litellms, httpxs, botos, googles, wrapped])
def test_an_exception_is_read_as_the_text_that_it_holds(make):
    about = asked("anthropic", "anthropic", "claude-sonnet-4-5")
    history = own(claude(), "anthropic", "anthropic", "claude-sonnet-4-5")
    done = repair(history, error=make(), **about)
    assert [(1, "drop", "sealed")] == rows_of(done)


def raised_meanwhile():
    try:
        raised(anthropics())
    except Exception:  # noqa: BLE001 - whichever it is
        raise ValueError("rate limited")  # noqa: B904 - on purpose


def test_what_was_in_the_air_when_an_error_was_raised_is_another_matter():
    with pytest.raises(ValueError, match="rate") as caught:
        raised_meanwhile()
    done = repair(claude(), error=caught.value, **asked("anthropic", "anthropic", "claude-sonnet-4-5"))
    assert not done.changed


@pytest.mark.parametrize("error", [7, object(), 1.5])
def test_an_error_of_another_type_is_an_error(error):
    with pytest.raises(TypeError, match=r"error: a .*; allowed: the host's text"):
        repair(claude(), error=error, **asked("anthropic", "anthropic", "claude-sonnet-4-5"))


def test_no_word_of_an_error_is_shown():
    error = (400, "messages.1.content.0: Invalid `signature` in `thinking` block: CANARY-secret")
    done = repair(own(claude(), "anthropic", "anthropic", "m"), error=error, **asked("anthropic", "anthropic", "m"))
    assert done.changed
    assert "CANARY" not in f"{done!r} {done.report} {done.report.to_dict()}"


# From the wire back to the caller's messages --------------------------------------------------------------------------


def two_steps(form):
    """A system message, a message that the plan leaves out, and two replies of Claude's, in chat's or LangChain's words."""

    def block(at):
        return {"type": "thinking", "thinking": "t", "signature": f"S{at}"}

    rows = [
        {"role": "system", "content": "s"}, user(), {"role": "assistant", "content": "", "thinking_blocks": [{**block(0), "signature": "foreign"}]},
        {"role": "assistant", "content": "", "tool_calls": [CALL], "thinking_blocks": [block(1), block(2)]},
        {"role": "tool", "tool_call_id": "c1", "content": "3C"}, {"role": "tool", "tool_call_id": "c2", "content": "4C"},
        {"role": "assistant", "content": "x", "thinking_blocks": [block(3)]}, user(),
    ]  # fmt: skip
    rows[3]["tool_calls"] = [CALL, {**CALL, "id": "c2"}]
    about = asked("anthropic", "anthropic", "claude-sonnet-4-5")
    origin = Origin(about["host"], dialect="anthropic", model="claude-sonnet-4-5")
    adopted = [row if at == 2 else adopt([row], origin, form="litellm")[0] for at, row in enumerate(rows)]
    if form == "litellm":
        return adopted, {**about, "form": form}
    messages = pytest.importorskip("langchain_core.messages")
    said = [
        messages.SystemMessage("s"), messages.HumanMessage("x"), messages.AIMessage([{**block(0), "signature": "foreign"}]),
        messages.AIMessage([block(1), block(2)], tool_calls=[{"name": "f", "args": {}, "id": each} for each in ("c1", "c2")]),
        messages.ToolMessage("3C", tool_call_id="c1"), messages.ToolMessage("4C", tool_call_id="c2"),
        messages.AIMessage([block(3), {"type": "text", "text": "x"}]), messages.HumanMessage("x"),
    ]  # fmt: skip
    return [each if at == 2 else adopt([each], origin, form="langchain")[0] for at, each in enumerate(said)], {
        **about,
        "form": form,
    }


@pytest.mark.parametrize("form", ["litellm", "langchain"])
@pytest.mark.parametrize(
    ("place", "row", "size"),
    [("1.content.0", 3, 3), ("1.content.1", 3, 3), ("3.content.0", 6, 3), ("9.content.0", None, 0)],
)
def test_a_place_on_the_wire_is_found_in_messages_of_another_form(form, place, row, size):
    """System messages go apart, the foreign one is left out, results in a row are one message of the user's."""
    history, about = two_steps(form)
    done = repair(history, error=(400, f"messages.{place}: Invalid `signature` in `thinking` block"), **about)
    touched = {each.index for each in done.report.rows}
    assert ({row} if row is not None else {2, 3, 6}) == touched
    if row == 3:  # one block of two
        (line,) = done.report.rows
        assert size == line.bytes


def test_in_the_latest_reply_the_whole_run_goes_and_in_an_earlier_one_the_block_that_is_named():
    """ "Blocks in the latest assistant message cannot be modified"."""
    one, two = ({"type": "thinking", "thinking": "t", "signature": each} for each in ("S1", "S2"))
    said = {"role": "assistant", "content": [one, two, {"type": "text", "text": "x"}]}
    about = asked("anthropic", "anthropic", "claude-sonnet-4-5")
    error = (400, "messages.1.content.0: Invalid `signature` in `thinking` block")
    latest = repair(own([user(), said, user()], "anthropic", "anthropic", "claude-sonnet-4-5"), error=error, **about)
    assert ["text"] == [block["type"] for block in latest.messages[1]["content"]]
    earlier = repair(
        own([user(), said, user(), said, user()], "anthropic", "anthropic", "claude-sonnet-4-5"), error=error, **about
    )
    assert ["S2", None] == [block.get("signature") for block in earlier.messages[1]["content"]]


def test_a_place_that_is_counted_without_what_the_plan_left_out_is_found():
    """The first reply is another's: the plan leaves it out, and the host counts one message less."""
    foreign = {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "S0"}]}
    rows = own(claude(), "anthropic", "anthropic", "claude-sonnet-4-5")
    history = [rows[0], foreign, *rows[1:]]
    done = repair(
        history,
        error=(400, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        **asked("anthropic", "anthropic", "claude-sonnet-4-5"),
    )
    assert [(2, "drop", "sealed")] == rows_of(done)
