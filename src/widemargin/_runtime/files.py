"""Files that are written completely or not at all."""

import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["PathLike", "atomic_path", "check_target", "is_stream", "private_folder"]

PathLike = str | os.PathLike[str]

STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)", re.ASCII)
REFUSED = {
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
}


@contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Temporary path for the new content of `path`, which is replaced only on success.

    A link is followed, and the file that it points to is replaced.  Pipes, terminals and character
    devices such as ``/dev/null`` cannot be replaced: the content is copied to them on success.
    Folders, sockets and block devices are refused.

    The temporary file is in a folder of its own beside the target.  If the process is killed, the
    folder stays; the next write to the same target removes it.
    """
    check_target(path)
    if is_stream(path):
        with private_folder(Path(tempfile.gettempdir()) / "widemargin") as folder:
            yield folder / "content"
            with _open_stream(path) as stream, open(folder / "content", "rb") as content:
                shutil.copyfileobj(content, stream)
        return
    target = Path(os.path.realpath(path))
    with private_folder(target) as folder:
        temporary = folder / "content"
        temporary.touch(exist_ok=False)
        # Keep the permissions that writing to `path` would give; libraries create private files.
        mode = (target if target.exists() else temporary).stat().st_mode
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())  # otherwise a power failure could leave an empty file
        temporary.chmod(stat.S_IMODE(mode))
        os.replace(temporary, target)


def check_target(path: PathLike) -> None:
    """Refuse a path to which no file can be written."""
    if _descriptor(path) is not None:
        return
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file to write")
    if target.exists():
        if what := REFUSED.get(stat.S_IFMT(target.stat().st_mode)):
            raise OSError(f"{path} is {what}; name a file to write")
    elif not (folder := Path(os.path.realpath(path)).parent).is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {folder}; create it first")


def is_stream(path: PathLike) -> bool:
    """Whether `path` is read or written in one go: a pipe, a terminal, a character device."""
    if _descriptor(path) is not None:
        return True
    with suppress(OSError):
        mode = os.stat(path).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)
    return False


def _descriptor(path: PathLike) -> int | None:
    """The open file that `path` stands for, if it is a name such as ``/dev/stdout``."""
    name = os.fspath(path)
    match = DESCRIPTOR.fullmatch(name)
    return int(match[1]) if match else STANDARD.get(name)


def _open_stream(path: PathLike) -> IO[bytes]:
    number = _descriptor(path)
    # A second opening of a redirected /dev/stdout would begin at the start of the file.
    return open(path if number is None else os.dup(number), "wb")


@contextmanager
def private_folder(place: Path) -> Iterator[Path]:
    """Empty folder beside `place` that no other process uses; it is deleted at the end.

    Its name depends on `place` alone, and a lock shows that it is in use.  The lock ends with the
    process, so a folder that a killed process has left is found, emptied and used again.
    """
    folder, lock = _locked_folder(place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _locked_folder(place: Path) -> tuple[Path, int | None]:
    name = os.fsencode(place.name)[:100].decode("utf-8", "ignore")
    for number in count() if fcntl is not None else ():
        folder = place.with_name(f".{name}.{number}.tmp")
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES):
                continue  # deleted since, or not ours
            raise
        try:
            if _claim(folder, lock):
                return folder, lock
        except OSError as error:
            os.close(lock)
            if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
                break  # a file system without locks
            raise
        os.close(lock)
    return Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".tmp", dir=place.parent)), None


def _claim(folder: Path, lock: int) -> bool:
    """Lock a folder and empty it; False if it is in use or another user's."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        here, locked = os.stat(folder, follow_symlinks=False), os.fstat(lock)
        # Another process may have deleted the folder between opening and locking.
        if not os.path.samestat(here, locked) or locked.st_uid != os.geteuid():
            return False
        for entry in os.listdir(folder):
            os.unlink(folder / entry)
    except (BlockingIOError, FileNotFoundError, IsADirectoryError, PermissionError):
        return False
    return True
