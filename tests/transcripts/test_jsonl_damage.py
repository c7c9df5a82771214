"""Opening a transcript destroys nothing that somebody can still read, and a writer notices what is done to its file."""

from __future__ import annotations

import gzip
import json
import os
import stat
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import test_invariants  # noqa: F401 - its profile of hypothesis
from reasoning_replay.transcripts import Loss, LostRecord, TranscriptError, TranscriptWriter, dump_jsonl, load_jsonl
from reasoning_replay.transcripts._jsonl_lines import kept_of


def message(number):
    return {
        "role": "assistant",
        "content": 'é\U0001f600\n\t\\"',
        "reasoning_content": f"thought {number}",
        "number": number,
    }


def numbers(path, **options):
    return [each["number"] for each in load_jsonl(path, **options)]


def transcript(path, many=3):
    dump_jsonl(map(message, range(many)), path)
    return path.read_bytes()


# What may be cut ------------------------------------------------------------------------------------------------------

EVERYTHING = {
    "role": "assistant", "n": None, "b": [True, False, 1, -2, 3.5, 1e-7, -1.5e20], "d": [], "e": {}, "f": [[{}], {"x": "\\u"}],
    "s": 'é漢\U0001f600\u2028\n\\"\t\x01/', "c": {"$replay": "bytes", "value": "eA=="},
}  # fmt: skip


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_record_that_was_cut_at_any_byte_is_known_as_the_beginning_of_one(separators, ascii_only):
    raw = json.dumps(EVERYTHING, separators=separators, ensure_ascii=ascii_only).encode()
    for zeros in (b"", b"\0\0\0"):
        assert [0] * (len(raw) - 1) == [kept_of(raw[:at] + zeros) for at in range(1, len(raw))]
        assert len(raw) == kept_of(raw + zeros)


NO_RECORD = [
    b"3", b"[1, 2]", b"null", b'"text"', b"\xff\xfe", b"{" * 10_000, b"[" * 10_000, b"junk", b"{junk", b'{"a":junk',
    b'{"a":1}{"a":2}', b'{"a":1}\r{"a":2}\r', b'{"a":1}\r{"a', b'{"a":"cut\r{"a":2}\r', b'{"a":1}\xe2\x80\xa8{"a":2}',
    b'{"a":1} more', b'{"a":1}\xc3', b'{"a":1,,', b'{"a":\0\0 1}', b'{"a":1}\0{"a":2}', b'[{"role":"user"',
    b'{"a":' + b"[" * 100_000 + b"1" + b"]" * 100_000 + b"}",
]  # fmt: skip
"""What no writer of ours leaves behind the last newline."""


@pytest.mark.parametrize("rest", NO_RECORD, ids=range(len(NO_RECORD)))
def test_what_is_no_beginning_of_a_record_is_an_error_and_stays(rest, tmp_path):
    path = tmp_path / "x.jsonl"
    raw = transcript(path) + rest
    path.write_bytes(raw)
    with pytest.raises(TranscriptError) as caught:
        TranscriptWriter(path)
    said = f"{path}: line 5: {len(rest):,} bytes that are no record, and not the beginning of one; take the line out"
    assert str(caught.value).startswith(said)
    assert "nothing was changed" in str(caught.value)
    read = load_jsonl(path)
    assert [0, 1, 2] == [next(read)["number"] for _ in range(3)]
    with pytest.raises(TranscriptError, match="line 5: "):
        next(read)
    assert read.loss is None
    assert raw == path.read_bytes()


