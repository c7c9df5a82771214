"""What becomes of a transcript when its writer is killed, the disk is full, or two write at once."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from reasoning_replay.transcripts import Loss, LostRecord, TranscriptError, TranscriptWriter, dump_jsonl, load_jsonl
from reasoning_replay.transcripts import _jsonl_files as files


def message(number):
    return {
        "role": "assistant",
        "content": "",
        "reasoning_content": f"thought {number} " * (number % 7),
        "number": number,
    }


def numbers(path, **options):
    return [each["number"] for each in load_jsonl(path, **options)]


# A whole file ---------------------------------------------------------------------------------------------------------


def test_a_file_is_made_for_its_owner_alone_whatever_stood_there(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("")
    path.chmod(0o666)
    previous = os.umask(0)
    try:
        dump_jsonl([message(1)], path)
        dump_jsonl([message(1)], tmp_path / "new.jsonl")
        TranscriptWriter(tmp_path / "grown.jsonl").close()
    finally:
        os.umask(previous)
    assert {0o600} == {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}


def test_a_writer_makes_an_older_file_private(tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl([], path)
    path.chmod(0o644)
    TranscriptWriter(path).close()
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


def test_of_a_symbolic_link_what_it_points_to_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    target, link, dangling = tmp_path / "there" / "x.jsonl", tmp_path / "link.jsonl", tmp_path / "later.jsonl"
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "there" / "y.jsonl")
    dump_jsonl([message(1)], link)
    with TranscriptWriter(link) as out:
        out.append(message(2))
    dump_jsonl([message(3)], dangling)
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert ([1, 2], [1, 2], [3]) == (numbers(target), numbers(link), numbers(tmp_path / "there" / "y.jsonl"))


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/null", tmp_path, tmp_path / "pipe"):
        for write in (lambda path=path: dump_jsonl([], path), lambda path=path: TranscriptWriter(path)):
            with pytest.raises(TranscriptError, match="is no file; give the path of one, or an open binary file"):
                write()
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_an_open_file_is_written_to_and_left_open(tmp_path):
    with gzip.open(tmp_path / "x.jsonl.gz", "wb") as file:
        assert 3 == dump_jsonl(map(message, range(3)), file)
        assert not file.closed
    with gzip.open(tmp_path / "x.jsonl.gz", "rb") as file:
        assert [0, 1, 2] == numbers(file)


def test_a_generator_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl([message(1)], path)

    def failing():
        yield from map(message, range(3000))
        raise KeyError("the app's own")

    with pytest.raises(KeyError):
        dump_jsonl(failing(), path)
    assert [1] == numbers(path)
    assert [path] == list(tmp_path.iterdir())


def test_a_reader_of_the_old_file_reads_it_to_its_end_while_it_is_replaced(tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl(map(message, range(5000)), path)
    read = load_jsonl(path)
    next(read)
    dump_jsonl([message(7)], path)
    assert list(range(1, 5000)) == [each["number"] for each in read]
    assert [7] == numbers(path)


# A full disk ----------------------------------------------------------------------------------------------------------


class Full(io.BytesIO):
    def write(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_an_open_file_on_a_full_disk_says_so():
    with pytest.raises(OSError, match="No space left on device"):
        dump_jsonl([message(1)], Full())


SMALL_DISK = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=256k tmpfs "$1" && shift && exec "$@"', "sh")
"""Runs a program that has a file system of 256 KB for itself: it goes with the program, whatever becomes of that."""

GROWS = """
import errno, sys, warnings
from itertools import count
from pathlib import Path
from reasoning_replay.transcripts import TranscriptWriter, load_jsonl
warnings.simplefilter("error")
path, filler, written = Path(sys.argv[1], "x.jsonl"), Path(sys.argv[1], "filler"), []
out = TranscriptWriter(path)
try:
    for number in count():
        if number == 40: filler.write_bytes(b"x" * 150_000)
        out.append({"number": number, "content": "x" * 1500})
        written.append(number)
except OSError as error:
    assert (errno.ENOSPC, str(path)) == (error.errno, error.filename), error
    assert "nothing of this was written, and what was there is whole" in str(error)
