import json
import socket
import threading
from pathlib import Path

import pytest

from devtool.guest_screen import Image, Screen, Wanted, difference, judge, read_ppm


def image_of(*rows: str) -> Image:
    """A letter a pixel: its code is red, green and blue alike."""
    pixels = b"".join(bytes([0 if c == "." else ord(c)]) * 3 for row in rows for c in row)
    return Image(len(rows[0]), len(rows), pixels)


def test_an_image_lies_in_the_middle_of_a_larger_screen_and_shows_its_middle_on_a_smaller() -> None:
    image = image_of("abc", "def")
    assert image.centred_on(5, 4) == image_of(".....", ".abc.", ".def.", ".....")
    assert image.centred_on(6, 3) == image_of(".abc..", ".def..", "......")
    assert image.centred_on(1, 2) == image_of("b", "e")
    assert image.centred_on(2, 1) == image_of("ab")


def test_a_bmp_file_has_its_rows_from_below_or_above_and_whole_words() -> None:
    image = Image(1, 2, bytes([1, 2, 3, 4, 5, 6]))
    below = image.bmp(24, top_down=False)
    assert below[:2] == b"BM"
    assert int.from_bytes(below[2:6], "little") == len(below) == 54 + 8
    assert below[54:] == bytes([6, 5, 4, 0, 3, 2, 1, 0])
    assert image.bmp(32, top_down=True)[54:] == bytes([3, 2, 1, 0, 6, 5, 4, 0])


def test_a_screen_is_read_whole_or_not_at_all() -> None:
    assert read_ppm(b"P6\n1 2\n255\nabcdef") == Image(1, 2, b"abcdef")
    for wrong in (b"", b"P5\n1 2\n255\nab", b"P6\n1 2\n255\nabcde", b"P6\n1 2\n255\nabcdefg"):
        with pytest.raises(ValueError, match=r"PPM|pixels"):
            read_ppm(wrong)


def test_the_first_pixel_that_differs_is_named() -> None:
    assert difference(image_of("abc", "def"), image_of("abc", "def")) is None
    assert difference(image_of("abc", "dxx"), image_of("abc", "def")) == (
        "pixel (1, 1) is #787878, not #656565"
    )


def test_a_picture_that_should_have_gone_is_a_problem() -> None:
    gone = Wanted("after", image_of("a"), shown=False)
    assert judge(gone, image_of(".a.")) == "the picture is still there"
    assert judge(gone, image_of("...")) is None


class Qemu(threading.Thread):
    """Answers as QEMU does, with an event between, and keeps what the guest is told."""

    def __init__(self, folder: Path, screen: bytes, error: bool = False) -> None:
        super().__init__(daemon=True)
        self.told = b""
        self._screen, self._error = screen, error
        self._listeners = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for listener, name in zip(self._listeners, ("qmp", "answers"), strict=True):
            listener.bind(str(folder / name))
            listener.listen()

    def run(self) -> None:
        connection, _ = self._listeners[0].accept()
        with connection, connection.makefile("rw") as lines:
            lines.write('{"QMP": {}}\n')
            lines.flush()
            lines.readline()
            lines.write('{"return": {}}\n')
            lines.flush()
            command = json.loads(lines.readline())
            Path(command["arguments"]["filename"]).write_bytes(self._screen)
            answer = '{"error": {"desc": "no screen"}}' if self._error else '{"return": {}}'
            lines.write('{"event": "RTC_CHANGE"}\n' + answer + "\n")
            lines.flush()
        connection, _ = self._listeners[1].accept()
        with connection:
            self.told = connection.recv(100)


@pytest.mark.parametrize(
    ("screen", "error", "problem"),
    [
        (b"P6\n3 1\n255\n\0\0\0aaa\0\0\0", False, None),
        (b"P6\n3 1\n255\n\0\0\0aba\0\0\0", False, "pixel (1, 0) is #616261, not #616161"),
        (b"P6\n3 1\n255\n", False, "it could not be read: 0 bytes are no 3 by 1 pixels"),
        (b"", True, "it could not be read: screendump: {'desc': 'no screen'}"),
    ],
)
def test_a_named_screen_is_compared_and_the_guest_goes_on(
    screen: bytes, error: bool, problem: str | None
) -> None:
    watcher = Screen([Wanted("one", image_of("a")), Wanted("two", image_of("a"))])
    with watcher.watched() as on_line:
        on_line("@begin display")
        on_line("@screen other")
        qemu = Qemu(
            Path(watcher.devices()[-1].removeprefix("unix:").split("/qmp")[0]), screen, error
        )
        qemu.start()
        on_line("@screen one")
        qemu.join(10)
    assert qemu.told == b"done\n"
    shown = [] if problem is None else [f"screen one: {problem}"]
    assert watcher.problems() == [*shown, "screen two: the guest did not show it"]
