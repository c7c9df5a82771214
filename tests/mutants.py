"""Faults on purpose: each row is a small change of the package that at least one of the quick tests must notice.

python tests/mutants.py [WORD]: runs the rows whose name has WORD in a copy of the package; exits 1 when one survives.
Part of .ci/full. A row whose text is not in the package any more is an error too: write it anew.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "integrations" / "reasoning_replay"
QUICK = ("replay", "guards", "sealed", "turns", "origin", "rules", "fallback", "known", "invariants", "restore")
LAST = ("transcripts/test_trim.py", "transcripts/test_trim_bound.py")
"""Run behind the quick ones: only a row that those do not notice comes so far."""


class Mutant(NamedTuple):
    """One change: in a file, one text for another."""

    name: str
    file: str
    before: str
    after: str


MUTANTS = (
    Mutant(
        "restore: the past does not count",
        "_restore.py",
        "return blake2b(trail + text.encode(",
        "return blake2b(text.encode(",
    ),
    Mutant(
        "restore: of several the first",
        "_restore.py",
        "return same[0] if same and _alike(same) and",
        "return same[0] if same and",
    ),
    Mutant(
        "restore: a session without calls",
        "_restore.py",
        "if session is None or not said.calls:",
        "if session is None:",
    ),
    Mutant(
        "restore: a session without ids",
        "_restore.py",
        "json.dumps([session, said.text, said.calls]",
        "json.dumps([session, said.text]",
    ),
    Mutant(
        "restore: ids that begin anew",
        "_restore.py",
        "if often[key] == 1)",
        "if often[key])",
    ),
    Mutant(
        "restore: that there was none is not kept",
        "_restore.py",
        "    reasoning = form.recall.lift(reply)\n",
        "    reasoning = form.recall.lift(reply)\n    if reasoning is None:\n        return\n",
    ),
    Mutant(
        "restore: without a mark",
        "_restore.py",
        "= [form.mark(row, to_mark(kept.origin)) for row in run]",
        "= list(run)",
    ),
    Mutant(
        "restore: another version",
        "_restore.py",
        "if origin is None or version != _VERSION else",
        "if origin is None else",
    ),
    Mutant(
        "restore: the process's own store restores",
        "_known.py",
        "return known if known is not default_store() and hasattr",
        "return known if hasattr",
    ),
    Mutant(
        "restore: a miss is not told",
        "_decision.py",
        "if shape.missed:",
        "if False:",
    ),
    Mutant(
        "restore: told as kept",
        "_decision.py",
        'if part.restored and key[0] in ("keep", "rename"):',
        'if part.restored and key[0] == "drop":',
    ),
    Mutant(
        "both upstreams unknown at router",
        "_origin.py",
        "return here is not None and here == there",
        "return here == there",
    ),
    Mutant(
        "userinfo rpartition",
        "_origin.py",
        'authority.rpartition("@")[2]',
        'authority.partition("@")[2] or authority',
    ),
    Mutant(
        "same_host one side only",
        "_origin.py",
        "any(target in names and source in names for names in reach.same_host)",
        "any(source in names for names in reach.same_host)",
    ),
    Mutant(
        "wss default port",
        "_origin.py",
        '"http": 80, "wss": 443, "ws": 80}',
        '"http": 80}',
    ),
    Mutant(
        "scope ignores host_turn",
        "_engine.py",
        "return min(history.turn_start, history.host_turn) if",
        "return history.turn_start if",
    ),
    Mutant(
        "lenient host drops own others",
        "_engine.py",
        "stay = set() if rule.strict else there if not there.isdisjoint(writes) else there.intersection(rule.read)",
        "stay = set()",
    ),
    Mutant(
        "strict not honoured",
        "_engine.py",
        "stay = set() if rule.strict else there if",
        "stay = there if",
    ),
    Mutant(
        "strip after guard",
        "_engine.py",
        '    if case.strip is not None:\n        return Act("drop", case.strip)\n',
        "",
    ),
    Mutant(
        "leads asks turn_start",
        "_engine.py",
        "if row >= history.host_turn and shape.role",
        "if row >= history.turn_start and shape.role",
    ),
    Mutant(
        "reasoning_only not a cut",
        "_engine.py",
        'lost or decision.remove == "reasoning_only"',
        "lost",
    ),
    Mutant(
        "unproven text is a cut",
        "_engine.py",
        'act.reason == "unknown_origin" and part.kind != "text" for',
        'act.reason == "unknown_origin" for',
    ),
    Mutant(
        "prefix outside reason",
        "_engine.py",
        'case._replace(outside="prefix")',
        "case",
    ),
    Mutant(
        "foreign vs sealed reason",
        "_engine.py",
        'for sealed in (False, part.kind != "text")),',
        "for sealed in (False,)),",
    ),
    Mutant(
        "filler in remove_bare",
        "_engine.py",
        'real = [act for act in acts if act.reason not in ("filler", "filler_dropped")]',
        "real = list(acts)",
    ),
    Mutant(
        "redacted refused",
        "_engine.py",
        '    ("refused", lambda part, case: part.redacted and "redacted" in case.rule.refuses),\n',
        "",
    ),
    Mutant(
        "hollow where signatures forbidden",
        "_engine.py",
        'part.hollow and case.rule.signature == "forbidden" and part.carrier not in NAMES',
        "False",
    ),
    Mutant(
        "own_unsigned",
        "_engine.py",
        'unsign = part.kind == "signed" and case.rule.signature == "forbidden"',
        "unsign = False",
    ),
    Mutant(
        "reasoning_effort stays",
        "_guards.py",
        'for param in (*THINKING, "reasoning_effort"):',
        "for param in THINKING:",
    ),
    Mutant(
        "function forces",
        "_guards.py",
        '"required", "function"})',
        '"required"})',
    ),
    Mutant(
        "empty context_management left",
        "_guards.py",
        'put_value(request, f"{param}.edits", left) if left else without(request, param)',
        'put_value(request, f"{param}.edits", left)',
    ),
    Mutant(
        "usual blank",
        "forms/chat.py",
        'or identity.__class__ is not str or text == "" or text.isspace():',
        "or identity.__class__ is not str:",
    ),
    Mutant(
        "usual thought id",
        "forms/chat.py",
        'or PSF in call or THOUGHT in call["id"]:',
        "or PSF in call:",
    ),
    Mutant(
        "usual function psf",
        "forms/chat.py",
        'if call["function"].__class__ is not dict or PSF in call["function"]:',
        'if call["function"].__class__ is not dict:',
    ),
    Mutant(
        "blocks on user",
        "forms/chat.py",
        '(("content.thinking",) if blocks else ())',
        "()",
    ),
    Mutant(
        "read keeps foreign mark",
        "forms/chat.py",
        "    return unmarked(found)\n",
        "    return dict(found)\n",
    ),
    Mutant(
        "null []",
        "forms/chat.py",
        "null = content is None or content == []",
        "null = content is None",
    ),
    Mutant(
        "lead by layout",
        "forms/chat.py",
        "if isinstance(layout, list):",
        "if False:",
    ),
    Mutant(
        "psf carriers read",
        "forms/chat.py",
        "if look.litellm:\n",
        "if False:\n",
    ),
    Mutant(
        "strip tool_call_id",
        "forms/chat.py",
        'left["tool_call_id"] = left["tool_call_id"].split(THOUGHT, 1)[0]',
        "pass",
    ),
    Mutant(
        "strip extra parts",
        "forms/chat.py",
        "[without_extras(part) if extra_code(part) else part for part in parts]",
        "parts",
    ),
    Mutant(
        "cache point of removed chat message",
        "forms/_chat_write.py",
        "    if points and out and isinstance(out[-1], Mapping)",
        "    if False and out and isinstance(out[-1], Mapping)",
    ),
    Mutant(
        "cache point on removed chunk",
        "forms/_chat_write.py",
        "if point is not None and kept:\n",
        "if False:\n",
    ),
    Mutant(
        "order that does not fit",
        "forms/_chat_write.py",
        "if block == len(blocks) and place == len(text):",
        "if True:",
    ),
    Mutant(
        "server_tool_use",
        "forms/anthropic.py",
        'in ("tool_use", "server_tool_use")',
        'in ("tool_use",)',
    ),
    Mutant(
        "take overwrites",
        "forms/anthropic.py",
        "    if _CACHE not in blocks[-1]:\n        blocks[-1]",
        "    if True:\n        blocks[-1]",
    ),
    Mutant(
        "adopt remarks",
        "forms/anthropic.py",
        "        and not _marked(part_of(CARRIER, 0, code), block).marked\n",
        "",
    ),
    Mutant(
        "strip empty goes",
        "forms/anthropic.py",
        '            if len(left["content"]) == 0 < len(message["content"]):\n                continue\n',
        "",
    ),
    Mutant(
        "strip extras",
        "forms/anthropic.py",
        '            left["content"] = [without_extras(block) if extra_code(block) else block for block in left["content"]]\n',
        "",
    ),
    Mutant(
        "read keeps mark",
        "forms/anthropic.py",
        "content = [unmarked(as_mapping(block) or {}) for block in content]",
        "content = [dict(as_mapping(block) or {}) for block in content]",
    ),
    Mutant(
        "by_count unlimited",
        "_resolve.py",
        "return origins if left[payload] >= 0 else frozenset()",
        "return origins if payload in kept else frozenset()",
    ),
    Mutant(
        "resolve from front",
        "_resolve.py",
        "for row in range(len(rows) - 1, -1, -1):\n        shape = found[row]",
        "for row in range(len(rows)):\n        shape = found[row]",
    ),
    Mutant(
        "unmarked skipped",
        "_replay.py",
        "resolve(_unmarked(shape.view(rows, None)), rows",
        "resolve(shape.view(rows, None), rows",
    ),
    Mutant(
        "confirm trusts",
        "_replay.py",
        'strict = replace(policy, unknown_origin="drop")',
        "strict = policy",
    ),
    Mutant(
        "report of the wire",
        "_replay.py",
        "return replace(confirmed, report=plan.work.report(target, confirmed.kept))",
        "return confirmed",
    ),
    Mutant(
        "collector fault",
        "_capture.py",
        "    def _give_up(self) -> None:\n        self._stream = None",
        "    def _give_up(self) -> None:\n        pass",
    ),
    Mutant(
        "LRU",
        "stores/_memory.py",
        "            self._items.move_to_end(digest)\n",
        "",
    ),
    Mutant(
        "MAX_ORIGINS",
        "stores/_base.py",
        "value in values or len(values) >= MAX_VALUES",
        "value in values",
    ),
    Mutant(
        "foreign hosts are accepted",
        "_origin.py",
        "    if not _one_host(target.host, source.host, reach, sealed=sealed):\n        return False\n",
        "",
    ),
    Mutant(
        "the dialect of sealed parts is not asked",
        "_origin.py",
        "    if target.dialect != source.dialect and source.dialect not in reach.dialects:\n        return False\n",
        "",
    ),
    Mutant(
        "no model is asked what it opens",
        "_origin.py",
        'and ("model" in reach.bound or not reach.opens(source.model)):',
        'and "model" in reach.bound:',
    ),
    Mutant(
        "looks of a seal say nothing",
        "_unknown.py",
        "return part._replace(origins=NOBODY) if strange else part",
        "return part",
    ),
    Mutant(
        "what goes with thinking stays",
        "_guards.py",
        "if not seen.off or (left := _without_beside(request)) is request:",
        "if True:",
    ),
    Mutant(
        "every beta goes with thinking",
        "_guards.py",
        "betas = betas if left else _OF_THINKING + _OF_EDITS",
        "betas = _OF_THINKING + _OF_EDITS",
    ),
    Mutant(
        "a broken mark is read",
        "_origin.py",
        "if len(parts) != 5 or checksum != ",
        "if len(parts) != 5 or checksum == ",
    ),
    Mutant(
        "the window is not asked", "_engine.py", '    if not inside:\n        return Act("drop", case.outside)\n', ""
    ),
    Mutant("nothing is filled", "_engine.py", "fill = _fill(case) if lacks else None", "fill = None"),
    Mutant(
        "the mark stays",
        "forms/chat.py",
        "for key in (PSF, TURN) if key in keys)",
        "for key in (TURN,) if key in keys)",
    ),
    Mutant("a fault goes up", "_faults.py", "    except Exception as error:", "    except ZeroDivisionError as error:"),
    Mutant(
        "a strip of the fallback forgets blocks",
        "forms/chat.py",
        'map(plain, without_blocks(left["content"]))',
        'map(plain, left["content"])',
    ),
    Mutant(
        "a hint makes a holder of the key",
        "_rules.py",
        "if not files or not choice.host.matches(choice.name):",
        "if not files:",
    ),
    Mutant("a rule names the vendor of every model", "_rules.py", "is not None and rule.takes(model):", "is not None:"),
    Mutant(
        "a policy overwrites the caller's switch",
        "_rules.py",
        "    if any(find(given, switch.param) is not ABSENT for switch in choice.rule.switch):\n        return request\n",
        "",
    ),
    Mutant(
        "a policy asks although thinking is off",
        "_rules.py",
        ' or choice.thinking == "off":\n        return request\n    if any',
        ":\n        return request\n    if any",
    ),
    Mutant(
        "trim: bound blocks outlive a cut",
        "transcripts/_trim_pieces.py",
        "dead = len(self.rows) if cut > 0 else max(sealed, default=0)",
        "dead = max(sealed, default=0)",
    ),
    Mutant(
        "trim: one block goes from the middle",
        "transcripts/_trim_pieces.py",
        "dead = len(self.rows) if cut > 0 else max(sealed, default=0)",
        "dead = len(self.rows) if cut > 0 else 0",
    ),
    Mutant(
        "trim: demanded reasoning goes before a turn",
        "transcripts/_trim_pieces.py",
        "demanded = any(",
        "demanded = False and any(",
    ),
    Mutant(
        "trim: a result is parted from its call",
        "transcripts/_trim_pieces.py",
        "if not answers[start] and (",
        "if (",
    ),
)


UNCHANGED = Mutant("nothing at all", "__init__.py", "", "")


def gone(mutants: Sequence[Mutant]) -> list[str]:
    """The rows whose text is not in the package any more."""
    return [f"{m.file}: {m.name}" for m in mutants if m.before not in (PACKAGE / m.file).read_text("utf-8")]


def survives(mutant: Mutant, copy: Path) -> bool:
    """Whether every quick test passes with the change."""
    path = copy / "reasoning_replay" / mutant.file
    whole = path.read_text()
    path.write_text(whole.replace(mutant.before, mutant.after))
    try:
        tests = [*(f"tests/test_{name}.py" for name in QUICK), *(f"tests/{name}" for name in LAST)]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
            cwd=HERE.parent,
            env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        path.write_text(whole)
    return done.returncode == 0


def main() -> int:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    rows = [mutant for mutant in MUTANTS if wanted in mutant.name]
    if stale := gone(MUTANTS):
        raise SystemExit("\n".join(["write these anew, their text is gone:", *stale]))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(PACKAGE, copy / "reasoning_replay", ignore=shutil.ignore_patterns("__pycache__"))
        if not survives(UNCHANGED, copy):
            raise SystemExit("the quick tests fail without any change; mend them first")
        alive = []
        for mutant in rows:
            lives = survives(mutant, copy)
            alive += [mutant.name] * lives
            print(f"{'SURVIVED' if lives else 'killed  '} {mutant.file}: {mutant.name}", flush=True)
    print(f"{len(rows) - len(alive)} passed, {len(alive)} failed")
    return 1 if alive or not rows else 0


if __name__ == "__main__":
    raise SystemExit(main())
