"""What ./dev does before it hands the work to a module."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
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


ENDLESS = """
import signal
import sys
at_sigint = signal.SIG_IGN if sys.argv[3] == "background" else signal.default_int_handler
signal.signal(signal.SIGINT, at_sigint)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from devtool import build, main, process
place = Path(sys.argv[2])
def endless(only):
    command = ["sh", "-c", "echo $$; exec sleep 1000"]
    process.run_logged(command, place / "log", (place / "begun").write_text)
build.BUILD = place
main.check = endless
main.end_by_ctrl_c()
sys.exit(main.main(["check"]))
"""


# A shell without job control lets programs of its background ignore SIGINT.
@pytest.mark.parametrize("place", ["terminal", "background"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_dev_ends_its_programs(
    number: signal.Signals, place: str, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    tools = Path(main.__file__).parent.parent
    command = [sys.executable, "-c", ENDLESS, str(tools), str(tmp_path), place]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            patience = time.monotonic() + 60
            while not begun.exists() or not begun.read_text():
                assert time.monotonic() < patience
                assert child.poll() is None
                time.sleep(0.01)
            child.send_signal(number)
            _, errors = child.communicate(timeout=60)
        finally:
            child.kill()
    assert errors.decode().rstrip().endswith("dev: interrupted")
    assert child.returncode == main.EXIT_INTERRUPTED
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)
