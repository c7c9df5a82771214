"""Items that servers for open models take or refuse: for the strict hosts, and for the real llama.cpp server.

Each case is what stands behind a question.
"""

USER = {"role": "user", "content": "q"}
KIND = "Cannot determine type of 'item'"


def thought(**more):
    content = [{"type": "reasoning_text", "text": "T"}]
    return {"type": "reasoning", "id": "rs_1", "summary": [], "content": content, **more}


CALLED = {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": "{}"}
DONE = {"type": "function_call_output", "call_id": "c1", "output": "3C"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
TAKEN = {
    "reasoning with its text": [thought(), CALLED, DONE],
    "keys that nobody knows": [thought(foo=1, status=None), CALLED, DONE],
    "a blank where others seal": [thought(encrypted_content=""), CALLED, DONE],
    "reasoning that nothing follows": [thought()],
    "an output without its call": [DONE],
    "a message of its own": [SAID, USER],
}
"""What either takes."""
LLAMA_REFUSES = {
    "reasoning without content": ([{"type": "reasoning", "id": "rs_1", "summary": []}], "item['content'] is not an array"),
    "reasoning with null for content": ([thought(content=None)], "item['content'] is not an array"),
    "reasoning with empty content": ([thought(content=[])], "item['content'] is empty"),
    "reasoning without a summary": ([{k: v for k, v in thought().items() if k != "summary"}], KIND),
    "a reference": ([{"type": "item_reference", "id": "rs_1"}], KIND),
    "a compaction": ([{"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}], KIND),
    "a reply as plain text": ([{"role": "assistant", "content": "x"}, USER], KIND),
    "a call that nobody answered": ([thought(), CALLED], "Cannot continue an assistant message that contains tool calls."),
}  # fmt: skip
"""What llama.cpp refuses, and its words."""
