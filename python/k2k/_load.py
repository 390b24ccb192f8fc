"""load_safetensors(): the tensors of a file, read in parallel parts into memory of their own."""

import contextlib
import difflib
import mmap
import os
import queue
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from k2k._cuda import DeviceMemory
from k2k._device_tensor import DeviceTensor
from k2k._files import opened, read_fully
from k2k._header import Entry, Header, SafetensorsError, read_header
from k2k._memory import Memory, memory_of
from k2k._tensor import Tensor

ALIGNMENT = 4096  # Memory and file offset leave the same rest, so that pages may come directly.
PART_BYTES = 8 << 20
GAP_BYTES_MAX = 64 << 10  # A shorter stretch between wanted tensors is read along.
THREADS_DEFAULT = 4
THREADS_MAX = 64
PROGRESS_SECONDS = 0.1
LOOK_SECONDS = 0.0005  # Whether the threads have ended, which takes them a part at most.
GONE_SECONDS_MAX = 1.0  # The interpreter's time after a thread's last step.

Progress = Callable[[int, int], object]  # Bytes done, bytes in all.


Kind = TypeVar("Kind", bound=Tensor | DeviceTensor, covariant=True)


class Tensors(Mapping[str, Kind]):
    """The tensors of a file by their names, in the requested order, else in the header's.

    metadata: the file's __metadata__.
    """

    def __init__(self, tensors: dict[str, Kind], metadata: dict[str, str]) -> None:
        self._tensors = tensors
        self.metadata = metadata

    def __getitem__(self, name: str) -> Kind:
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"Tensors({list(self._tensors.values())!r})"


@overload
def load_safetensors(
    path: str | os.PathLike[str],
    *,
    names: Iterable[str] | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    device: Literal["cpu"] = "cpu",
) -> Tensors[Tensor]: ...
@overload
def load_safetensors(
    path: str | os.PathLike[str],
    *,
    names: Iterable[str] | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    device: Literal["cuda"],
) -> Tensors[DeviceTensor]: ...
def load_safetensors(
    path: str | os.PathLike[str],
    *,
    names: Iterable[str] | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
) -> Tensors[Tensor] | Tensors[DeviceTensor]:
    """Reads a safetensors file, or the tensors `names` of it, into memory.

    path: of the file. Closing it drops this process's POSIX locks on it, as any close does.
    names: the tensors to read; None: all. Others are not read, except for stretches of at most 64
        KiB between wanted tensors.
    threads: number of reading threads, 1 to 64; None: 4. A part is 8 MiB. All threads have ended
        when the function returns or raises.
    progress: called from this thread as progress(bytes_done, bytes_total), first with 0, last with
        the total; an exception of it ends the load. True writes a line to stderr.
    device: "cpu": Tensor in host memory; "cuda": DeviceTensor in memory of the first CUDA device.

    Neighbours in the file share one allocation, which lives as long as any view of one of them. The
    memory is writable and private: the file is never changed.

    SafetensorsError: the file violates the format, or was truncated meanwhile; the message names
        the tensor and the mistake. Every field of the file is checked before use.
    KeyError: a name that is not in the file; the message gives the nearest one.
    ValueError: `threads` out of range, or another device. TypeError: `names` is one text.
    OSError: opening or reading failed, or memory is exhausted (ENOMEM); ENODEV: no CUDA device.
    LibraryError: libk2k.so was not found.
    """
    count = THREADS_DEFAULT if threads is None else threads
    if not 1 <= count <= THREADS_MAX:
        raise ValueError(f"threads is {threads}; permitted are 1 to {THREADS_MAX}")
    if device not in AREAS:
        raise ValueError(f"device is {device!r}; permitted are {', '.join(map(repr, AREAS))}")
    if isinstance(names, str):
        raise TypeError(f"names is the text {names!r}; pass a list of names")
    shown = os.fspath(path)
    with opened(path) as (descriptor, _):
        header = _header_of(shown, descriptor)
        wanted = _wanted(shown, header, names)
        chosen = set(wanted)
        runs = runs_of([entry for entry in header.entries if entry.name in chosen])
        areas = [AREAS[device](run.begin, run.end - run.begin) for run in runs]
        with contextlib.ExitStack() as registered, _reporter(shown, progress) as report:
            for area in areas:
                registered.enter_context(area.memory.registered())
            _read(shown, descriptor, runs, areas, count, report)
    tensors: dict[str, Any] = {}
    for run, area in zip(runs, areas, strict=True):
        for entry in run.entries:
            tensors[entry.name] = area.tensor(shown, entry)
    return Tensors({name: tensors[name] for name in wanted}, header.metadata)


