"""The screen of a virtual machine: what it shows is compared with pictures, pixel for pixel.

The machine has a VGA, and its firmware (OVMF) gives Linux a framebuffer, for which Debian's cloud
kernels have a driver (efifb). When a line `@screen NAME` comes from the guest, QEMU writes the
screen to a file, and the guest reads `done` from its second serial line:

    exec 3<>/dev/ttyS1; echo @screen NAME; read -r answer <&3
"""

import json
import random
import re
import socket
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

FIRMWARE = Path("/usr/share/ovmf/OVMF.fd")
ANSWER_LIMIT_S = 120  # Of a busy machine that emulates.
HEADER = struct.Struct("<2sIHHIIiiHHIIiiII")  # Of a BMP file.
BLACK = b"\0\0\0"


@dataclass(frozen=True)
class Image:
    """Rows of three bytes a pixel: red, green, blue. The upper row comes first."""

    width: int
    height: int
    pixels: bytes

    @staticmethod
    def of_noise(width: int, height: int, seed: int) -> "Image":
        return Image(width, height, random.Random(seed).randbytes(3 * width * height))

    def row(self, number: int) -> bytes:
        return self.pixels[3 * self.width * number : 3 * self.width * (number + 1)]

    def bmp(self, bits: int, top_down: bool) -> bytes:
        """The content of a BMP file of 24 or 32 bits a pixel."""
        rows: list[bytes] = []
        for number in range(self.height):
            row = self.row(number)
            pixel = bytearray(bits // 8 * self.width)
            for channel in range(3):
                pixel[2 - channel :: bits // 8] = row[channel::3]
            rows.append(bytes(pixel) + b"\0" * (-len(pixel) % 4))
        if not top_down:
            rows.reverse()
        body = b"".join(rows)
        height = -self.height if top_down else self.height
        head = HEADER.pack(
            *(b"BM", HEADER.size + len(body), 0, 0, HEADER.size),
            *(40, self.width, height, 1, bits, 0, len(body), 0, 0, 0, 0),
        )
        return head + body

    def centred_on(self, width: int, height: int) -> "Image":
        """The image in the middle of a black screen, or its own middle if it is larger."""
        left, top = (self.width - width) // 2, (self.height - height) // 2
        # Halves are rounded towards zero.
        left += (self.width - width) % 2 if left < 0 else 0
        top += (self.height - height) % 2 if top < 0 else 0
        rows: list[bytes] = []
        for y in range(top, top + height):
            if not 0 <= y < self.height:
                rows.append(BLACK * width)
                continue
            shown = self.row(y)[3 * max(left, 0) : 3 * min(left + width, self.width)]
            before = BLACK * max(-left, 0)
            rows.append((before + shown).ljust(3 * width, b"\0"))
        return Image(width, height, b"".join(rows))


def read_ppm(content: bytes) -> Image:
    """A screen as QEMU writes it."""
    match = re.match(rb"P6\n(\d+) (\d+)\n255\n", content)
    if match is None:
        raise ValueError("no PPM of 8 bits a channel")
    width, height = int(match[1]), int(match[2])
    pixels = content[match.end() :]
    if len(pixels) != 3 * width * height:
        raise ValueError(f"{len(pixels)} bytes are no {width} by {height} pixels")
    return Image(width, height, pixels)


def difference(screen: Image, wanted: Image) -> str | None:
    """What differs first, or None."""
    if screen == wanted:
        return None
    pairs = zip(screen.pixels, wanted.pixels, strict=True)
    place = next(at for at, (one, other) in enumerate(pairs) if one != other) // 3
    seen, right = (bytes(i.pixels[3 * place : 3 * place + 3]).hex() for i in (screen, wanted))
    y, x = divmod(place, screen.width)
    return f"pixel ({x}, {y}) is #{seen}, not #{right}"


@dataclass(frozen=True)
class Wanted:
    """The guest names this screen, and it shows the image in its middle. None: anything else."""

    name: str
    image: Image
    shown: bool = True


@dataclass
class Screen:
    wanted: Sequence[Wanted]
    _folder: Path | None = None
    _found: dict[str, str | None] = field(default_factory=dict[str, "str | None"])

    def devices(self) -> list[str]:
        """QEMU's arguments, while the screen is watched."""
        assert self._folder is not None
        return [
            *("-vga", "std", "-bios", str(FIRMWARE), "-monitor", "none", "-serial", "stdio"),
            *("-serial", f"unix:{self._folder}/answers,server=on,wait=off"),
            *("-qmp", f"unix:{self._folder}/qmp,server=on,wait=off"),
        ]

    @contextmanager
    def watched(self) -> Iterator[Callable[[str], None]]:
        """Gives the function that takes the guest's lines."""
        with tempfile.TemporaryDirectory(prefix="k2k-screen-") as folder:
            self._folder = Path(folder)
            yield self._on_line
        self._folder = None

    def problems(self) -> list[str]:
        found: list[str] = []
        for one in self.wanted:
            if one.name not in self._found:
                found.append(f"screen {one.name}: the guest did not show it")
            elif (problem := self._found[one.name]) is not None:
                found.append(f"screen {one.name}: {problem}")
        return found

    def _on_line(self, line: str) -> None:
        match = re.match(r"@screen (\S+)$", line)
        wanted = next((w for w in self.wanted if match and w.name == match[1]), None)
        if wanted is None:
            return
        assert self._folder is not None
        try:
            self._found[wanted.name] = judge(wanted, self._dump(self._folder / "screen.ppm"))
        except (OSError, ValueError) as error:
            self._found[wanted.name] = f"it could not be read: {error}"
        self._answer(b"done\n")

    def _dump(self, file: Path) -> Image:
        with self._connected("qmp") as qmp, qmp.makefile("rw") as lines:
            lines.readline()  # The greeting.
            for command in (
                {"execute": "qmp_capabilities"},
                {"execute": "screendump", "arguments": {"filename": str(file)}},
            ):
                lines.write(json.dumps(command) + "\n")
                lines.flush()
                answer: dict[str, object] = {}
                while "return" not in answer:  # Events come between.
                    line = lines.readline()
                    answer = json.loads(line) if line else {"error": "QEMU ended"}
                    if "error" in answer:
                        raise ValueError(f"{command['execute']}: {answer['error']}")
        return read_ppm(file.read_bytes())

    def _answer(self, text: bytes) -> None:
        with self._connected("answers") as line:
            line.sendall(text)

    def _connected(self, name: str) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(ANSWER_LIMIT_S)
        connection.connect(f"{self._folder}/{name}")
        return connection


def judge(wanted: Wanted, screen: Image) -> str | None:
    """The problem with a screen, or None."""
    right = wanted.image.centred_on(screen.width, screen.height)
    if not wanted.shown:
        return "the picture is still there" if screen == right else None
    return difference(screen, right)
