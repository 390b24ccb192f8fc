"""Each way by which another user could have written executed code is refused and named."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from psylang.runtime import trusted
from psylang.runtime.trusted import UntrustedError

STRANGER = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def content(folder: Path, name: str = "file") -> bytes:
    with trusted.opened(folder) as descriptor:
        return trusted.read(name, descriptor)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "up/down"
    made.mkdir(parents=True)
    (made / "file").write_bytes(b"code")
    return made


def test_a_file_of_ours_alone_is_read(folder: Path) -> None:
    assert content(folder) == b"code"
    assert content(folder / "../../up/down") == b"code"


def test_it_leaves_no_descriptor_open(folder: Path) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = count()
    content(folder)
    (folder / "loop").symlink_to("loop")
    (folder / "sub").mkdir()
    folder.chmod(0o777)
    for bad in (folder, folder / "absent", folder / "loop", folder / "file", folder / "../../x"):
        with pytest.raises((UntrustedError, OSError)):
            content(bad)
    folder.chmod(0o700)
    with pytest.raises(UntrustedError):
        content(folder, "sub")
    assert count() == before


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777], ids=oct)
def test_a_parent_that_others_may_write_is_refused_unless_it_is_sticky(
    folder: Path, mode: int
) -> None:
    parent = folder.parent
    parent.chmod(mode)
    with pytest.raises(UntrustedError, match=f"write to {parent}; run chmod go-w {parent}$"):
        content(folder)
    parent.chmod(mode | 0o1000)
    assert content(folder) == b"code"


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777], ids=oct)
def test_the_folder_may_be_written_by_no_other_user(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    with pytest.raises(UntrustedError, match=f"others may write to {folder}; run chmod go-w"):
        content(folder)


def test_a_parent_that_may_be_passed_but_not_listed_will_do(folder: Path) -> None:
    folder.parent.chmod(0o311)
    assert content(folder) == b"code"


@needs_root
@pytest.mark.parametrize("depth", [0, 1])
def test_folders_of_others_are_refused(folder: Path, depth: int) -> None:
    owned = [folder, folder.parent][depth]
    os.chown(owned, STRANGER, STRANGER)
    with pytest.raises(UntrustedError, match=f"^{owned} belongs to another user$"):
        content(folder)


def test_our_own_links_are_followed_and_their_targets_are_checked(folder: Path) -> None:
    top = folder.parent.parent
    (top / "absolute").symlink_to(folder)
    (top / "relative").symlink_to("up/../up/down")
    (top / "twice").symlink_to("absolute")
    for name in ("absolute", "relative", "twice"):
        assert content(top / name) == b"code"
    folder.parent.chmod(0o777)
    for name in ("absolute", "relative", "twice"):
        with pytest.raises(UntrustedError, match=f"others may write to {folder.parent}"):
            content(top / name)


@needs_root
def test_links_of_others_are_refused(folder: Path) -> None:
    link = folder.parent.parent / "link"
    link.symlink_to(folder)
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    with pytest.raises(UntrustedError, match=f"{link} is a symbolic link that belongs to another"):
        content(link)


def test_links_in_a_circle_end(folder: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        content(folder / "a")


def _link(file: Path) -> None:
    file.rename(file.with_name("other"))
    file.symlink_to("other")


def _fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_link, "it is a symbolic link"),
        (_fifo, "it is no plain file"),
        (_folder, "it is no plain file"),
        (lambda file: file.with_name("second").hardlink_to(file), r"it has a second name"),
        (lambda file: file.chmod(0o620), "others may write to it"),
        (lambda file: file.chmod(0o602), "others may write to it"),
    ],
    ids=["symbolic link", "FIFO", "folder", "hard link", "group", "all"],
)
def test_a_file_that_others_may_have_written_is_refused(
    folder: Path, change: Callable[[Path], None], reason: str
) -> None:
    change(folder / "file")
    with pytest.raises(UntrustedError, match=reason):
        content(folder)


@needs_root
def test_files_of_others_are_refused(folder: Path) -> None:
    os.chown(folder / "file", STRANGER, STRANGER)
    with pytest.raises(UntrustedError, match="it belongs to another user"):
        content(folder)


def test_a_socket_is_refused_by_the_system(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)  # Names of sockets are short.
    (folder / "file").unlink()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("file")
        with pytest.raises(OSError, match="No such device or address"):
            content(folder)


def test_a_file_that_was_replaced_while_it_is_open_is_still_ours(folder: Path) -> None:
    with trusted.opened(folder) as descriptor:
        file = os.open("file", os.O_RDONLY, dir_fd=descriptor)
        (folder / "file").unlink()
        assert trusted._reason_against(os.fstat(file)) == ""
        os.close(file)


def test_folders_that_are_missing_are_made_for_us_alone(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), trusted.opened(tmp_path / "a/b"):
        pass
    with trusted.opened(tmp_path / "a/b", make=True):
        pass
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o700
    tmp_path.chmod(0o777)
    with pytest.raises(UntrustedError), trusted.opened(tmp_path / "c", make=True):
        pass
    assert not (tmp_path / "c").exists()
