"""What ./dev does before it hands the work to a module."""

import fcntl
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from devtool import build, main


def test_a_second_check_of_one_tree_waits_for_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    def check(only: Sequence[str]) -> bool:
        assert only == ["floors"]
        begun.set()
        return True

    monkeypatch.setattr(build, "BUILD", tmp_path)
    monkeypatch.setattr(main, "check", check)
    (tmp_path / "check").mkdir()
    with (tmp_path / "check/dev.lock").open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        second = threading.Thread(target=main.main, args=[["check", "--only", "floors"]])
        second.start()
        assert not begun.wait(0.2)
    second.join(60)
    assert begun.is_set()