assert len(written) > 40
assert written == [each["number"] for each in load_jsonl(path)]  # no warning: the file ends with a whole record
filler.unlink()
out.append({"number": 1000})
assert [*written, 1000] == [each["number"] for each in load_jsonl(path)]
"""
DOES_NOT_FIT = """
import sys
from pathlib import Path
from reasoning_replay.transcripts import dump_jsonl, load_jsonl
path = Path(sys.argv[1], "x.jsonl")
dump_jsonl(({"number": number} for number in range(100)), path)
try:
    dump_jsonl(({"number": number} for number in range(100_000)), path)
except OSError as error:
    assert "No space left on device; what was there is whole: mend it and write again" in str(error), error
else:
    raise AssertionError
assert list(range(100)) == [each["number"] for each in load_jsonl(path)]
assert [path] == list(path.parent.iterdir())
"""


@pytest.mark.parametrize("script", [GROWS, DOES_NOT_FIT], ids=["writer", "dump"])
def test_on_a_full_disk_nothing_is_lost_that_was_there_and_one_goes_on_when_there_is_room(script, tmp_path):
    run = [*SMALL_DISK, str(tmp_path)]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*run, "true"], capture_output=True, check=False).returncode != 0
    ):
        pytest.skip("only root may mount a small disk")
    done = subprocess.run(
        [*run, sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize("after", [0, 1, 30])
def test_a_write_that_stops_in_the_middle_is_taken_back(after, tmp_path, monkeypatch):
    path = tmp_path / "x.jsonl"
    real, calls = os.write, []

    def short(fd, data):
        calls.append(1)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, bytes(data)[:after])

    with TranscriptWriter(path) as out:
        out.append(message(1))
        monkeypatch.setattr(files.os, "write", short)
        with pytest.raises(OSError, match="nothing of this was written"):
            out.append(message(2), message(3))
        monkeypatch.undo()
        out.append(message(4))
    assert [1, 4] == numbers(path)


# Going on -------------------------------------------------------------------------------------------------------------


def cut(path, at):
    """A copy of the file as it was when so many bytes were on the disk."""
    copy = path.with_name("cut.jsonl")
    copy.write_bytes(path.read_bytes()[:at])
    return copy


def test_a_transcript_cut_at_any_byte_gives_all_before_it_and_names_the_loss(tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl(map(message, range(3)), path)
    raw = path.read_bytes()
    ends = [at for at in range(len(raw)) if raw[at : at + 1] == b"\n"]
    for at in range(1, len(raw)):
        copy = cut(path, at)
        whole = sum(end <= at for end in ends[1:])  # a record without its newline is whole too
        begun = at - max([end + 1 for end in ends if end < at], default=0)
        headless = at < ends[0]
        loss = None if at in ends or begun == 0 else Loss(0 if headless else whole + 1, begun)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            read = load_jsonl(copy)
            assert list(range(whole)) == [each["number"] for each in read]
            assert loss == read.loss
            with TranscriptWriter(copy) as out:
                assert loss == out.loss
                out.append(message(9))
        assert ([LostRecord] * 2 if loss else []) == [each.category for each in said]
        assert [*range(whole), 9] == numbers(copy)


def test_what_is_lost_is_named_by_file_record_and_bytes_and_never_by_its_words(tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl([message(1)], path)
    with path.open("ab") as file:
        file.write(b'{"reasoning_content":"CANARY-1;')
    with pytest.warns(LostRecord) as read:
        for _ in load_jsonl(path, form="chat"):
            pass
    with pytest.warns(LostRecord) as grown:
        TranscriptWriter(path).close()
    assert {__file__} == {each.filename for each in (*read, *grown)}  # where it was asked for
    start = f"{path}: record 2 was not written to its end (31 bytes of it were there); "
    assert f"{start}all before it is here, or it is being written right now" == str(read[0].message)
    assert f"{start}they were cut off, and all before it stands" == str(grown[0].message)


BEGUN = json.dumps(message(3), separators=(",", ":")).encode()[:-5]


@pytest.mark.parametrize(
    "junk", [b"\0" * 100, b"\0" * 200_000, BEGUN + b"\0" * 100, b'{"a":"\xc3', b'{"a":"\xf0\x9f\x98\0']
)
def test_what_a_power_cut_leaves_behind_the_last_newline_is_cut_off(junk, tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl([message(1)], path)
    path.write_bytes(path.read_bytes() + junk)
    with pytest.warns(LostRecord, match=f"{len(junk)} bytes"):
        assert [1] == numbers(path)
    with pytest.warns(LostRecord, match=f"{len(junk)} bytes"):
        TranscriptWriter(path).close()
    assert [1] == numbers(path)


def test_the_record_of_a_long_file_is_counted_from_its_start(tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl(map(message, range(20_000)), path)
    with path.open("ab") as file:
        file.write(b'{"x":"' + b"y" * 200_000)
    with pytest.warns(LostRecord), TranscriptWriter(path) as out:
        assert Loss(20_001, 200_006) == out.loss


def test_a_file_that_is_empty_is_a_new_one_and_says_so_when_it_is_read(tmp_path):
    path = tmp_path / "x.jsonl"
    path.touch()
    with pytest.warns(LostRecord, match="empty, without even a header"):
        assert [] == list(load_jsonl(path))
    with TranscriptWriter(path) as out:
        assert out.loss is None
        out.append(message(1))
    assert [1] == numbers(path)


REFUSED = [
    (b'{"role":"user"}\n', "is no transcript, it has no header"),
    (b"CANARY-1;", "is no transcript, it has no header"),
    (b'{"$replay":"transcript","version":1,"form":"chat","redacted":true}\n{"ro', "the transcript has redacted=True, and redacted=False was asked for"),
    (b'{"$replay":"transcript","version":1,"form":"gemini","redacted":false}\n{"ro', "the transcript has form='gemini', and form='chat' was asked for"),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "said"), REFUSED)
def test_a_writer_does_not_go_on_with_what_is_another_file_and_does_not_touch_it(raw, said, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(raw)
    with pytest.raises(TranscriptError) as caught:
        TranscriptWriter(path, form="chat")
    assert said in str(caught.value)
    assert raw == path.read_bytes()
    assert "CANARY" not in str(caught.value)


def test_several_messages_are_written_at_once_or_none(tmp_path):
    path = tmp_path / "x.jsonl"
    with TranscriptWriter(path, fsync=True) as out:
        out.append(message(1), message(2))
        with pytest.raises(TranscriptError, match=r"messages\[1\]: a str"):
            out.append(message(3), "x", message(4))
        out.append()
        out.extend(map(message, range(3, 6)))
        out.extend([])
        with pytest.raises(TranscriptError, match=r"messages\[2\]: a str"):
            out.extend([message(6), message(7), "x", message(8)])
        assert list(range(1, 8)) == numbers(path)
        assert "TranscriptWriter('x.jsonl', open)" == repr(out)
    with pytest.raises(TranscriptError, match="the writer is closed; open a new one"):
        out.append(message(9))
    out.close()
    assert "TranscriptWriter('x.jsonl', closed)" == repr(out)


def test_what_append_returned_for_is_in_the_file_at_once(tmp_path):
    path = tmp_path / "x.jsonl"
    with TranscriptWriter(path) as out:
        for number in range(5):
            out.append(message(number))
            assert list(range(number + 1)) == numbers(path)


def test_with_fsync_each_append_waits_for_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("reasoning_replay.transcripts._jsonl.os.fsync", synced.append)
    for fsync in (False, True):
        with TranscriptWriter(tmp_path / f"{fsync}.jsonl", fsync=fsync) as out:
            synced.clear()
            out.append(message(1))
            out.append(message(2))
            assert 2 * fsync == len(synced)


# Two at once ----------------------------------------------------------------------------------------------------------


def test_a_second_writer_and_a_dump_are_refused_while_somebody_writes(tmp_path):
    path = tmp_path / "x.jsonl"
    consumed = []
    with TranscriptWriter(path) as out:
        out.append(message(1))
        for other in (lambda: TranscriptWriter(path), lambda: dump_jsonl(map(consumed.append, range(9000)), path)):
            with pytest.raises(TranscriptError, match="is being written by another writer"):
                other()
        out.append(message(2))
    assert [1, 2] == numbers(path)
    assert len(consumed) <= 1000
    with TranscriptWriter(path) as out:
        out.append(message(3))
    assert [1, 2, 3] == numbers(path)
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize("there", [True, False])
def test_of_two_dumps_at_once_the_second_is_refused_and_the_first_is_whole(there, tmp_path):
    path = tmp_path / "x.jsonl"
    if there:
        dump_jsonl([message(9)], path)

    def meanwhile():
        yield from map(message, range(1500))  # more than is looked at before the file is opened
        for other in (lambda: dump_jsonl([message(8)], path), *([lambda: TranscriptWriter(path)] if there else [])):
            with pytest.raises(TranscriptError, match="is being written by another writer"):
                other()
        yield message(1500)

    dump_jsonl(meanwhile(), path)
    assert list(range(1501)) == numbers(path)


def test_a_file_that_a_writer_makes_during_a_dump_is_not_taken_away_from_it(tmp_path):
    path, made = tmp_path / "x.jsonl", []

    def meanwhile():
        yield from map(message, range(1500))
        made.append(TranscriptWriter(path))
        made[0].append(message(7))

    with pytest.raises(TranscriptError, match="is being written by another writer"):
        dump_jsonl(meanwhile(), path)
    made[0].append(message(8))
    made[0].close()
    assert [7, 8] == numbers(path)


NOT_WRITTEN = "nothing of this was written: close this writer, open a new one, and append it there"


def test_a_writer_whose_file_was_taken_away_says_so(tmp_path):
    path = tmp_path / "x.jsonl"
    with TranscriptWriter(path) as out:
        out.append(message(1))
        path.unlink()
        with pytest.raises(
            TranscriptError, match=f"was moved, removed or replaced while it was written; {NOT_WRITTEN}"
        ):
            out.append(message(2))


def test_what_a_killed_dump_left_is_used_again_and_somebody_elses_file_there_is_refused(tmp_path, monkeypatch):
    path, spare = tmp_path / "x.jsonl", tmp_path / ".x.jsonl.new"
    spare.write_bytes(files.START + b',"version":1' + b"half of it" * 1000)
    dump_jsonl([message(1)], path)
    assert ([1], [path]) == (numbers(path), list(tmp_path.iterdir()))
    spare.write_bytes(b"")
    monkeypatch.setattr(files.os, "geteuid", lambda: 12345)
    with pytest.raises(TranscriptError, match="stands there, and is somebody else's"):
        dump_jsonl([message(2)], path)
    assert [1] == numbers(path)


WRITES = {"writer": lambda path: TranscriptWriter(path).close(), "dump": lambda path: dump_jsonl([message(5)], path)}


@pytest.mark.parametrize("write", WRITES)
def test_a_file_that_is_replaced_between_opening_and_locking_is_opened_again(write, tmp_path, monkeypatch):
    path, real, times = tmp_path / "x.jsonl", files._lock, []
    dump_jsonl([message(1)], path)

    def late(fd, at):
        if at == path and not times:
            times.append(1)
            other = tmp_path / "other"
            dump_jsonl([message(2)], other)
            other.replace(path)
        real(fd, at)

    looked, is_at = [], files._is_at
    monkeypatch.setattr(files, "_lock", late)

    def look(fd, at):
        found = is_at(fd, at)
        if at == path:
            looked.append(found)
        return found

    monkeypatch.setattr(files, "_is_at", look)
    WRITES[write](path)
    assert [False, True] == looked[:2]
    assert numbers(path) in ([2], [5])


def test_a_folder_that_is_not_there_is_said_of_the_file_that_was_asked_for(tmp_path):
    path = tmp_path / "nowhere" / "x.jsonl"
    for write in (lambda: dump_jsonl([message(1)], path), lambda: TranscriptWriter(path)):
        with pytest.raises(FileNotFoundError) as caught:
            write()
        assert str(path) == str(caught.value.filename)


def test_a_file_can_be_written_anew_from_itself(tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl(map(message, range(5000)), path)
    dump_jsonl((each for each in load_jsonl(path) if each["number"] % 2), path)
    assert list(range(1, 5000, 2)) == numbers(path)


def test_a_link_that_somebody_put_where_the_new_file_is_written_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / ".x.jsonl.new").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        dump_jsonl([message(1)], tmp_path / "x.jsonl")
    assert "mine" == victim.read_text()


def test_threads_that_share_a_writer_do_not_mix_their_lines(tmp_path):
    path = tmp_path / "x.jsonl"
    with TranscriptWriter(path) as out:
        threads = [
            threading.Thread(target=lambda start=start: [out.append(message(start + n)) for n in range(200)])
            for start in (0, 1000, 2000)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = numbers(path)
    for start in (0, 1000, 2000):
        assert list(range(start, start + 200)) == [number for number in found if start <= number < start + 200]


# A process that is killed ---------------------------------------------------------------------------------------------

APPENDS = """
import sys
from reasoning_replay.transcripts import TranscriptWriter
out = TranscriptWriter(sys.argv[1])
print(out.loss.record if out.loss else 0, flush=True)
for number in range(int(sys.argv[2]), 10**9):
    out.append({"role": "assistant", "number": number, "reasoning_content": "thought " * (number * 7919 % 40_000)})
    print(number, flush=True)
