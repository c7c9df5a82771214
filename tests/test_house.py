"""The house: who may see whom, which words are ours, how long things get. Read with `ast`, nothing is imported."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from inline_snapshot import external_file

import reasoning_replay

HOUSE = Path(reasoning_replay.__file__).parent
FILES = sorted(HOUSE.rglob("*.py"))
PUBLIC = [
    "reasoning_replay", "reasoning_replay.langchain", "reasoning_replay.litellm", "reasoning_replay.stores",
    "reasoning_replay.testing", "reasoning_replay.transcripts",
]  # fmt: skip

# Who may enter whom: the room, and the rooms that its imports may name. A room is a module or a folder
# directly under the package; what a room's own files do among themselves is its own affair (but see `forms`).
CORE = [
    "_origin", "_history", "_params", "_host", "_policy", "_parse", "_rules", "_guards", "_decision", "_engine", "forms",
]  # fmt: skip
MAY_SEE = {
    **{room: set(CORE[:at]) for at, room in enumerate(CORE)},
    "_report": {"_origin", "_rules", "_decision", "_report_html"},
    "_report_html": {"_decision", "_report"},
    "stores": {"_origin"},
    "_known": {"_origin", "stores"},
    "hosts": {"_rules", "_parse"},
    "_fallback": {*CORE},
    "_plan": {*CORE, "_report", "_known", "_restore"},
    "_restore": {"_origin", "_history", "_known", "forms"},
    "_resolve": {"_origin", "_history", "_known", "_restore", "forms"},
    "_faults": {"_rules", "_known", "_plan"},
    "_capture": {"_origin", "_known", "_faults", "_restore", "forms"},
    "_unknown": {"_history", "_rules", "forms"},
    "_replay": {*CORE, "_unknown", "_report", "_known", "_resolve", "_fallback", "_plan", "_faults", "hosts"},
    "litellm": {
        *CORE,
        "_report",
        "_known",
        "_plan",
        "_faults",
        "_capture",
        "_replay",
        "_resolve",
        "_restore",
        "stores",
        "hosts",
        "transcripts",
    },
    "_vocabulary": set(),
    "transcripts": {
        *CORE,
        "_vocabulary",
        "_report",
        "_known",
        "_plan",
        "_faults",
        "_capture",
        "_replay",
        "_resolve",
        "hosts",
    },
    "langchain": {*CORE, "_report", "_known", "_plan", "_faults", "_capture", "_replay", "litellm", "transcripts"},
    "testing": {
        "_vocabulary",
        "_origin",
        "_history",
        "_engine",
        "_report",
        "_known",
        "_plan",
        "_faults",
        "_capture",
        "_replay",
    },
    "_cli": {*CORE, "_report", "_known", "_plan", "_unknown", "_capture", "_replay", "hosts", "_demo", "transcripts"},
    "_demo": {"_report", "langchain", "litellm", "testing"},
    "__main__": {"_cli"},
}
FRAMEWORKS = {"litellm", "langchain", "langchain_core", "httpx", "requests", "openai", "anthropic"}
BELOW_THE_DOORS = [*CORE, "_report", "_report_html", "_known", "_restore", "_resolve", "_fallback", "_plan", "hosts"]
WORLD = {"time", "datetime.now", "logging", "os", "random", "socket", "warnings"}

NOT_OUR_WORDS = {"sanitize", "clean", "handle", "manager", "util", "utils", "provider", "provenance"}
# LiteLLM's and LangChain's own names, and LiteLLM's word for what it calls (a host is ours).
THEIR_NAMES = {"provider_specific_fields", "custom_llm_provider", "llm_provider", "run_manager"}
THEIR_WORDS = {"litellm": {"provider"}}

REASONING_FIELDS = {
    "encrypted_content", "reasoning", "reasoning_content", "reasoning_details", "reasoning_items",
    "reasoningContent", "redacted_thinking", "redactedContent", "signature", "thinking_blocks",
    "thought_signature", "thoughtSignature",
}  # fmt: skip


def room_of(path: Path) -> str:
    inside = path.relative_to(HOUSE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def named(path: Path) -> str:
    return path.relative_to(HOUSE).as_posix()


def imports(path: Path) -> list[tuple[int, str]]:
    """Absolute dotted names of all that a file imports, `from x import y` as `x.y`."""
    package = ["reasoning_replay", *path.relative_to(HOUSE).parts[:-1]]
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *([node.module] if node.module else [])]
            found += [(node.lineno, ".".join([*base, alias.name])) for alias in node.names]
    return found


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_room_enters_only_the_rooms_it_may(path):
    room = room_of(path)
    if room == "__init__":
        return  # the front door names what the rooms offer
    rooms = {room_of(other) for other in FILES} - {"__init__"}
    wrong = [
        f"{named(path)}:{line} imports {name}"
        for line, name in imports(path)
        if name.startswith("reasoning_replay.")
        and (other := name.split(".")[1]) in rooms
        and other not in MAY_SEE[room] | {room}
    ]
    assert [] == wrong


def test_every_room_has_an_entry_in_the_table():
    assert {room_of(path) for path in FILES} - {"__init__"} <= set(MAY_SEE)


def test_testing_gets_the_law_from_nobody():
    assert {"_rules", "hosts"}.isdisjoint(MAY_SEE["testing"])


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) in BELOW_THE_DOORS], ids=named)
def test_below_the_doors_nobody_sees_a_framework_a_clock_the_environment_or_a_logger(path):
    assert [] == [
        f"{named(path)}:{line} imports {name}"
        for line, name in imports(path)
        if name.split(".")[0] in FRAMEWORKS | WORLD
    ]


def test_a_broad_except_stands_in_one_place():
    """`_faults.fail_closed`, and the guard of the stores; beside them where a person's own code or a story is caught.

    `langchain/_retry` looks at whatever a class raises, and raises it again unless its host refused a history.
    `transcripts/_redact_within` copies and shows objects and errors of anybody's classes; what fails is stood in for.
    """
    broad = {
        named(path)
        for path in FILES
        if room_of(path) not in {"testing", "_demo"}
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler)
        and (
            node.type is None
            or {"Exception", "BaseException"} & {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)}
        )
    }
    assert {"_faults.py", "stores/_guard.py", "langchain/_retry.py", "transcripts/_redact_within.py"} == broad


def test_forms_never_see_each_other():
    forms = {path.stem for path in FILES if room_of(path) == "forms" and not path.stem.startswith("_")}
    assert [] == [
        f"{named(path)}:{line} imports {name}"
        for path in FILES
        if room_of(path) == "forms" and path.stem in forms
        for line, name in imports(path)
        if name.startswith("reasoning_replay.forms.") and name.split(".")[2] in forms - {path.stem}
    ]


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_module_opens_with_a_docstring_of_at_most_15_lines_and_ends_before_line_400(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    head = ast.get_docstring(tree_of(path))
    assert head is not None
    assert len(head.splitlines()) <= 15


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_function_has_at_most_40_lines_beside_its_docstring(path):
    long = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            head = 0
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                head = first.end_lineno - first.lineno + 1
            lines = node.end_lineno - node.lineno + 1 - head
            if lines > 40:
                long.append(f"{named(path)}:{node.lineno} {node.name} has {lines} lines")
    assert [] == long


def our_names(path: Path) -> list[tuple[int, str]]:
    found = [(1, path.stem)]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append((node.lineno, node.name))
        elif isinstance(node, ast.arg):
            found.append((node.lineno, node.arg))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append((node.lineno, node.id))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.append((node.lineno, node.attr))
    return found


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


@pytest.mark.parametrize("path", FILES, ids=named)
def test_our_names_use_our_words(path):
    forbidden = NOT_OUR_WORDS - THEIR_WORDS.get(room_of(path), set())
    assert [] == [
        f"{named(path)}:{line} {name}"
        for line, name in our_names(path)
        if name not in THEIR_NAMES and words(name) & forbidden
    ]


def truth_tests(tree: ast.Module):
    """Yield every expression of which only the truth is asked."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            yield node.test
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node.operand
        elif isinstance(node, ast.BoolOp):
            yield from node.values[:-1]
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.match_case) and node.guard is not None:
            yield node.guard
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool":
            yield from node.args


