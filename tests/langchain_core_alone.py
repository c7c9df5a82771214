"""What must work where the extra `langchain` is all there is: no partner package, no `langchain`. Run as a script.

`.ci/run` does so with the built wheel in an environment of its own, `.ci/full` with the oldest langchain-core of the extra.
"""

from __future__ import annotations

import importlib.metadata
import sys
from importlib.util import find_spec

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage

from reasoning_replay.langchain import ReplayTransformer, report_of, with_reasoning_replay

MARK = "reasoning_replay"


def a_model() -> GenericFakeChatModel:
    """It thinks, and nobody knows its class."""
    thinks = AIMessage("It is 3C.", additional_kwargs={"reasoning_content": "I know the weather."})
    return GenericFakeChatModel(messages=iter([thinks] * 3))


def main() -> None:
    """Wrapped, in a chain, and without the middleware."""
    model = with_reasoning_replay(a_model())
    question = HumanMessage("What is the weather in Oslo?")
    reply = model.invoke([question])
    assert MARK in reply.additional_kwargs, reply
    again = model.invoke([question, reply, HumanMessage("And now?", additional_kwargs={"turn": False})])
    counts = report_of(again).counts()
    assert counts == {"keep": 1}, counts

    bare = a_model()
    transformer = ReplayTransformer(bare)
    chain = transformer | bare | transformer.capture
    assert MARK in chain.invoke([question]).additional_kwargs

    assert find_spec("langchain") is None, "langchain is installed: this is no test of langchain-core alone"
    try:
        from reasoning_replay.langchain import ReasoningReplayMiddleware  # noqa: F401
    except ImportError as error:
        said = str(error)
    else:
        said = "nothing: it was imported without langchain"
    assert "pip install langchain" in said, said
    loaded = {"langchain", "langchain_openai", "litellm", "openai"} & set(sys.modules)
    assert not loaded, loaded
    print("the wrapper and the transformer hold with langchain-core", importlib.metadata.version("langchain-core"))


if __name__ == "__main__":
    main()
