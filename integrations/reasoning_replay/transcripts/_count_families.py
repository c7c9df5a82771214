"""Which model is counted how: its vocabulary, its template, what stands for sealed reasoning, and for pictures.

Tables with their sources and dates; the first entry whose globs fit the model's name decides, else the host's file.
Numbers are tokens. What nobody tells is a guess and says so.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, NamedTuple

from ._count_words import Words, estimated, words_by


class Template(NamedTuple):
    """What a model's template writes around what is said."""

    name: str
    source: str
    request: int
    """Once a request: its beginning, and the opening of the answer."""
    message: int
    """Around every message that is no assistant's and no tool's."""
    system: int
    """Around a system text."""
    reply: int
    """Around every message of the assistant."""
    said: int = 0
    """Around the text of a reply, where it has one."""
    reasoning: int = 0
    """Around the reasoning of a reply, where some is read."""
    bare: int = 0
    """In a reply whose reasoning is not read."""
    calls: int = 0
    """Around all calls of a reply."""
    call: int = 0
    """Around one call, its name and arguments apart."""
    argument: int = 0
    """Around one argument, its name and value apart; only where each is written for itself."""
    result: int = 0
    """Around the result of a call."""
    arguments: str = "json"
    """How arguments are written, as `_count_prompt.ARGUMENTS` names it."""
    tools: int = 0
    """Once, where the request has tools."""
    tool: int = 0
    """Around one tool, its description apart."""
    tool_style: str = "function"
    """How a tool is written, as `_count_prompt.TOOLS` names it."""
    thinks: tuple[tuple[str, int], ...] = ()
    """What the request says about the effort (`""`: nothing, `off`) → more tokens at its beginning."""


CHATML: Final = Template(
    "chatml", "guess: <|im_start|>role, text, <|im_end|>, as most open models have it; 2026-11-30",
    request=3, message=5, system=5, reply=5, reasoning=4, calls=4, call=8, result=7, tools=80, tool=3,
)  # fmt: skip
OPENAI: Final = Template(
    "openai", "https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken: 3 a message; the rest a guess",
    request=3, message=4, system=4, reply=4, call=8, result=4, tools=12, tool=4, tool_style="typescript",
)  # fmt: skip
CLAUDE: Final = Template(
    "claude", "https://platform.claude.com/docs/en/build-with-claude/token-counting: its examples; the rest a guess",
    request=3, message=4, system=0, reply=4, reasoning=3, call=40, result=30, tools=312, tool=0,
)  # fmt: skip
HARMONY: Final = Template(
    "harmony", "openai-harmony 0.0.8, with its own system message and a date; 2026-11-30",
    request=64, message=4, system=7, reply=0, said=6, reasoning=6, call=15, result=12, tools=27, tool=0,
    tool_style="typescript",
)  # fmt: skip
MISTRAL: Final = Template(
    "mistral v13", "mistral-common 1.13.1, InstructTokenizerV13; 2026-11-30",
    request=1, message=2, system=2, reply=1, reasoning=2, call=2, result=2, arguments="spaced", tools=3, tool=1,
    tool_style="whole",
)  # fmt: skip
DEEPSEEK_V4: Final = Template(
    "deepseek v4", "deepseek-recipe 0.2.0, DeepseekV4Encoding; 2026-11-30",
    request=3, message=1, system=1, reply=2, reasoning=2, bare=1, calls=14, call=11, argument=14, result=8,
    arguments="each", tools=222, tool=1,
    thinks=(("", 79), ("medium", 79), ("high", 79), ("xhigh", 79), ("max", 92)),
)  # fmt: skip
DEEPSEEK_V41: Final = DEEPSEEK_V4._replace(
    name="deepseek v4.1",
    source="deepseek-recipe 0.2.0, DeepseekV41Encoding; 2026-11-30",
    calls=10,
    call=10,
    result=7,
    tools=214,
    thinks=(("", 30), ("*", 30)),
)
DEEPSEEK_OLD: Final = DEEPSEEK_V4._replace(
    name="deepseek before v4", source="guess: V4's without its words on effort; 2026-11-30", thinks=()
)


class Sealed(NamedTuple):
    """What is reckoned for reasoning that only its host can read, where no usage tells."""

    each: int
    """For a part without any text; of a part with a text the text counts, which is a summary as a rule."""
    method: str
    """For people."""
    source: str
    """What the vendor bills."""


_EACH: Final = "guess: 256 a sealed part without text"
GUESS: Final = Sealed(256, _EACH, "guess")
CLAUDES: Final = Sealed(
    256,
    _EACH,
    "Claude bills the tokens of the original thinking, of which a text is a summary: "
    "https://platform.claude.com/docs/en/build-with-claude/extended-thinking, 2026-11",
)
OPENAIS: Final = Sealed(
    256,
    _EACH,
    "OpenAI bills the reasoning tokens that an item stands for: "
    "https://github.com/langchain-ai/langchain/issues/39697, 2026-08",
)
GEMINIS: Final = Sealed(
    256,
    _EACH,
    "Google says that signatures sent back are billed (https://ai.google.dev/gemini-api/docs/thinking); one report saw "
    "no difference (https://github.com/googleapis/python-genai/issues/1129, 2025-07)",
)


class Media(NamedTuple):
    """What is reckoned for a picture, a sound, a film or a file of unknown size."""

    image: int
    audio: int
    video: int
    file: int
    source: str