def field_of(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return name
        case ast.NamedExpr(value=value):
            return field_of(value)
    return None


@pytest.mark.parametrize("path", FILES, ids=named)
def test_no_truth_test_on_a_reasoning_field(path):
    assert [] == [
        f"{named(path)}:{node.lineno} {ast.unparse(node)}"
        for node in truth_tests(tree_of(path))
        if field_of(node) in REASONING_FIELDS
    ]


def names_of_hosts_and_models() -> set[str]:
    """Every id, hint and model stem of the rule files, less the words of a dialect and the unknown host."""
    found: set[str] = set()
    for path in HOUSE.glob("hosts/*.toml"):
        table = tomllib.loads(path.read_text())
        models = chain.from_iterable(rule.get("models", ()) for rule in table.get("rules", ()))
        texts = [table["id"], *table.get("hints", ()), *table.get("hosts", ()), *models]
        found |= {word for text in texts for word in re.findall(r"[a-z]{4,}", text.lower())}
    dialects = {"chat", "anthropic", "responses", "gemini", "bedrock", "ollama"}
    plain = {
        "unknown", "https", "localhost", "compatible", "model", "reasoning", "thinking", "openai", "cloud",
        "inference", "router", "gateway", "instruct", "large", "small", "medium", "coder", "flash", "proxy",
        "custom", "server", "text", "vision", "chat", "none", "endpoint",
        "beta", "host", "docker", "internal", "litellm", "token",
    }  # fmt: skip
    return found - dialects - plain


def texts_in_tests(tree: ast.Module):
    for node in ast.walk(tree):
        asked: list[ast.AST] = []
        if isinstance(node, (ast.Compare, ast.MatchValue)):
            asked = [node]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asked = [node] if node.func.attr in {"startswith", "endswith"} else []
        for leaf in chain.from_iterable(map(ast.walk, asked)):
            if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
                yield leaf.lineno, leaf.value


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) not in {"testing", "_demo"}], ids=named)
def test_no_condition_names_a_host_or_a_model(path):
    known = names_of_hosts_and_models()
    assert known
    assert [] == [
        f"{named(path)}:{line} {text!r}"
        for line, text in texts_in_tests(tree_of(path))
        if known & set(re.findall(r"[a-z]{4,}", text.lower()))
    ]