class Area(Protocol):
    """Memory for the bytes of a run."""

    memory: Memory

    def tensor(self, path: str, entry: Entry) -> Tensor | DeviceTensor: ...


class HostArea:
    """The same of the host, for the file's bytes from `begin` on."""

    def __init__(self, begin: int, count: int) -> None:
        self._begin = begin
        self._bytes = allocate(begin, count)
        self.memory = Memory(int(self._bytes.ctypes.data), count, self._bytes)

    def tensor(self, path: str, entry: Entry) -> Tensor:
        """SafetensorsError: a boolean that is neither 0 nor 1."""
        content = self._bytes[entry.begin - self._begin : entry.end - self._begin]
        if entry.dtype == "BOOL":
            _check_booleans(path, entry, content)
        return Tensor(entry.name, entry.dtype, entry.shape, content)


class CudaArea:
    """The same of a CUDA device. OSError: ENODEV, ENOMEM, EIO."""

    def __init__(self, begin: int, count: int) -> None:
        self._begin = begin
        self._lead = begin % ALIGNMENT
        self._memory = DeviceMemory(self._lead + count) if count else None
        address = self._memory.address + self._lead if self._memory else 0
        self.memory = Memory(address, count, self._memory, "tensors")

    def tensor(self, path: str, entry: Entry) -> DeviceTensor:
        """SafetensorsError: a boolean that is neither 0 nor 1."""
        at, count = entry.begin - self._begin, entry.end - entry.begin
        if entry.dtype == "BOOL" and self._memory is not None:
            content = self._memory.copy_out(self._lead + at, count)
            _check_booleans(path, entry, np.frombuffer(content, np.uint8))
        address = self.memory.address + at
        return DeviceTensor(entry.name, entry.dtype, entry.shape, count, address, self._memory)


AREAS: dict[str, Callable[[int, int], Area]] = {"cpu": HostArea, "cuda": CudaArea}


def _check_booleans(path: str, entry: Entry, content: NDArray[np.uint8]) -> None:
    if content.size > 0 and content.max() > 1:
        raise SafetensorsError(
            f"{path}: tensor {entry.name!r} of BOOL has bytes other than 0 and 1"
        )


@dataclass
class Run:
    """Tensors that are read together: the bytes [begin, end) of the file. Grows in runs_of()."""

    begin: int
    end: int
    entries: list[Entry]


@dataclass(frozen=True)
class Part:
    """The range that a thread reads by one request."""

    run: int
    begin: int
    end: int


def runs_of(entries: list[Entry]) -> list[Run]:
    """Groups tensors, sorted by place, so that no gap between neighbours exceeds GAP_BYTES_MAX."""
    runs: list[Run] = []
    for entry in entries:
        if runs and entry.begin - runs[-1].end <= GAP_BYTES_MAX:
            runs[-1].entries.append(entry)
            runs[-1].end = entry.end
        else:
            runs.append(Run(entry.begin, entry.end, [entry]))
    return runs


