"""Hosts' own words for a refusal with the histories that they are said of, and what each of them allows.

SAID holds what was read of the hosts and in reports (hosts' pages, SDKs, issues; each with what its remedy is), and
nothing here reads an `[[errors]]` table.
"""

import json

from reasoning_replay import MemoryStore, Origin, adopt

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