@pytest.mark.parametrize("name", PUBLIC)
def test_all_is_what_can_be_reached(name):
    module = importlib.import_module(name)
    offered = {
        each
        for each, value in vars(module).items()
        if not each.startswith("_") and getattr(value, "__module__", "").startswith("reasoning_replay")
    }
    assert set(module.__all__) >= offered
    assert all(getattr(module, each) is not None for each in module.__all__)


def test_public_objects_say_that_they_live_in_the_package():
    assert {"reasoning_replay"} == {
        value.__module__
        for each in reasoning_replay.__all__
        if hasattr(value := getattr(reasoning_replay, each), "__module__")
    }


def surface() -> str:
    lines = []
    for name in PUBLIC:
        module = importlib.import_module(name)
        for each in sorted(module.__all__):
            value = getattr(module, each)
            lines.append(f"{name}.{each}{signature(value)}")
            if inspect.isclass(value):
                lines += [
                    f"{name}.{each}.{member}{signature(getattr(value, member, None))}"
                    for member in sorted({*vars(value), *getattr(value, "__annotations__", {})})
                    if not member.startswith("_")
                ]
    return "\n".join(lines) + "\n"


def signature(value: object) -> str:
    if not callable(value):
        return ""
    try:
        text = re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(value)))
        return re.sub(r"""= (["'])(?:(?!\1)[^\\]|\\.){60,}\1""", "= '...'", text)
    except ValueError:
        return "(...)"


def test_the_public_surface_is_what_public_api_txt_says():
    assert surface() == external_file("public_api.txt")
