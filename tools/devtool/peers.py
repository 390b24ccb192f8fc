"""Builds programs that K2K is compared with, from source packages, when a benchmark needs them.

LLVM libc's GPU RPC: its headers are in Debian's source package of LLVM 19. They are fetched by apt
into build/peers and compiled with bench/peers/llvm_rpc; nothing of them enters the repository.
"""

import tarfile
from pathlib import Path

from devtool.console import Refused, Status
from devtool.process import run, run_logged
from devtool.tree import BUILD, ROOT

PEERS = BUILD / "peers"
SOURCE_PACKAGE = "llvm-toolchain-19"
# The headers that the RPC's headers include, all below the package's folder.
HEADERS = ("libc/hdr/", "libc/include/", "libc/src/__support/", "libc/src/string/memory_utils/")
SOURCES = ROOT / "bench/peers/llvm_rpc"


def llvm_rpc() -> Path:
    """The program that measures LLVM's RPC. Fetches its source (165 MB, once) and builds it."""
    program = PEERS / "llvm_rpc_peer"
    headers = PEERS / "llvm"
    inputs = [path for path in SOURCES.rglob("*") if path.is_file()]
    newest = max(path.stat().st_mtime for path in inputs)
    if program.exists() and program.stat().st_mtime >= newest:
        return program
    if not (headers / "complete").exists():
        _unpack(_fetch(), headers)
    command: list[str | Path] = [
        *("g++", "-std=c++20", "-O2", "-w", "-fpermissive", "-DLIBC_NAMESPACE=llvm_libc_peer"),
        *("-isystem", SOURCES / "seam", "-isystem", headers / "libc"),
        *("-o", program, SOURCES / "peer.cpp", "-lpthread"),
    ]
    with Status("build of the peer llvm_rpc"):
        done = run(command)
    if done.returncode != 0:
        raise Refused(f"the peer llvm_rpc could not be compiled:\n{done.stdout.strip()}")
    return program


def _fetch() -> Path:
    """The package's tarball, by apt and through the user's own mirror. Needs no root."""
    state = PEERS / "apt"
    for folder in ("lists/partial", "sources"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    _list_sources(state / "sources")
    apt = [
        "apt-get",
        "-qq",
        "-o=Dir::Etc::SourceList=/dev/null",
        f"-o=Dir::Etc::SourceParts={state / 'sources'}",
        f"-o=Dir::State::Lists={state / 'lists'}",
        f"-o=Dir::Cache={state}",
        "-o=APT::Sandbox::User=",
    ]
    log = PEERS / "fetch.log"
    log.unlink(missing_ok=True)
    with Status(f"source package {SOURCE_PACKAGE}") as status:
        for step in (["update"], ["source", "--download-only", SOURCE_PACKAGE]):
            if run_logged([*apt, *step], log, status.update, append=True, cwd=PEERS) != 0:
                tail = "\n".join(log.read_text().splitlines()[-5:])
                raise Refused(
                    f"apt-get could not fetch the source package {SOURCE_PACKAGE}:\n{tail}\n"
                    "It is part of Debian 12; without it only the peer's benchmark is missing."
                )
    found = sorted(PEERS.glob(f"{SOURCE_PACKAGE}_*.orig.tar.xz"))
    if not found:
        raise Refused(f"the source package {SOURCE_PACKAGE} holds no tarball; see {log}")
    return found[-1]


def _list_sources(folder: Path) -> None:
    """The machine's own Debian mirrors, asked for sources instead of binaries."""
    lists = sorted(Path("/etc/apt/sources.list.d").glob("debian*.sources"))
    for path in lists:
        text = path.read_text()
        lines = ["Types: deb-src" if at.startswith("Types:") else at for at in text.splitlines()]
        (folder / path.name).write_text("\n".join(lines) + "\n")
    old = Path("/etc/apt/sources.list")
    if old.exists():
        entries = [line for line in old.read_text().splitlines() if line.startswith("deb ")]
        (folder / "main.list").write_text(
            "".join(f"deb-src {line.removeprefix('deb ')}\n" for line in entries)
        )


def _unpack(tarball: Path, target: Path) -> None:
    """Only the headers: the tarball holds 160,000 files."""
    with Status(f"unpacking {tarball.name}"), tarfile.open(tarball, "r:xz") as archive:
        for member in archive:
            inner = member.name.partition("/")[2]
            if not inner.startswith(HEADERS) or ".." in Path(inner).parts:
                continue
            if (content := archive.extractfile(member)) is None:  # A folder.
                continue
            path = target / inner
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read())
    (target / "complete").touch()