MEDIA: Final = Media(1000, 500, 5000, 1500, "guess: 1000 a picture, 500 a sound, 5000 a film, 1500 a file")
OPENAI_MEDIA: Final = MEDIA._replace(
    image=765,
    source="765 a picture: 1024 x 1024 at high detail (https://developers.openai.com, vision); the rest a guess",
)
CLAUDE_MEDIA: Final = MEDIA._replace(
    image=1600,
    source="1600 a picture: width x height / 750, scaled down to that at most before Opus 4.7 "
    "(https://platform.claude.com/docs/en/build-with-claude/vision); the rest a guess",
)
GEMINI_MEDIA: Final = MEDIA._replace(
    image=1090,
    source="1090 a picture with Gemini 3 (measured by others: huggingface.co/datasets/JOHNISKING/image-token-cost); "
    "the rest a guess",
)


class Family(NamedTuple):
    """How the models of one family are counted."""

    name: str
    models: tuple[str, ...]
    """Globs on the model's name in lower case, also on what follows its last `/`."""
    vocabularies: tuple[tuple[str, float, bool], ...]
    """Name in `_vocabulary`, factor, and whether it is the model's own; the first one that is installed counts."""
    template: Template
    sealed: Sealed = GUESS
    media: Media = MEDIA


_OWN_DEEPSEEK: Final = (("deepseek-v3", 1.0, True),)
_CLAUDE_NEW: Final = 1.43
"""Claude 2's vocabulary is some 10% short of Claude 3's (guess); since Opus 4.7 a text is some 30% more tokens:
https://platform.claude.com/docs/en/build-with-claude/token-counting, 2026-11."""

FAMILIES: Final = (
    Family(
        "deepseek v4.1", ("deepseek-v4.1*", "deepseek*-v4-flash*", "deepseek-v4*flash*"), _OWN_DEEPSEEK, DEEPSEEK_V41
    ),
    Family("deepseek v4", ("deepseek-v4*", "deepseek-chat", "deepseek-reasoner"), _OWN_DEEPSEEK, DEEPSEEK_V4),
    Family("deepseek", ("deepseek*", "*.deepseek*"), _OWN_DEEPSEEK, DEEPSEEK_OLD),
    Family("gpt-oss", ("gpt-oss*", "*.gpt-oss*"), (("o200k", 1.0, True),), HARMONY),
    Family(
        "openai", ("gpt-4o*", "gpt-4.1*", "gpt-5*", "o1*", "o3*", "o4*", "chatgpt-4o*", "codex*"),
        (("o200k", 1.0, True),), OPENAI, OPENAIS, OPENAI_MEDIA,
    ),
    Family("mistral", ("mistral*", "magistral*", "ministral*", "codestral*", "devstral*", "pixtral*", "*.mistral*"),
        (("tekken", 1.0, True),), MISTRAL),
    Family(
        "claude since 4.7",
        (
            "*claude-opus-4[-.][789]*", "*claude-opus-[5-9]*", "*claude-sonnet-[5-9]*", "*claude-haiku-[5-9]*",
            "*claude-fable*", "*claude-mythos*",
        ),
        (("claude-2", _CLAUDE_NEW, False), ("o200k", _CLAUDE_NEW, False)), CLAUDE, CLAUDES, CLAUDE_MEDIA,
    ),
    Family("claude", ("*claude*",), (("claude-2", 1.1, False), ("o200k", 1.1, False)), CLAUDE, CLAUDES, CLAUDE_MEDIA),
    Family("gemini", ("gemini*",), (("o200k", 1.0, False),), CHATML, GEMINIS, GEMINI_MEDIA),
    Family(
        "of China", ("qwen*", "qwq*", "glm*", "kimi*", "moonshot*", "minimax*", "hunyuan*", "ernie*", "step*", "mimo*"),
        (("deepseek-v3", 1.0, False), ("o200k", 1.0, False)), CHATML,
    ),
    Family("other", ("*",), (("o200k", 1.0, False), ("deepseek-v3", 1.0, False)), CHATML),
)  # fmt: skip
"""The last one fits every model."""


BY_FILE: Final = {
    **dict.fromkeys(("openai", "azure", "chatgpt"), "openai"),
    **dict.fromkeys(("gemini", "vertex"), "gemini"),
    **dict.fromkeys(("dashscope", "moonshot", "kimi-code", "zai", "minimax", "tencent", "stepfun", "mimo"), "of China"),
    "deepseek": "deepseek v4",
    "mistral": "mistral",
    "anthropic": "claude since 4.7",
}
"""Id of a host's file → the family of its models, where a model's name says nothing."""


@lru_cache(maxsize=256)
def family_of(model: str | None, host_file: str) -> Family:
    """The family of a model: by its name, else by the file of its host, which is a guess, else the last."""
    name = (model or "").lower()
    names = {name, name.rpartition("/")[2]}
    for family in FAMILIES[:-1]:
        if any(fnmatchcase(each, glob) for glob in family.models for each in names):
            return family
    wanted = BY_FILE.get(host_file, FAMILIES[-1].name)
    found = next(family for family in FAMILIES if family.name == wanted)
    return found._replace(vocabularies=tuple((name, factor, False) for name, factor, _ in found.vocabularies))


def words_for(family: Family) -> Words:
    """The words of a family: the first of its vocabularies that is installed, else the estimate by script."""
    for name, factor, exact in family.vocabularies:
        found = words_by(name, factor, exact)
        if found is not None:
            return found
    return estimated()
