"""The store in a file: who may read it, what is left when it is killed, full or locked, and what a purge leaves."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from reasoning_replay.stores import SQLiteStore, StoreError, _guard, _sqlite
from reasoning_replay.stores._base import packed


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr(_guard, "PATIENCE", 20.0)


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in sorted(folder.iterdir())}


def check(path: Path) -> None:
    """The file is whole, and its sums are those of its items."""
    with closing(sqlite3.connect(path)) as file:
        assert [("ok",)] == file.execute("PRAGMA integrity_check").fetchall()
        counted = file.execute("SELECT count(*), coalesce(sum(size), 0) FROM items").fetchall()
        assert counted == file.execute("SELECT items, bytes FROM total").fetchall()


@pytest.mark.parametrize("umask", [0, 0o022, 0o777])
def test_the_file_and_its_log_are_their_owners_alone_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        with SQLiteStore(tmp_path / "s.db") as store:
            store.add([(b"r", b"x")])
            assert dict.fromkeys(["s.db", "s.db-shm", "s.db-wal"], "0o600") == modes(tmp_path)
    finally:
        os.umask(before)


def test_a_file_that_was_open_to_others_is_closed_to_them(tmp_path):
    path = tmp_path / "s.db"
    SQLiteStore(path).close()
    path.chmod(0o666)
    with SQLiteStore(path) as store:
        store.add([(b"r", b"x")])
        assert {"0o600"} == set(modes(tmp_path).values())


def test_a_link_to_a_file_that_is_not_there_yet_leads_to_one_for_the_owner_alone(tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "s.db")
    before = os.umask(0)
    try:
        with SQLiteStore(tmp_path / "link.db") as store:
            store.add([(b"r", b"x")])
            assert {"s.db", "s.db-shm", "s.db-wal", "link.db"} == set(modes(tmp_path))
            assert {"0o600"} == set(modes(tmp_path).values())
    finally:
        os.umask(before)


def test_a_file_system_without_links_is_good_enough(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with SQLiteStore(tmp_path / "s.db") as store:
        store.add([(b"r", b"x")])
        assert dict.fromkeys(["s.db", "s.db-shm", "s.db-wal"], "0o600") == modes(tmp_path)


def test_what_was_kept_is_there_after_a_restart(tmp_path):
    with SQLiteStore(tmp_path / "s.db") as store:
        store.of("t").add([(b"r", b"x")])
    with SQLiteStore(str(tmp_path / "s.db")) as store:
        assert {b"r": (b"x",)} == store.of("t").get([b"r"])
    check(tmp_path / "s.db")


def test_a_newer_schema_is_refused_with_what_to_do_and_left_alone(tmp_path):
    path = tmp_path / "s.db"
    SQLiteStore(path).close()
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 7")
    said = (
        "SQLiteStore('s.db'): has schema 7, written by a newer reasoning-replay; this one knows 1: "
        "upgrade it, or give another path"
    )
    with pytest.raises(StoreError) as error:
        SQLiteStore(path)
    assert said == str(error.value)
    with closing(sqlite3.connect(path)) as file:
        assert [(7,)] == file.execute("PRAGMA user_version").fetchall()


def test_somebody_elses_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE theirs (x)")
    with pytest.raises(StoreError, match=r"'s\.db'\): is somebody else's database; give another path"):
        SQLiteStore(path)
    with closing(sqlite3.connect(path)) as file:
        assert [("theirs",)] == file.execute("SELECT name FROM sqlite_master").fetchall()


def test_a_path_that_can_hold_no_store_is_refused_in_words(tmp_path):
    (tmp_path / "notes.txt").write_text("no database at all, but some words of text " * 99)
    for path, said in [
        (tmp_path / "notes.txt", "is no SQLite database; give another path"),
        (tmp_path / "nowhere" / "s.db", "its folder does not exist; make it first"),
        (tmp_path, "give a path that this user may write"),
        (":memory:", r"in memory it is MemoryStore\(\)"),
        ("", "allowed: the path of a file"),
        ("a\0b", "allowed: the path of a file"),
        (b"s.db", "allowed: the path of a file"),
    ]:
        with pytest.raises(StoreError, match=said) as error:
            SQLiteStore(path)
        assert str(tmp_path.parent) not in str(error.value)


def test_a_purge_leaves_no_text_in_the_file_nor_in_its_log(tmp_path):
    with SQLiteStore(tmp_path / "s.db", max_items=400) as store:
        for number in range(500):  # some go for want of room, before the purge
            store.of("t").add([(b"r%d" % number, b"CANARY-1;" * 200)])
        store.of("u").add([(b"r", b"WITNESS")])
        assert 399 == store.purge("t")
        for path in tmp_path.iterdir():
            assert b"CANARY-1;" not in path.read_bytes(), path.name
        assert {b"r": (b"WITNESS",)} == store.of("u").get([b"r"])
    assert b"WITNESS" in (tmp_path / "s.db").read_bytes()


def test_no_tenant_stands_in_the_file(tmp_path):
    with SQLiteStore(tmp_path / "s.db") as store:
        store.of("TENANT-7").add([(b"r", b"x")])
    assert b"TENANT-7" not in (tmp_path / "s.db").read_bytes()


def test_the_log_does_not_grow_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(_sqlite, "PAGES", 50)
    with SQLiteStore(tmp_path / "s.db", max_items=20) as store:
        for number in range(300):
            store.add([(b"r%d" % number, os.urandom(20_000))])
            if store._write_back is not None:
                store._write_back.join(20)
        assert (tmp_path / "s.db-wal").stat().st_size < 2_000_000
    check(tmp_path / "s.db")


def test_the_bounds_hold_when_they_are_set_lower_than_the_file_is_full(tmp_path):
    with SQLiteStore(tmp_path / "s.db") as store:
        store.add([(b"r%d" % number, b"x") for number in range(2000)])
    with SQLiteStore(tmp_path / "s.db", max_items=10) as store:
        store.add([(b"new", b"x")])
        with closing(sqlite3.connect(tmp_path / "s.db")) as file:
            end = time.monotonic() + 20
            while file.execute("SELECT items FROM total").fetchone() != (10,) and time.monotonic() < end:
                time.sleep(0.01)
        keys = [b"new", *(b"r%d" % number for number in range(2000))]
        assert {b"new", *(b"r%d" % number for number in range(1991, 2000))} == set(store.get(keys))
    check(tmp_path / "s.db")


def test_other_processes_hear_of_what_was_read_here(tmp_path, monkeypatch):
    with SQLiteStore(tmp_path / "s.db", max_items=3) as reader, SQLiteStore(tmp_path / "s.db", max_items=3) as writer:
        reader._grain = 0
        for key in (b"r1", b"r2", b"r3"):
            writer.add([(key, b"x")])
        reader.get([b"r1"])
        reader.get([b"r1"])
        reader._guard.barrier()
        writer.add([(b"r4", b"x")])
        assert {b"r1", b"r3", b"r4"} == set(writer.get([b"r1", b"r2", b"r3", b"r4"]))


def test_several_may_open_a_new_file_at_once(tmp_path):
    code = "import sys; from reasoning_replay.stores import SQLiteStore; SQLiteStore(sys.argv[1]).close(); print('ok')"
    command = [sys.executable, "-c", code, str(tmp_path / "s.db")]
    opened = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    assert [("ok\n", "")] * 6 == [process.communicate(timeout=60) for process in opened]
    assert ["s.db"] == [path.name for path in tmp_path.iterdir()]
    check(tmp_path / "s.db")


WRITER = """
import sys
from reasoning_replay.stores import SQLiteStore, _guard, _sqlite
_guard.PATIENCE = 60.0
_sqlite.PAGES = 200
store = SQLiteStore(sys.argv[1], max_items=700)
for number in range(1000):
    store.of("t").add([(b"r%d" % number, b"%d;" % number * 700), (b"rlast", b"%d" % number)])
    print(number, flush=True)
