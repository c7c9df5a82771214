"""Runs the notebooks: `python tests/notebooks.py check` compares what they print with what is kept, `write` keeps it.

Each runs in a kernel of its own that reaches loopback only and must leave no server and no process behind. What is kept is
normal: counted from 1, no times, no ids, no machine. Ports, times and random words are masked before anything is compared;
pictures are kept and not compared, so a cell that draws prints its numbers too.
"""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from difflib import unified_diff
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "notebooks"
TIMEOUT = 300

MASKS = (
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"(?<![\w.])\d+(\.\d+)? (m?s|seconds)\b", "SOME \\2"),
    (r"0x[0-9a-f]{6,}", "0xADDRESS"),
    (r"answer-[0-9a-f]{8}", "answer-RANDOM"),
    (r"(CANARY-[\w.-]*?)[0-9a-f]{8}", "\\1RANDOM"),
    (r"call_[0-9A-Za-z_]{6,}", "call_RANDOM"),
    (r"\|[0-9a-f]{8}\b", "|CHECKSUM"),
)

BEFORE = """
import ipaddress as _ip, os as _os, psutil as _psutil, socket as _socket
def _local(address):
    return isinstance(address, (str, bytes)) or _ip.ip_address(_socket.gethostbyname(address[0])).is_loopback
def _guard(connect):
    def guarded(self, address):
        if not _local(address):
            raise RuntimeError(f"a notebook talks to loopback only, and this one asked for {address[0]!r}")
        return connect(self, address)
    return guarded
_socket.socket.connect, _socket.socket.connect_ex = map(_guard, (_socket.socket.connect, _socket.socket.connect_ex))
def _left():
    process = _psutil.Process()
    ports = {one.laddr.port for one in process.net_connections("inet") if one.status == "LISTEN"}
    return ports, {child.pid for child in process.children(recursive=True)}
_ports, _children = _left()
"""
AFTER = """
_now, _alive = _left()
assert _now == _ports, f"servers are left running at {sorted(_now - _ports)}"
assert _alive == _children, f"processes are left running: {sorted(_alive - _children)}"
"""


def main(job: str, *names: str) -> int:
    """Run all, or those whose names begin as given, two at a time; 1 if one differs from what is kept."""
    paths = [path for path in sorted(FOLDER.glob("*.ipynb")) if path.name.startswith(names or "")]
    with ThreadPoolExecutor(max_workers=2) as pool:
        told = list(pool.map(partial(told_of, job), paths))
    return int(job == "check" and any(told))


def told_of(job: str, path: Path) -> list[str]:
    """Run one, keep or compare what it prints, and say how it went."""
    began = perf_counter()
    kept = nbformat.read(path, as_version=4)
    made = normal(executed(path))
    differences = compared(kept, made)
    if job == "write":
        path.write_text(text_of(made), encoding="utf-8")
    lines = [*(differences if job == "check" else ()), f"{path.name}: {'differs' if differences else 'as kept'}"]
    print(*lines, sep="\n", end=f", {perf_counter() - began:.0f} s\n", flush=True)
    return differences


def executed(path: Path) -> Any:
    """The notebook with what it prints now; the first error ends it. The guards are no part of the result."""
    book = nbformat.read(path, as_version=4)
    cells = book.cells
    before, after = (nbformat.v4.new_code_cell(source) for source in (BEFORE, AFTER))
    book.cells = [before, *cells, after]
    environment = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline", "PYTHONWARNINGS": "default"}
    NotebookClient(book, timeout=TIMEOUT, resources={"metadata": {"path": str(path.parent)}}).execute(env=environment)
    book.cells = cells
    return book


def normal(book: Any) -> Any:
    """Cells and outputs counted from the top, streams in one piece, nothing of the machine in the metadata."""
    book.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    count = 0
    for place, cell in enumerate(book.cells):
        cell.id, cell.metadata = f"cell-{place + 1:02}", {}
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = joined(cell.outputs)
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = count
                if "metadata" in output:
                    output.metadata = {}
    return book


def joined(outputs: list[Any]) -> list[Any]:
    """One output a stream where it was printed in pieces."""
    out: list[Any] = []
    for output in outputs:
        last = out[-1] if out else None
        if last is not None and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            out.append(output)
    return out


def text_of(book: Any) -> str:
    """The file as it is kept."""
    return nbformat.writes(nbformat.from_dict(book), indent=1).rstrip("\n") + "\n"


def compared(kept: Any, made: Any) -> list[str]:
    """What differs, cell by cell, as lines of a diff."""
    return [
        line
        for old, new in zip(kept.cells, made.cells, strict=True)
        for line in unified_diff(words(old), words(new), f"{new.id} as kept", f"{new.id} now", n=1, lineterm="")
    ]


def words(cell: Any) -> list[str]:
    """All that a cell prints, as text and as HTML without its style, masked; of a picture only that it is there."""
    found = []
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        found += [output[key] for key in ("text", "ename", "evalue") if key in output]
        found += [data[kind] if kind.startswith("text/") else kind for kind in sorted(data)]
    text = re.sub(r"<style>.*?</style>", "", masked("\n".join(found)), flags=re.DOTALL)
    return text.replace("><", ">\n<").splitlines()


def masked(text: str) -> str:
    """Without what is another one in every run."""
    for pattern, word in MASKS:
        text = re.sub(pattern, word, text)
    return text


if __name__ == "__main__":
    if sys.argv[1:2] not in (["check"], ["write"]):
        sys.exit("usage: python tests/notebooks.py check|write [BEGINNING OF A NAME …]")
    sys.exit(main(*sys.argv[1:]))
