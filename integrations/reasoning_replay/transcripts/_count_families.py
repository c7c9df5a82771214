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
    request=3, message=5, reply=5, reasoning=4, calls=4, call=8, result=7, tools=80, tool=3,
)  # fmt: skip
OPENAI: Final = Template(
    "openai", "https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken_call, 2024-07: 3 a message",
    request=3, message=3, reply=3, call=8, result=3, tools=12, tool=4, tool_style="typescript",
)  # fmt: skip
CLAUDE: Final = Template(
    "claude", "https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview: 346 with tools; rest a guess",
    request=3, message=4, reply=4, reasoning=3, call=40, result=30, tools=346, tool=30,
)  # fmt: skip
HARMONY: Final = Template(
    "harmony", "openai-harmony 0.0.8, with its own system message and a date; 2026-11-30",
    request=63, message=4, reply=0, said=6, reasoning=6, call=14, result=10, tools=30, tool=6, tool_style="typescript",
)  # fmt: skip
MISTRAL: Final = Template(
    "mistral v13", "mistral-common 1.13.1, InstructTokenizerV13; 2026-11-30",
    request=1, message=2, reply=1, reasoning=2, call=2, result=2, arguments="spaced", tools=3, tool=1,
    tool_style="whole",
)  # fmt: skip
DEEPSEEK_V4: Final = Template(
    "deepseek v4", "deepseek-recipe 0.2.0, DeepseekV4Encoding; 2026-11-30",
    request=3, message=1, reply=2, reasoning=2, bare=1, calls=14, call=12, argument=14, result=9, arguments="each",
    tools=222, tool=1,
    thinks=(("", 79), ("medium", 79), ("high", 79), ("xhigh", 79), ("max", 92)),
)  # fmt: skip
DEEPSEEK_V41: Final = DEEPSEEK_V4._replace(
    name="deepseek v4.1",
    source="deepseek-recipe 0.2.0, DeepseekV41Encoding; 2026-11-30",
    thinks=(("", 30), ("*", 30)),
)


class Sealed(NamedTuple):
    """What is reckoned for reasoning that only its host can read, where no usage tells."""

    each: int
    """For a part without any text."""
    source: str


GUESS: Final = Sealed(256, "guess: 256 a sealed part")


class Media(NamedTuple):
    """What is reckoned for a picture, a sound, a film or a file of unknown size."""

    image: int
    audio: int
    video: int
    file: int
    source: str


MEDIA: Final = Media(1000, 500, 5000, 1500, "guess")


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
    hosts: tuple[str, ...] = ()
    """Ids of the host files whose models are of this family where the name does not say."""


FAMILIES: Final = (
    Family(
        "deepseek-v4.1", ("deepseek-v4.1*", "deepseek-v4-flash*", "deepseek*v4*flash*"),
        (("deepseek-v3", 1.0, True),), DEEPSEEK_V41,
    ),
    Family("deepseek", ("deepseek*", "*/deepseek*"), (("deepseek-v3", 1.0, True),), DEEPSEEK_V4, hosts=("deepseek",)),
    Family("gpt-oss", ("gpt-oss*", "*.gpt-oss*"), (("o200k", 1.0, True),), HARMONY),
    Family(
        "openai", ("gpt-4o*", "gpt-4.1*", "gpt-5*", "o1*", "o3*", "o4*", "chatgpt-4o*", "codex*"),
        (("o200k", 1.0, True),), OPENAI,
        sealed=Sealed(256, "guess: 256 an item; its usage (reasoning_tokens) tells it exactly"),
        hosts=("openai", "azure", "chatgpt", "copilot"),
    ),
    Family(
        "mistral", ("mistral*", "magistral*", "ministral*", "codestral*", "devstral*", "pixtral*", "*.mistral*"),
        (("tekken", 1.0, True),), MISTRAL, hosts=("mistral",),
    ),
    Family(
        "claude", ("claude*", "*.claude*", "*claude-*"), (("claude-2", 1.1, False), ("o200k", 1.2, False)), CLAUDE,
        hosts=("anthropic",),
    ),
    Family("gemini", ("gemini*",), (("o200k", 1.0, False),), CHATML, hosts=("gemini", "vertex")),
    Family(
        "chinese", ("qwen*", "qwq*", "glm*", "kimi*", "moonshot*", "minimax*", "hunyuan*", "ernie*", "step*", "mimo*"),
        (("deepseek-v3", 1.0, False), ("o200k", 1.0, False)), CHATML,
        hosts=("dashscope", "moonshot", "zai", "minimax", "qianfan", "tencent", "stepfun", "mimo", "kimi-code"),
    ),
    Family("other", ("*",), (("o200k", 1.0, False), ("deepseek-v3", 1.0, False)), CHATML),
)  # fmt: skip
"""The last one fits every model."""


@lru_cache(maxsize=256)
def family_of(model: str | None, host_file: str) -> Family:
    """The family of a model: by its name, else by the file of its host, else the last."""
    name = (model or "").lower()
    names = {name, name.rpartition("/")[2]}
    for family in FAMILIES[:-1]:
        if any(fnmatchcase(each, glob) for glob in family.models for each in names):
            return family
    return next((family for family in FAMILIES if host_file in family.hosts), FAMILIES[-1])


def words_for(family: Family) -> Words:
    """The words of a family: the first of its vocabularies that is installed, else the estimate by bytes."""
    for name, factor, exact in family.vocabularies:
        found = words_by(name, factor, exact)
        if found is not None:
            return found
    return estimated()
