"""A language model of 3.4 MB with weights set by hand: it calls a tool once, then answers. Deterministic, made in 0.3 s.

How it works. Every token is a dimension of the embedding, and the output matrix is a table "after this token comes that
token", so a phrase is a chain of tokens. Two dimensions more carry one decision: attention has no position (queries and
keys are zero), so it sees the mean of the prompt, in which a user turn counts -1 and a tool response, which the
template puts into a user turn of its own, +2 more. The feed-forward layer lets the decision through only after a
newline, where the generation prompt ends. While the sum is below zero, a user message has no tool response
yet and the chain ASK begins; else the chain ANSWER.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import gguf
import numpy as np

ASK: Final = (
    "I should",
    " call the",
    " weather tool.",
    "\n</think>\n\n",
    "<tool_call>",
    "\n<function=get_weather>\n<parameter=city>\n",
    "Oslo",
    "\n</parameter>\n</function>\n",
    "</tool_call>",
    "<|im_end|>",
)
ANSWER: Final = ("The tool", " result", " is in.\n</think>\n\n", "It is", " 3C.", " Done.", "<|im_end|>")
TURNS: Final = ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_start|>user")
TAGS: Final = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
NEWLINE: Final = "<0x0A>"

WIDTH: Final = 384
"""One dimension a token, and two for the decision."""
INNER: Final = 32
DECISION: Final = WIDTH - 2
GATE: Final = WIDTH - 1
NORMAL, UNKNOWN, CONTROL, USER, BYTE = 1, 2, 3, 4, 6
"""Token types of the format."""


def vocabulary() -> dict[str, int]:
    """Token -> type, in order: the byte tokens of a sentencepiece vocabulary, then whole phrases."""
    tokens = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL}
    tokens |= {f"<0x{byte:02X}>": BYTE for byte in range(256)}
    tokens |= {token: CONTROL if token in TURNS[:3] else USER for token in (*TURNS, *TAGS)}
    return tokens | {phrase: USER for phrase in (*ASK, *ANSWER) if phrase not in tokens}


def zeros(*shape: int) -> Any:
    """A tensor of zeros."""
    return np.zeros(shape, np.float32)


def phrases(at: dict[str, int]) -> Any:
    """The output matrix: which token comes after which."""
    follows = zeros(len(at), WIDTH)
    for chain in (ASK, ANSWER):
        for before, after in pairwise(chain):
            follows[at[after], at[before]] = 1
    follows[at["It is"], at["</think>"]] = 1
    follows[at[ANSWER[0]], at[NEWLINE]] = 1
    follows[at[ASK[0]], GATE] = 1
    return follows


def weights(at: dict[str, int]) -> dict[str, Any]:
    """Every tensor of the model by its name in the file. `at`: token -> its row."""
    assert len(at) <= DECISION, "more tokens than dimensions"
    embedding = zeros(len(at), WIDTH)
    embedding[np.arange(len(at)), np.arange(len(at))] = 1
    value, out = zeros(WIDTH, WIDTH), zeros(WIDTH, WIDTH)
    strength = 1000 / np.sqrt(WIDTH)
    value[DECISION, at["<tool_response>"]] = 2 * strength
    value[DECISION, at["<|im_start|>user"]] = -strength
    out[DECISION, DECISION] = 1
    opens, lifts, lowers = zeros(INNER, WIDTH), zeros(INNER, WIDTH), zeros(WIDTH, INNER)
    opens[0, at[NEWLINE]] = 1
    lifts[0, DECISION] = -1
    lowers[GATE, 0] = 1
    ones = np.ones(WIDTH, np.float32)
    return {
        "token_embd.weight": embedding,
        "output_norm.weight": ones,
        "output.weight": phrases(at),
        "blk.0.attn_norm.weight": ones,
        "blk.0.attn_q.weight": zeros(WIDTH, WIDTH),
        "blk.0.attn_k.weight": zeros(WIDTH, WIDTH),
        "blk.0.attn_v.weight": value,
        "blk.0.attn_output.weight": out,
        "blk.0.ffn_norm.weight": ones,
        "blk.0.ffn_gate.weight": opens,
        "blk.0.ffn_up.weight": lifts,
        "blk.0.ffn_down.weight": lowers,
    }


def describe(writer: Any) -> None:
    """What the file says of the model."""
    writer.add_name("scripted-tool-loop")
    writer.add_context_length(65536)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(6)
    writer.add_head_count_kv(6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(64)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def add_vocabulary(writer: Any, tokens: dict[str, int]) -> None:
    """The tokens and their types."""
    names = list(tokens)
    writer.add_vocab_size(len(names))
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([name.encode() for name in names])
    writer.add_token_scores([0.0] * len(names))
    writer.add_token_types(list(tokens.values()))
    writer.add_bos_token_id(names.index("<s>"))
    writer.add_eos_token_id(names.index("<|im_end|>"))
    writer.add_unk_token_id(names.index("<unk>"))
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)


def write_model(path: Path) -> None:
    """Write the model as a GGUF file."""
    tokens = vocabulary()
    writer = gguf.GGUFWriter(str(path), "llama")
    describe(writer)
    add_vocabulary(writer, tokens)
    for name, tensor in weights({token: row for row, token in enumerate(tokens)}).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
