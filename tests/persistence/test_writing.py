"""What a model may be written to, and what is left if writing fails."""

import os
import signal
import socket
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

from widemargin import load, save
from widemargin._runtime.files import atomic_path
from widemargin._testing_dummy import Holder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


def test_a_pipe_gets_the_content_and_stays_a_pipe(path, tmp_path):
    os.mkfifo(path)
    received = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    save(Holder(np.arange(5)), path)
    reader.join(timeout=30)
    assert stat.S_ISFIFO(path.stat().st_mode)
    copy = tmp_path / "copy"
    copy.write_bytes(received[0])
    assert load(copy).value.tolist() == [0, 1, 2, 3, 4]
    assert sorted(os.listdir(tmp_path)) == ["copy", path.name]


def device(path, kind):
    try:
        os.mknod(path, kind | 0o600, os.makedev(1, 3))  # as a character device: the null device
    except PermissionError:
        pytest.skip("only root may create devices")


def test_a_character_device_stays_a_device(path):
    device(path, stat.S_IFCHR)
    save(Holder(1), path)
    assert stat.S_ISCHR(path.stat().st_mode)


def test_other_targets_are_refused_and_kept(path):
    path.mkdir()
    with pytest.raises(IsADirectoryError, match="name a file to write"):
        save(Holder(1), path)
    path.rmdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        with pytest.raises(OSError, match="is a socket; name a file to write"):
            save(Holder(1), path)
        assert stat.S_ISSOCK(path.stat().st_mode)
    path.unlink()
    device(path, stat.S_IFBLK)
    with pytest.raises(OSError, match="is a block device; name a file to write"):
        save(Holder(1), path)
    assert stat.S_ISBLK(path.stat().st_mode)


def test_a_link_is_followed(path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(path)
    for value in (1, 2):  # a new file, then an existing one
        save(Holder(value), link)
        assert link.is_symlink()
        assert load(path).value == value


def test_standard_output_continues_where_it_is(path):
    code = (
        "from sklearn.preprocessing import MinMaxScaler; from widemargin import save\n"
        "save(MinMaxScaler(), '/dev/stdout')"
    )
    path.write_bytes(b"before")
    with open(path, "ab") as stdout:
        subprocess.run([sys.executable, "-c", code], stdout=stdout, check=True)
    content = path.read_bytes()
    assert content.startswith(b"before")
    path.write_bytes(content.removeprefix(b"before"))
    assert type(load(path)).__name__ == "MinMaxScaler"


def test_what_a_killed_process_leaves_is_gone_after_the_next_write(path, tmp_path):
    code = (
        "import os, signal, sys; from widemargin._runtime.files import atomic_path\n"
        "with atomic_path(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('half'); (temporary.parent / '.tmpAbC').touch()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path)])
    assert killed.returncode == -signal.SIGKILL
    assert not path.exists()
    assert os.listdir(tmp_path) != []
    save(Holder(1), path)
    assert os.listdir(tmp_path) == [path.name]


def test_writers_of_one_file_do_not_disturb_each_other(path, tmp_path):
    with atomic_path(path) as first:
        first.write_text("first")
        with atomic_path(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
        assert first.read_text() == "first"
    assert path.read_text() == "first"
    assert os.listdir(tmp_path) == [path.name]


def test_a_folder_of_the_temporary_name_is_not_touched(path, tmp_path):
    other = tmp_path / f".{path.name}.0.tmp"
    (other / "inner").mkdir(parents=True)
    save(Holder(1), path)
    assert sorted(os.listdir(tmp_path)) == [other.name, path.name]
    assert (other / "inner").is_dir()
