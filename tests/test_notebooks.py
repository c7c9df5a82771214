"""Notebooks are read before they are run: each says what it shows, keeps what it printed, and ends with what to try.

`python tests/notebooks.py check` runs them; what they print is compared there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
BIGGEST = 60_000
"""Of one output, in characters: a plot fits, a dump does not."""

pytestmark = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text())["cells"]


def source(cell: dict) -> str:
    return "".join(cell["source"])


def code(path: Path) -> list[dict]:
    return [cell for cell in cells(path) if cell["cell_type"] == "code"]


def outputs(path: Path) -> list[dict]:
    return [output for cell in code(path) for output in cell["outputs"]]


def printed(path: Path) -> str:
    return "\n".join(json.dumps(output) for output in outputs(path) if "image/png" not in output.get("data", {}))


def test_it_opens_with_what_it_shows(path):
    first = cells(path)[0]
    assert "markdown" == first["cell_type"]
    assert source(first).startswith("# ")
    assert "**What it shows:**" in source(first)


def test_it_ends_with_what_to_try(path):
    last = cells(path)[-1]
    assert "markdown" == last["cell_type"]
    assert source(last).startswith("## What to try\n")
    assert source(last).count("\n- ") >= 3


def test_one_switch_at_the_top_says_what_a_real_key_needs(path):
    first = source(code(path)[0])
    assert re.fullmatch(r"USE_REAL_HOST = False  # True: .*", first)
    assert "_API_KEY" in first
    assert 1 == sum("USE_REAL_HOST =" in source(cell) for cell in code(path))


def test_cells_are_short_and_hold_no_wall_of_helpers(path):
    assert [] == [source(cell) for cell in code(path) if len(source(cell).splitlines()) > 24]
    for cell in code(path):
        functions = re.split(r"^(?=def )", source(cell), flags=re.MULTILINE)[1:]
        assert [] == [each for each in functions if len(each.split("\n\n\n")[0].splitlines()) > 11]


def test_what_it_prints_is_kept_in_order_and_nothing_went_wrong(path):
    assert list(range(1, len(code(path)) + 1)) == [cell["execution_count"] for cell in code(path)]
    assert {"stream", "display_data", "execute_result"} >= {output["output_type"] for output in outputs(path)}
    assert [] == [output["text"] for output in outputs(path) if output.get("name") == "stderr"]
    assert sum(bool(cell["outputs"]) for cell in code(path)) >= len(code(path)) // 3


def test_what_is_kept_is_small(path):
    assert [] == [len(json.dumps(output)) for output in outputs(path) if len(json.dumps(output)) > BIGGEST]


def test_nothing_of_the_machine_is_kept(path):
    book = json.loads(path.read_text())
    assert {"kernelspec", "language_info"} == set(book["metadata"])
    assert all({} == cell["metadata"] for cell in book["cells"])
    assert [f"cell-{place + 1:02}" for place in range(len(book["cells"]))] == [cell["id"] for cell in book["cells"]]
    assert not re.search(r"/(home|root|tmp|usr|opt|work|Users|var)/|site-packages|[A-Z]:\\\\", path.read_text())


def test_no_key_is_in_it(path):
    assert not re.search(r"sk-[A-Za-z0-9]{8}|Bearer ", path.read_text())


def test_reports_in_it_hold_no_reasoning(path):
    reports = [output["data"]["text/html"] for output in outputs(path) if "text/html" in output.get("data", {})]
    assert [] == [each for each in reports if "CANARY" in "".join(each)]
    assert "CANARY" not in printed(path)


def test_it_stops_what_it_started(path):
    whole = "\n".join(map(source, code(path)))
    assert whole.count(".stop()") + whole.count("with strict_host(") >= 1