def test_a_whole_record_before_the_zero_bytes_of_a_power_cut_is_kept(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(transcript(path)[:-1] + b"\0" * 4096)
    with pytest.warns(LostRecord, match=r"record 4 was not written to its end \(4096 bytes"):
        assert [0, 1, 2] == numbers(path)
    with pytest.warns(LostRecord, match="record 4 "):
        out = TranscriptWriter(path)
    assert Loss(4, 4096) == out.loss
    out.append(message(9))
    out.close()
    assert [0, 1, 2, 9] == numbers(path)


def test_a_record_with_a_number_of_too_many_digits_is_whole(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(transcript(path) + b'{"number":' + b"9" * 5000 + b"}")
    TranscriptWriter(path).close()
    with pytest.raises(TranscriptError, match="line 5: a number of too many digits"):
        numbers(path)


HEADER = b'{"$replay":"transcript","version":1,"form":"chat","redacted":false,"library":"1"}'
ROWS = b"".join(json.dumps(message(number)).encode() + b"\n" for number in range(50))
OTHERS = {
    "plain rows": ROWS,
    "one row without a newline": b'{"role":"user"}',
    "old Mac": (HEADER + b"\n" + ROWS).replace(b"\n", b"\r"),
    "old Mac, cut": (HEADER + b"\n" + ROWS).replace(b"\n", b"\r")[:-9],
    "no line ends": (HEADER + b"\n" + ROWS).replace(b"\n", b""),
    "Unicode line ends": (HEADER + b"\n" + ROWS).replace(b"\n", b"\xe2\x80\xa8"),
    "old Mac and more lines": HEADER + b"\r" + ROWS,
    "rows in the header": HEADER[:-1] + b',"messages":[' + b",".join(ROWS.split(b"\n")[:50]),
    "rows in the header, long": HEADER[:-1] + b',"messages":[' + b",".join(ROWS.split(b"\n")[:50] * 100),
    "a long header, cut": HEADER[:-1] + b',"note":"' + b"x" * 5000,
    "indented": json.dumps([message(1)] * 9, indent=1).encode(),
    "gzip": gzip.compress(HEADER + b"\n" + ROWS),
    "UTF-16": (HEADER + b"\n" + ROWS).decode().encode("utf-16"),
    "UTF-16 without a mark": (HEADER + b"\n" + ROWS).decode().encode("utf-16-le"),
    "zero bytes": b"\0" * 5000,
    "zero bytes, and rows": b"\0" * 100 + HEADER + b"\n" + ROWS,
    "begun header, zero bytes, rows": HEADER[:30] + b"\0" * 100_000 + ROWS[:-1],
    "begun header, more": b'{"$replay":"transcript" and so on',
    "binary": bytes(range(256)),
    "a letter": b"{x",
    "newlines": b"\n\n",
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_that_is_no_transcript_is_refused_and_neither_it_nor_its_mode_is_changed(name, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(OTHERS[name])
    path.chmod(0o644)
    with pytest.raises(TranscriptError, match=r"is no transcript, .* nothing was changed"):
        TranscriptWriter(path)
    assert OTHERS[name] == path.read_bytes()
    assert 0o644 == stat.S_IMODE(path.stat().st_mode)
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name", ["old Mac", "old Mac, cut", "no line ends", "Unicode line ends", "old Mac and more lines"]
)
def test_a_transcript_with_other_line_ends_is_not_read_as_an_empty_one(name, tmp_path):
    (tmp_path / "x.jsonl").write_bytes(OTHERS[name])
    with pytest.raises(TranscriptError, match="line 1: a header with more behind it; end the lines with"):
        load_jsonl(tmp_path / "x.jsonl")


def test_a_transcript_that_windows_saved_goes_on_and_its_cut_record_is_cut(tmp_path):
    path = tmp_path / "x.jsonl"
    raw = b"\xef\xbb\xbf" + transcript(path).replace(b"\n", b"\r\n")
    for rest, loss in ((b"", None), (json.dumps(message(3)).encode() + b"\r", None), (b'{"role":"us', Loss(4, 11))):
        path.write_bytes(raw + rest)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LostRecord)
            with TranscriptWriter(path) as out:
                assert loss == out.loss
                out.append(message(9))
        assert [0, 1, 2, *([3] if rest.endswith(b"\r") else []), 9] == numbers(path)


ENDS = st.sampled_from(
    ["\n"] * 12 + ["\r\n", "\r", "", "\0", "\0\0\n", "\u2028", "\x85", "\n\n", " ", "\x0b", "\ufeff"]
)


@settings(max_examples=150)
@given(
    ends=st.lists(ENDS, min_size=5, max_size=5),
    cut=st.integers(0, 40),
    zeros=st.integers(0, 3),
    more=st.binary(max_size=3),
)
def test_no_whole_record_is_ever_cut_whatever_stands_between(ends, cut, zeros, more, tmp_path_factory):
    path = tmp_path_factory.mktemp("x") / "x.jsonl"
    records = [HEADER, *(json.dumps(message(number)).encode() for number in range(4))]
    raw = b"".join(record + end.encode() for record, end in zip(records, ends, strict=True))
    raw = raw[: len(raw) - cut] + b"\0" * zeros + more
    path.write_bytes(raw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            TranscriptWriter(path).close()
        except TranscriptError:
            assert raw == path.read_bytes()
            return
    after = path.read_bytes()
    assert [record for record in records if record in raw] == [record for record in records if record in after]
    assert after.endswith(b"\n")


# What is done to an open file -----------------------------------------------------------------------------------------

NOT_WRITTEN = "nothing of this was written: close this writer, open a new one, and append it there"


def moved(path):
    path.rename(path.with_name("old.jsonl"))


def removed(path):
    path.unlink()


def removed_but_linked(path):
    os.link(path, path.with_name("backup.jsonl"))
    path.unlink()


def replaced(path):
    os.link(path, path.with_name("backup.jsonl"))
    path.with_name("n").write_bytes(path.read_bytes())
    path.with_name("n").replace(path)


def folder_moved(path):
    path.parent.rename(path.parent.with_name("elsewhere"))


def emptied(path):  # logrotate's copytruncate
    path.with_name("old.jsonl").write_bytes(path.read_bytes())
    os.truncate(path, 0)


def shortened(path):
    os.truncate(path, path.stat().st_size - 5)


def begun_by_another(path):
    with path.open("ab") as file:
        file.write(b'{"role":"us')


DONE = [moved, removed, removed_but_linked, replaced, folder_moved, emptied, shortened, begun_by_another]


@pytest.mark.parametrize("done", DONE)
@pytest.mark.parametrize(
    "write", [TranscriptWriter.append, lambda out, each: out.extend([each])], ids=["append", "extend"]
)
def test_a_writer_whose_file_was_touched_says_so_and_writes_nothing_anywhere(done, write, tmp_path):
    path = tmp_path / "folder" / "x.jsonl"
    path.parent.mkdir()
    with TranscriptWriter(path) as out:
        out.append(message(1))
        done(path)
        before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
        for _ in range(2):
            with pytest.raises(TranscriptError) as caught:
                write(out, message(2))
            assert str(caught.value).startswith(f"{path}: was ")
            assert str(caught.value).endswith(NOT_WRITTEN)
        assert before == {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}


def test_a_rotated_transcript_goes_on_where_a_new_writer_is_opened(tmp_path):
    path, old = tmp_path / "x.jsonl", tmp_path / "old.jsonl"
    out = TranscriptWriter(path)
    out.append(message(1))
    path.rename(old)
    with pytest.raises(TranscriptError):
        out.append(message(2))
    with pytest.raises(TranscriptError, match="is being written by another writer"):
        TranscriptWriter(old)
    old.rename(path)  # put back, it goes on
    out.append(message(2))
    path.rename(old)
    out.close()
    with TranscriptWriter(old) as same_talk, TranscriptWriter(path) as next_talk:
        same_talk.append(message(3))
        next_talk.append(message(4))
    assert ([1, 2, 3], [4]) == (numbers(old), numbers(path))


def test_whole_lines_of_somebody_else_are_no_fault(tmp_path):
    path = tmp_path / "x.jsonl"
    with TranscriptWriter(path) as out:
        out.append(message(1))
        with path.open("ab") as file:
            file.write(json.dumps(message(2)).encode() + b"\n")
        out.append(message(3))
        out.append(message(4))
    assert [1, 2, 3, 4] == numbers(path)


# Where a new file is written ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mine", [b"precious", b'{"role":"user"}\n', b"{}", b"\0\0x" * 50])
def test_a_file_of_somebodys_that_stands_where_the_new_one_is_written_is_left_alone(mine, tmp_path):
    path, spare = tmp_path / "a", tmp_path / ".a.new"
    spare.write_bytes(mine)
    with pytest.raises(TranscriptError, match=r"\.a\.new: stands there, and is somebody else's"):
        dump_jsonl([message(1)], path)
    assert mine == spare.read_bytes()
    spare.unlink()
    os.mkfifo(spare)
    with pytest.raises(TranscriptError, match=r"\.a\.new: stands there"):
        dump_jsonl([message(1)], path)
    assert [spare] == list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a" * 252, "é" * 126], ids=["ascii", "two bytes"])
def test_a_file_with_the_longest_name_is_saved(name, tmp_path):
    dump_jsonl([message(1)], tmp_path / name)
    assert [1] == numbers(tmp_path / name)
    assert [tmp_path / name] == list(tmp_path.iterdir())
