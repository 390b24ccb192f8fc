"""The cache: correct objects or none for every state of its folder, and one warning at most."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from psylang.runtime import cache as module
from psylang.runtime.cache import ObjectCache, user_cache
from psylang.runtime.errors import ArgumentError, CacheWarning

PAYLOAD = b"machine code" * 100


@pytest.fixture(autouse=True)
def no_warning_goes_by() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def child(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    root = Path(module.__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )


def test_a_stored_object_is_found_by_another_cache(tmp_path: Path) -> None:
    ObjectCache(tmp_path / "a/b").put("key", PAYLOAD)
    assert ObjectCache(tmp_path / "a/b").get("key") == PAYLOAD
    assert ObjectCache(tmp_path / "a/b").get("other") is None
    assert names(tmp_path / "a/b") == ["key.object"]
    assert (tmp_path / "a/b").stat().st_mode & 0o077 == 0


def test_an_empty_cache_has_nothing_and_says_nothing(tmp_path: Path) -> None:
    assert ObjectCache(tmp_path / "absent").get("key") is None
    assert ObjectCache(None).get("key") is None
    ObjectCache(None).put("key", PAYLOAD)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content[:40],
        lambda content: b"",
        lambda content: content[:-5] + b"x" + content[-4:],
        lambda content: b"PSYLANG" + content[7:],
        lambda content: content + b"more",
    ],
    ids=["cut", "header only", "empty", "a byte", "other magic", "longer"],
)
def test_a_damaged_object_is_removed_and_can_be_replaced(tmp_path: Path, damage: object) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("key", PAYLOAD)
    path = tmp_path / "key.object"
    assert callable(damage)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("key") is None
    assert not path.exists()
    cache.put("key", PAYLOAD)
    assert cache.get("key") == PAYLOAD


def test_an_object_under_another_key_is_damaged(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("key", PAYLOAD)
    (tmp_path / "key.object").rename(tmp_path / "other.object")
    assert cache.get("other") is None


def test_the_folder_is_bounded_and_the_longest_unused_goes_first(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, bytes_max=5000)
    for age, key in enumerate(["c", "b", "a"]):
        cache.put(key, PAYLOAD)
        os.utime(tmp_path / f"{key}.object", (1000 - age, 1000 - age))
    assert cache.get("a") == PAYLOAD  # Oldest by name; now used last.
    cache.put("d", PAYLOAD)
    cache.put("e", PAYLOAD)
    assert names(tmp_path) == ["a.object", "d.object", "e.object"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 5000


def test_an_object_larger_than_the_bound_is_not_kept(tmp_path: Path) -> None:
    ObjectCache(tmp_path, bytes_max=100).put("key", PAYLOAD)
    ObjectCache(tmp_path, bytes_max=0).put("key", b"")
    assert names(tmp_path) == []


def test_the_file_of_a_killed_writer_is_removed_later_not_at_once(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    left, fresh = tmp_path / "key.object.12.part", tmp_path / "key.object.34.part"
    left.write_bytes(b"half")
    fresh.write_bytes(b"half")
    os.utime(left, (1000, 1000))
    cache.put("key", PAYLOAD)
    assert names(tmp_path) == ["key.object", fresh.name]


KILLED = """
import os, pathlib, sys, time
from psylang.runtime import cache
def slow(folder, part, content):
    with open(os.open(part, os.O_WRONLY | os.O_CREAT, dir_fd=folder), "wb") as file:
        file.write(content[: len(content) // 2]); file.flush(); os.fsync(file.fileno())
        print("half", flush=True); time.sleep(60)
cache._write = slow
cache.ObjectCache(pathlib.Path(sys.argv[1])).put("key", b"machine code" * 100)
"""


def test_kill_9_while_writing_leaves_no_object(tmp_path: Path) -> None:
    with child(KILLED, tmp_path) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "half\n"
        writer.send_signal(signal.SIGKILL)
    cache = ObjectCache(tmp_path)
    assert cache.get("key") is None
    assert [name.endswith(".part") for name in names(tmp_path)] == [True]
    cache.put("key", PAYLOAD)
    assert cache.get("key") == PAYLOAD


BUSY = """
import pathlib, sys
from psylang.runtime.cache import ObjectCache
cache = ObjectCache(pathlib.Path(sys.argv[1]), 40_000)
for round in range(150):
    for key in range(8):
        found = cache.get(str(key))
        assert found in (None, bytes([key]) * 9000), found
        cache.put(str(key), bytes([key]) * 9000)
"""


def test_processes_that_read_write_and_prune_at_once_see_whole_objects(tmp_path: Path) -> None:
    writers = [child(BUSY, tmp_path) for _ in range(3)]
    for writer in writers:
        _, errors = writer.communicate(timeout=100)
        assert (writer.returncode, errors) == (0, "")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 40_000


READ_ONLY = """
import os, pathlib, tempfile, warnings
from psylang.runtime.cache import ObjectCache
if os.geteuid() == 0:
    os.setuid(65534)  # Root may write everywhere.
folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
cache = ObjectCache(folder)
cache.put("old", b"1")
folder.chmod(0o500)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    cache.put("key", b"2"); cache.put("key", b"2")
    print(cache.get("old"), cache.get("key"), *(warning.message for warning in caught))
folder.chmod(0o700)
(folder / "old.object").unlink(); folder.rmdir()
"""


def test_a_read_only_folder_is_read_and_one_warning_tells_why() -> None:
    with child(READ_ONLY) as done:
        out, errors = done.communicate()
    assert errors == ""
    assert out.startswith("b'1' None compiled models are not kept in /tmp/")
    assert "Permission denied" in out
    assert out.count("PSYLANG_CACHE_DIR") == 1


FULL = """
import pathlib, resource, sys, warnings
from psylang.runtime.cache import ObjectCache
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
cache = ObjectCache(pathlib.Path(sys.argv[1]))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    cache.put("key", b"machine code" * 100); cache.put("other", b"machine code" * 100)
    print(cache.get("key"), len(caught), caught[0].message)
"""


def test_a_full_device_leaves_nothing_behind(tmp_path: Path) -> None:
    with child(FULL, tmp_path) as done:
        out, errors = done.communicate()
    assert errors == ""
    assert out.startswith("None 1 compiled models are not kept")
    assert "File too large" in out
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = ObjectCache(tmp_path / "file/psylang")
    with pytest.warns(CacheWarning, match="Not a directory"):
        cache.put("key", PAYLOAD)
    cache.put("key", PAYLOAD)
    assert cache.get("key") is None


def test_a_folder_that_others_may_write_is_not_trusted(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("key", PAYLOAD)
    tmp_path.chmod(0o777)
    with pytest.warns(CacheWarning, match=f"others may write to {tmp_path}; run chmod go-w"):
        assert cache.get("key") is None
    cache.put("other", PAYLOAD)
    assert names(tmp_path) == ["key.object"]


SWAPPED = """
import ctypes, os, sys
parent = os.open(sys.argv[1], os.O_RDONLY)
renameat2 = ctypes.CDLL(None).renameat2
print("begun", flush=True)
while True:
    renameat2(parent, b"cache", parent, b"planted", 2)  # RENAME_EXCHANGE
"""


@pytest.mark.parametrize("parent_mode", [0o700, 0o777], ids=["our parent", "anybody's parent"])
def test_folders_that_are_swapped_while_it_reads_plant_nothing(
    tmp_path: Path, parent_mode: int
) -> None:
    good, planted = tmp_path / "cache", tmp_path / "planted"
    ObjectCache(good).put("key", PAYLOAD)
    ObjectCache(planted).put("key", b"planted")
    planted.chmod(0o777)  # So any user may have written its files.
    tmp_path.chmod(parent_mode)
    got = set()
    with child(SWAPPED, tmp_path) as attacker, warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        assert attacker.stdout is not None
        assert attacker.stdout.readline() == "begun\n"
        for _ in range(20_000):
            got.add(ObjectCache(good).get("key"))
        attacker.kill()
    assert got <= ({PAYLOAD, None} if parent_mode == 0o700 else {None})


def test_an_object_planted_while_the_folder_was_open_is_not_run(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("key", PAYLOAD)
    (tmp_path / "key.object").chmod(0o666)
    with pytest.warns(
        CacheWarning,
        match=f"{tmp_path}/key.object is compiled anew: others may write to it.*rm -r {tmp_path}",
    ):
        assert cache.get("key") is None
    cache.put("key", PAYLOAD)
    assert cache.get("key") == PAYLOAD


def test_whatever_the_umask_no_other_user_may_write_objects(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ObjectCache(tmp_path / "a/b").put("key", PAYLOAD)
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a/b/key.object").stat().st_mode & 0o777 == 0o600


def test_the_environment_names_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PSYLANG_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert user_cache().folder == Path("/x/psylang")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert user_cache().folder == Path("/home/somebody/.cache/psylang")
    monkeypatch.setenv("PSYLANG_CACHE_DIR", "/own")
    assert user_cache().folder == Path("/own")
    monkeypatch.setenv("PSYLANG_CACHE_BYTES", "0")
    assert user_cache().bytes_max == 0
    monkeypatch.setenv("PSYLANG_CACHE_BYTES", "many")
    with pytest.raises(ArgumentError, match="PSYLANG_CACHE_BYTES=many is no number of bytes"):
        user_cache()


def test_reading_looks_at_one_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("key", PAYLOAD)
    cache.put("other", PAYLOAD)

    def refuse(*_: object) -> None:
        raise AssertionError("the folder was listed")

    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, refuse)
    assert cache.get("key") == PAYLOAD