"""


@pytest.mark.parametrize(
    "kill_at", [1, 340, 901, *(pytest.param(at, marks=pytest.mark.slow) for at in range(7, 1000, 61))]
)
def test_killed_in_the_middle_of_writes_it_has_all_that_was_acknowledged(tmp_path, kill_at):
    path = tmp_path / "s.db"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        acknowledged = 0
        for line in writer.stdout:
            acknowledged = int(line)
            if acknowledged == kill_at:
                writer.kill()  # and read on: it may have come further
    assert writer.returncode == -9
    with SQLiteStore(path, max_items=700) as store:
        kept = range(max(0, acknowledged - 690), acknowledged + 1)
        found = store.of("t").get([b"r%d" % number for number in kept])
        assert {b"r%d" % number: (b"%d;" % number * 700,) for number in kept} == found
        assert b"%d" % acknowledged in store.of("t").get([b"rlast"])[b"rlast"]
        store.of("t").add([(b"after", b"x")])
        assert {b"after": (b"x",)} == store.of("t").get([b"after"])
    check(path)


def test_a_fork_does_not_wait_for_ever_and_the_child_leaves_the_parents_connection_alone(tmp_path):
    code = """
import os, sys, threading
from reasoning_replay.stores import SQLiteStore, _guard, _sqlite
_guard.PATIENCE = 20.0
store, begun, over = SQLiteStore(sys.argv[1]), threading.Event(), threading.Event()
store.add([(b"r", b"x")])
store._guard.later(lambda: begun.set() or over.wait())
begun.wait()
child = os.fork()
if child == 0:
    assert store.get([b"r"]) == {b"r": (b"x",)}
    store.add([(b"child", b"x")])
    os._exit(10 + len(_sqlite._LEFT))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 11