def parts_of(runs: list[Run]) -> Iterator[Part]:
    """Cuts the runs where the file's offset is a multiple of PART_BYTES: no page is read twice."""
    for index, run in enumerate(runs):
        at = run.begin
        while at < run.end:
            end = min(run.end, (at // PART_BYTES + 1) * PART_BYTES)
            yield Part(index, at, end)
            at = end


def allocate(offset: int, count: int) -> NDArray[np.uint8]:
    """Zeroed memory with an address that equals `offset` modulo ALIGNMENT.

    OSError: ENOMEM.
    """
    lead = offset % ALIGNMENT
    if count == 0:
        return np.empty(0, dtype=np.uint8)
    area = mmap.mmap(-1, lead + count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError, AttributeError):  # A hint: fewer faults while it is filled.
        area.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(area, dtype=np.uint8)[lead:]


def _header_of(path: str, descriptor: int) -> Header:
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        raise SafetensorsError(f"{path} is no regular file")

    def read(offset: int, count: int) -> bytes:
        buffer = bytearray(count)
        return bytes(buffer[: read_fully(descriptor, memory_of(buffer), offset, path)])

    return read_header(path, facts.st_size, read)


def _wanted(path: str, header: Header, names: Iterable[str] | None) -> list[str]:
    if names is None:
        return header.order
    there = set(header.order)
    wanted = list(names)
    for name in wanted:
        if name not in there:
            near = difflib.get_close_matches(str(name), header.order, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise KeyError(f"{path} has no tensor {name!r}{hint}")
    return wanted


def _read(
    path: str,
    descriptor: int,
    runs: list[Run],
    areas: list[Area],
    count: int,
    report: Progress,
) -> None:
    total = sum(run.end - run.begin for run in runs)
    parts = list(parts_of(runs))

    def read_part(part: Part) -> int:
        whole = areas[part.run].memory
        address = whole.address + part.begin - runs[part.run].begin
        memory = Memory(address, part.end - part.begin, whole.holder)
        done = read_fully(descriptor, memory, part.begin, path)
        if done < memory.nbytes:
            raise _truncated(path, runs[part.run], part.begin + done)
        return done

    report(0, total)
    done = 0

    def report_more(part_bytes: int) -> None:
        nonlocal done
        done += part_bytes
        report(done, total)

    in_threads(parts, read_part, min(count, len(parts)), report_more)


def _truncated(path: str, run: Run, at: int) -> SafetensorsError:
    inside = next((entry.name for entry in run.entries if entry.end > at), run.entries[-1].name)
    return SafetensorsError(
        f"{path}: tensor {inside!r}: the file ended at byte {at} while it was read"
    )


def in_threads(
    parts: list[Part], work: Callable[[Part], int], count: int, report: Callable[[int], None]
) -> None:
    """Does `work` on every part by `count` threads; reports results here as they are ready.

    The first exception ends all: of a thread, of `report`, of a signal's handler. However it ends,
    no thread is left.
    """
    results: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()
    waiting = iter(parts)
    taking = threading.Lock()
    # Lists, because append() and len() are one step each: a signal's handler may raise between any
    # two steps here, and Thread.join() that it interrupts calls a running thread stopped.
    stop: list[bool] = []
    begun: list[bool] = []
    ended: list[bool] = []

    def run() -> None:
        begun.append(True)
        try:
            while not stop:
                with taking:
                    part = next(waiting, None)
                if part is None:
                    return
                results.put(work(part))
        except BaseException as error:
            results.put(error)
        finally:
            ended.append(True)

    threads = [threading.Thread(target=run, name=f"k2k-load-{number}") for number in range(count)]
    interrupted: BaseException | None = None
    try:
        for thread in threads:
            thread.start()
        for _ in parts:
            result = results.get()
            if isinstance(result, BaseException):
                raise result
            report(result)
    finally:
        while True:
            try:
                stop.append(True)
                _await_end(threads, begun, ended)
                break
            except BaseException as error:  # A handler's: Ctrl-C again.
                interrupted = error
        if interrupted is not None:
            raise interrupted


def _await_end(threads: list[threading.Thread], begun: list[bool], ended: list[bool]) -> None:
    """They write to memory and read a descriptor of our caller's. Expects that they shall stop."""
    while len(ended) < len(begun):
        time.sleep(LOOK_SECONDS)
    # A thread that has not begun, or has ended, accesses no memory. An interrupted start() may have
    # made a thread or not.
    last = time.monotonic() + GONE_SECONDS_MAX
    while time.monotonic() < last and set(threads) & set(threading.enumerate()):
        time.sleep(LOOK_SECONDS)


@contextlib.contextmanager
def _reporter(path: str, progress: Progress | bool | None) -> Iterator[Progress]:
    if callable(progress):
        yield progress
    elif progress:
        line = _Line(path)
        try:
            yield line
        finally:
            line.end()
    else:
        yield lambda _done, _total: None


class _Line:
    """A progress line on stderr, rewritten at most every PROGRESS_SECONDS."""

    def __init__(self, path: str) -> None:
        self._name = os.path.basename(path)  # noqa: PTH119 - it is text, not a path.
        self._next = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next and done < total:
            return
        self._next = now + PROGRESS_SECONDS
        percent = 100 * done // total if total else 100
        mib = 1 << 20
        sys.stderr.write(f"\r{self._name}: {done // mib} of {total // mib} MiB, {percent} %")
        sys.stderr.flush()

    def end(self) -> None:
        sys.stderr.write("\n")
        sys.stderr.flush()
