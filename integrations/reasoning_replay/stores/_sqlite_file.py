"""The file of a SQLite store: made for its owner alone, opened, its schema looked at. Must not know what lies in it.

The file is never opened but by SQLite: closing a second descriptor would drop the locks of this process.
So it is made under another name and linked into place, and its mode is set by name; SQLite gives `-wal` and `-shm` the
mode of the file. A file that is not ours, or of a newer schema, is refused in words.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from ._base import StoreError

SCHEMA = 1
"""In `PRAGMA user_version`. An older one would be brought forward in `_prepare`."""
APPLICATION = 0x52525354
"""In `PRAGMA application_id`, so that nobody's other database is taken for a store."""
BUSY = 2.0
"""Seconds that the guard's thread waits for another process's lock; the call has long gone on without it."""

PATIENCE = 10.0
"""Seconds that a purge waits for others to let go of the log."""

_TABLES = """
CREATE TABLE items (id INTEGER PRIMARY KEY, tenant BLOB NOT NULL, key BLOB NOT NULL, data BLOB NOT NULL,
    size INTEGER NOT NULL, used INTEGER NOT NULL, written INTEGER NOT NULL)
CREATE UNIQUE INDEX by_key ON items (tenant, key)
CREATE INDEX by_use ON items (used)
CREATE INDEX by_age ON items (written)
CREATE TABLE total (items INTEGER NOT NULL, bytes INTEGER NOT NULL)
INSERT INTO total VALUES (0, 0)
CREATE TRIGGER added AFTER INSERT ON items BEGIN
    UPDATE total SET items = items + 1, bytes = bytes + new.size; END
CREATE TRIGGER gone AFTER DELETE ON items BEGIN
    UPDATE total SET items = items - 1, bytes = bytes - old.size; END
CREATE TRIGGER grown AFTER UPDATE OF size ON items WHEN new.size <> old.size BEGIN
    UPDATE total SET bytes = bytes + new.size - old.size; END
"""
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=NORMAL",  # the log is not forced to the disk at every commit: a power cut may cost the last ones
    "secure_delete=ON",  # what was deleted is overwritten
    "cache_size=-16000",  # 16 MB: of a million items the upper pages of the indexes
    "wal_autocheckpoint=0",  # it waits for the disk, so it has a thread of its own
)
_HOPELESS = {
    "SQLITE_NOTADB": "is no SQLite database; give another path",
    "SQLITE_CANTOPEN": "cannot be opened; give a path that this user may write, in a folder that exists",
    "SQLITE_READONLY": "cannot be written; give a path that this user may write",
    "SQLITE_PERM": "cannot be written; give a path that this user may write",
}
"""Faults of the path itself; all others may pass."""
_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE})


def checked_path(path: str | os.PathLike[str], name: str) -> Path:
    """The absolute path of a file that can hold a store, made if it was not there.

    Raises:
        StoreError: no store can lie there. A full disk and a lock are no such reason.
    """
    given = os.fspath(path)
    if not isinstance(given, str) or given in {"", ":memory:"} or "\0" in given:
        raise StoreError(f"{name}(path={given!r}): allowed: the path of a file; in memory it is MemoryStore()")
    whole = Path(given).resolve()
    where = f"{name}({whole.name!r})"
    if not whole.parent.is_dir():
        raise StoreError(f"{where}: its folder does not exist; make it first")
    try:
        with closing(opened(whole, where)):
            pass
    except sqlite3.Error as error:
        if (said := _HOPELESS.get("_".join(_fault(error).split("_")[:2]))) is not None:
            raise StoreError(f"{where}: {said}") from None
    except OSError as error:
        if error.errno not in _PASSING:
            raise StoreError(f"{where}: {error.strerror}; give a path that this user may write") from None
    return whole


def opened(path: Path, where: str) -> sqlite3.Connection:
    """A connection that any one thread at a time may use."""
    _make_private(path)
    end = time.monotonic() + BUSY
    while True:
        with ExitStack() as undo:
            connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
            undo.callback(connection.close)
            try:
                for pragma in _PRAGMAS:
                    connection.execute(f"PRAGMA {pragma}")
                _prepare(connection, where)
            except sqlite3.OperationalError as error:
                if not busy(error) or time.monotonic() > end:
                    raise
            else:
                undo.pop_all()
                return connection
        time.sleep(0.02)  # not every lock on the way to WAL waits by itself


def _prepare(connection: sqlite3.Connection, where: str) -> None:
    if _ours(connection, where):
        return
    with transaction(connection):
        if not _ours(connection, where):  # another process may have been first
            for statement in re.split(r"\n(?! )", _TABLES.strip()):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _ours(connection: sqlite3.Connection, where: str) -> bool:
    """Whether the tables are there; False for a new file."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION and version > SCHEMA:
        raise StoreError(
            f"{where}: has schema {version}, written by a newer reasoning-replay; this one knows {SCHEMA}: "
            "upgrade it, or give another path"
        )
    if application == APPLICATION and version == SCHEMA:
        return True
    if application != 0 or connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None:
        raise StoreError(f"{where}: is somebody else's database; give another path")
    return False


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")


def write_back(path: Path) -> None:
    """Copies the log into the file, as far as nobody reads it. Waits for the disk."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def empty_log(connection: sqlite3.Connection) -> None:
    """Leaves nothing in the log.

    Raises:
        OperationalError: somebody read or wrote all the time.
    """
    end = time.monotonic() + PATIENCE
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] != 0:  # another write-back is under way
        if time.monotonic() > end:
            raise sqlite3.OperationalError
        time.sleep(0.02)


def busy(error: sqlite3.Error) -> bool:
    """Whether somebody else is in the way."""
    return _fault(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def lasting(error: sqlite3.Error) -> bool:
    """Whether the connection is as good as before."""
    return busy(error) or _fault(error) == "SQLITE_FULL"


def _fault(error: sqlite3.Error) -> str:
    return str(getattr(error, "sqlite_errorname", ""))


def _make_private(path: Path) -> None:
    if not path.exists():
        spare = path.with_name(f"{path.name}.{token_hex(8)}")
        _make(spare)
        try:
            os.link(spare, path)
        except FileExistsError:
            pass  # another process was first
        except OSError:  # a file system without links: so be it, nobody has it open yet
            with suppress(FileExistsError):
                _make(path)
        finally:
            spare.unlink()
    path.chmod(0o600)  # a umask may have taken bits that the owner needs; an older file may have been open to others
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).chmod(0o600)


def _make(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