over.set()
store.add([(b"parent", b"x")])
print(len(store.get([b"r", b"child", b"parent"])))
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code, str(tmp_path / "s.db")]
    assert "3\n" == subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    check(tmp_path / "s.db")


def can_mount(folder: Path, size: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    if sys.platform != "linux" or not can_mount(folder, "3m"):
        pytest.skip("NO SMALL DISK HERE: mounting a tmpfs needs root, the full disk goes untested")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 4096)


def test_on_a_full_disk_no_call_fails_what_was_kept_is_read_and_it_goes_on_when_there_is_room(
    small_disk, monkeypatch, caplog
):
    monkeypatch.setattr(_guard, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(_guard, "LONGEST_PAUSE", 0.01)
    (small_disk / "ballast").write_bytes(b"\0" * 1_000_000)
    with SQLiteStore(small_disk / "s.db") as store:
        shelf = store.of("t")
        for number in range(200):
            shelf.add([(b"r%d" % number, b"%d;" % number * 5000)])
        keys = [b"r%d" % number for number in range(200)]
        found = shelf.get(keys)
        assert 10 < len(found) < 150
        assert all(
            (b"%d;" % number * 5000,) == found.get(b"r%d" % number, (b"%d;" % number * 5000,)) for number in range(200)
        )
        assert ["SQLiteStore('s.db'): SQLITE_FULL; calls go on without it, and it is tried again by itself"] == [
            record.getMessage() for record in caplog.records if record.levelname == "WARNING"
        ]
        check(small_disk / "s.db")
        (small_disk / "ballast").unlink()
        end = time.monotonic() + 20
        while shelf.get([b"back"]) == {} and time.monotonic() < end:
            shelf.add([(b"back", b"x")])
        assert {b"back": (b"x",)} == shelf.get([b"back"])
        assert found.items() <= shelf.get([*keys, b"back"]).items()
    check(small_disk / "s.db")


def test_a_store_can_be_made_on_a_full_disk_and_works_when_there_is_room(small_disk, monkeypatch):
    monkeypatch.setattr(_guard, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(_guard, "LONGEST_PAUSE", 0.01)
    ballast = small_disk / "ballast"
    fill(ballast)
    with SQLiteStore(small_disk / "s.db") as store:
        store.add([(b"r", b"x")])
        assert {} == store.get([b"r"])
        ballast.unlink()
        end = time.monotonic() + 20
        while store.get([b"r"]) == {} and time.monotonic() < end:
            store.add([(b"r", b"x")])
        assert {b"r": (b"x",)} == store.get([b"r"])
    check(small_disk / "s.db")


def test_while_another_process_holds_the_lock_calls_go_on_and_reads_are_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(_guard, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(_guard, "LONGEST_PAUSE", 0.01)
    with SQLiteStore(tmp_path / "s.db") as store:
        store.add([(b"r", b"x")])
        monkeypatch.setattr(_guard, "PATIENCE", 0.02)
        with closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for number in range(10):
                store.add([(b"r%d" % number, b"x")])
            other.execute("ROLLBACK")
        monkeypatch.setattr(_guard, "PATIENCE", 20.0)
        end = time.monotonic() + 20
        while store.get([b"back"]) == {} and time.monotonic() < end:
            store.add([(b"back", b"x")])
        assert {b"r": (b"x",), b"back": (b"x",)} == store.get([b"r", b"back"])
    check(tmp_path / "s.db")


def test_a_file_that_breaks_under_it_fails_no_call(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    with SQLiteStore(path) as store:
        store.add([(b"r%d" % number, b"x" * 3000) for number in range(200)])
    path.write_bytes(b"SQLite format 3\0" + os.urandom(path.stat().st_size))
    try:
        store = SQLiteStore(path)
    except StoreError:
        return  # it may be said when it is opened
    with store:
        store.add([(b"r", b"x")])
        store.get([b"r", b"r1"])


def test_the_values_of_a_key_are_told_apart_by_their_lengths():
    assert b"\0\0\0\1a\0\0\0\0" == packed([b"a", b""])
