"""Vocabularies that other packages carry: found where they are installed, read when they are first asked for.

DeepSeek's, OpenAI's and Claude's old one lie in LiteLLM's wheel, Mistral's in its own package. Nothing is fetched, no
package is imported for its files' sake, and no environment variable is set: what is not there is `None`.
It knows no host, no model and no message: which vocabulary a model has stands in `transcripts`.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

Encode = Callable[[str], int]
"""A text → how many tokens it is."""


@cache
def litellm_files() -> Path | None:
    """Where LiteLLM keeps vocabularies; None where it is not installed. LiteLLM itself is not imported."""
    return _folder("litellm", "litellm_core_utils/tokenizers")


def _folder(package: str, inside: str) -> Path | None:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / inside
    return folder if folder.is_dir() else None


@cache
def encoder(name: str) -> Encode | None:
    """The vocabulary of that name as a function; None where its files or what reads them are not installed.

    Raises:
        KeyError: no such name.
    """
    packages, load = _LOADERS[name]
    if any(find_spec(package) is None for package in packages):
        return None
    return load()


def _hugging_face(file: str) -> Callable[[], Encode | None]:
    """A `tokenizer.json`, read by `tokenizers`."""

    def load() -> Encode | None:
        found = hugging_face(file)
        return None if found is None else lambda text: len(found.encode(text, add_special_tokens=False).ids)

    return load


@cache
def hugging_face(file: str) -> Any:
    """One of LiteLLM's `tokenizer.json` files as a `Tokenizer`; None where it is not there."""
    folder = litellm_files()
    if folder is None or not (folder / file).is_file():
        return None
    return import_module("tokenizers").Tokenizer.from_file(str(folder / file))


O200K_FILE: Final = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""`o200k_base.tiktoken`, under the name that tiktoken's cache has for it: the SHA-1 of its address."""
O200K_PATTERN: Final = (
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
"""How a text is cut before its pieces are: tiktoken 0.14 `tiktoken_ext/openai_public.py`; that would fetch the rest."""


def _o200k() -> Encode | None:
    """OpenAI's of 2024, and gpt-oss's for all but its own special tokens."""
    folder = litellm_files()
    if folder is None or not (folder / O200K_FILE).is_file():
        return None
    lines = (line.split() for line in (folder / O200K_FILE).read_bytes().splitlines() if line)
    return _tiktoken(O200K_PATTERN, {b64decode(word): int(rank) for word, rank in lines})


def _tiktoken(pattern: str, ranks: dict[bytes, int]) -> Encode:
    make = import_module("tiktoken").Encoding
    encode = make("by reasoning-replay", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}).encode_ordinary
    return lambda text: len(encode(text))


TEKKEN_FILE: Final = "tekken_240911.json"


def _tekken() -> Encode | None:
    """Mistral's words of 2024, read without the package: importing it takes three seconds more (2026-11-30)."""
    folder = _folder("mistral_common", "data")
    if folder is None or not (folder / TEKKEN_FILE).is_file():
        return None
    file = json.loads((folder / TEKKEN_FILE).read_bytes())
    config = file["config"]
    words = file["vocab"][: config["default_vocab_size"] - config["default_num_special_tokens"]]
    return _tiktoken(config["pattern"], {b64decode(word["token_bytes"]): word["rank"] for word in words})


@cache
def tekken() -> Any:
    """Mistral's words of 2024 with the special tokens of Magistral's format; None where the file is not there.

    The package has the words of 2024 and the format of 2025, which has a few special tokens more: put together.
    """
    folder = _folder("mistral_common", "data")
    if folder is None or not (folder / TEKKEN_FILE).is_file():
        return None
    base = import_module("mistral_common.tokens.tokenizers.base")
    made = import_module("mistral_common.tokens.tokenizers.tekken")
    words = json.loads((folder / TEKKEN_FILE).read_text())
    known, count = [each.value for each in base.SpecialTokens], words["config"]["default_num_special_tokens"]
    special = [
        made.SpecialTokenInfo(
            rank=rank, token_str=known[rank] if rank < len(known) else f"<SPECIAL_{rank}>", is_control=True
        )
        for rank in range(count)
    ]
    return made.Tekkenizer(
        words["vocab"],
        special,
        pattern=words["config"]["pattern"],
        vocab_size=words["config"]["default_vocab_size"],
        num_special_tokens=count,
        version=base.TokenizerVersion.v13,
    )


_LOADERS: Final[dict[str, tuple[tuple[str, ...], Callable[[], Encode | None]]]] = {
    "deepseek-v3": (("litellm", "tokenizers"), _hugging_face("deepseek_tokenizer.json")),
    "claude-2": (("litellm", "tokenizers"), _hugging_face("anthropic_tokenizer.json")),
    "o200k": (("litellm", "tiktoken"), _o200k),
    "tekken": (("mistral_common", "tiktoken"), _tekken),
}
"""Name → the packages that it takes, and what reads it."""
NAMES: Final = tuple(_LOADERS)