"""
DUMPS = """
import sys
from reasoning_replay.transcripts import dump_jsonl
def messages():
    for number in range(10**9):
        yield {"role": "assistant", "number": number, "reasoning_content": "thought " * 1000}
        if number == 2000: print("going", flush=True)
dump_jsonl(messages(), sys.argv[1])
"""


def killed(script, *arguments, after):
    """What a process said until it was killed."""
    run = subprocess.Popen([sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)], stdout=subprocess.PIPE)
    first = run.stdout.readline()
    time.sleep(after)
    run.send_signal(signal.SIGKILL)
    rest = run.stdout.read().splitlines(keepends=True)
    run.stdout.close()
    assert -signal.SIGKILL == run.wait()
    return [int(line) if line.strip().isdigit() else line for line in [first, *rest] if line.endswith(b"\n")]


@pytest.mark.parametrize("times", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_a_killed_agent_goes_on_and_at_most_the_record_that_was_being_written_is_lost_and_named(times, tmp_path):
    path = tmp_path / "x.jsonl"
    draw, start = random.Random(times), 0
    for _ in range(times):
        told, *said = killed(APPENDS, path, start, after=draw.random() * 0.2)
        assert told in {0, start + 1}  # what the writer before was cut in, if it was
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LostRecord)
            read = load_jsonl(path)
            found = [each["number"] for each in read]
        last = said[-1] if said else start - 1
        assert list(range(len(found))) == found
        assert last <= len(found) - 1 <= last + 1  # all that append returned for, and at most the one behind it
        assert read.loss is None or read.loss.record == len(found) + 1
        start = len(found)
    assert start > 0


@pytest.mark.parametrize("times", [1, pytest.param(15, marks=pytest.mark.slow)])
def test_a_killed_dump_leaves_the_old_file_and_the_next_one_cleans_up(times, tmp_path):
    path = tmp_path / "x.jsonl"
    dump_jsonl(map(message, range(10)), path)
    draw = random.Random(times)
    for _ in range(times):
        killed(DUMPS, path, after=draw.random() * 0.1)
        assert list(range(10)) == numbers(path)
        assert (tmp_path / ".x.jsonl.new").exists()
    dump_jsonl(map(message, range(11)), path)
    assert (list(range(11)), [path]) == (numbers(path), list(tmp_path.iterdir()))


# A million ------------------------------------------------------------------------------------------------------------

MEASURED = """
import json, resource, sys, time
from reasoning_replay import Origin
from reasoning_replay.transcripts import TranscriptWriter, dump_jsonl, load_jsonl
path, many = sys.argv[1], int(sys.argv[2])
def messages():
    for n in range(many // 2):
        yield {"role": "user", "content": f"question {n}"}
        yield {"role": "assistant", "content": f"answer {n}", "reasoning_content": f"thought {n} " * 20, "provider_specific_fields": {"citations": [n]}}
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
def plain(): return (json.dumps(each) for each in messages())
dump_jsonl([{"role": "user", "content": "x"}] * 2000, path); sum(1 for _ in load_jsonl(path)); before = peak()
took = {}
def timed(name, do):
    start = time.perf_counter(); got = do(); took[name] = round(time.perf_counter() - start, 2); assert got == many, (name, got)
def by_json():
    with open(path + ".json", "w") as file:
        count = 0
        for line in plain():
            file.write(line); file.write("\\n"); count += 1
    return count
def from_json():
    with open(path + ".json", "rb") as file:
        return sum(1 for line in file if json.loads(line))
timed("json.dumps", by_json); timed("json.loads", from_json)
timed("dump_jsonl", lambda: dump_jsonl(messages(), path)); timed("load_jsonl", lambda: sum(1 for _ in load_jsonl(path)))
def grown():
    with TranscriptWriter(path) as out: out.extend(messages())
    return sum(1 for _ in load_jsonl(path)) // 2
timed("extend, load", grown)
timed("adopted", lambda: sum(1 for _ in load_jsonl(path + ".json", origin=Origin("api.deepseek.com"))))
print(json.dumps({"grew KB": peak() - before, **took}))
"""


@pytest.mark.parametrize("many", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_the_number_of_messages(many, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path / "x.jsonl"), str(many)],
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    print(told)
    assert told["grew KB"] < 12_000  # a million messages are 700 MB as objects
