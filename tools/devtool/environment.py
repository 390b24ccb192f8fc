"""Installs missing tools: Debian packages if permitted, Python tools in .venv."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from devtool.console import Refused, Status
from devtool.process import run, run_logged
from devtool.tree import BUILD, ROOT, VENV

# Another installation on the machine has dpkg's lock: wait for it, seconds.
LOCK = ("-o", "DPkg::Lock::Timeout=600")
LISTS_AGE_S_MAX = 24 * 3600
EXIT_MISSING = 3


@dataclass(frozen=True)
class Package:
    """A Debian package; a `command` from any other source is enough, too."""

    name: str
    command: str = ""


BUILD_PACKAGES = (
    Package("g++", "g++"),
    Package("cmake", "cmake"),
    Package("ninja-build", "ninja"),
    Package("ccache", "ccache"),
    Package("libbenchmark-dev"),
    Package("libcli11-dev"),
    Package("libfmt-dev"),
    Package("libfuse3-dev"),
    Package("libgtest-dev"),
    Package("libsqlite3-dev"),  # Of an example: a build without it leaves the example out.
    Package("libssl-dev"),  # Of an application: a build without it leaves the application out.
    Package("libtomlplusplus-dev"),
    Package("liburing-dev"),
    Package("nlohmann-json3-dev"),
)
# Of the BPF programs of k2k watch. A build of single targets, such as the demo, does without:
# clang is large, and k2k watch then uses counters alone.
BPF_PACKAGES = (Package("clang-19", "clang-19"), Package("libbpf-dev"))
# Of the victims of `k2k lab interference`, where the laboratory is recorded as a whole. Its quick
# form and the tests do without: a victim that is missing is not measured.
VICTIM_PACKAGES = (
    Package("openssl", "openssl"),
    Package("p7zip-full", "7z"),
    Package("povray", "povray"),
    Package("povray-examples"),
    Package("python3-numpy"),
    Package("quantlib-examples"),
    Package("redis-server", "redis-server"),
    Package("redis-tools", "redis-benchmark"),
    Package("sqlite3", "sqlite3"),
    Package("x264", "x264"),
    Package("xz-utils", "xz"),
    Package("zstd", "zstd"),
)
FORMAT_PACKAGES = (Package("clang-format-19", "clang-format-19"),)
# Opens the laboratories' pages. Of a check that runs only by name: 64 MB, and 30 libraries.
BROWSER_PACKAGES = (
    Package("chromium-headless-shell", "chromium-headless-shell"),
    Package("fonts-dejavu-core"),
)
DOCS_PACKAGES = (Package("doxygen", "doxygen"),)
CHECK_PACKAGES = (
    *BUILD_PACKAGES,
    *BPF_PACKAGES,
    *FORMAT_PACKAGES,
    *DOCS_PACKAGES,
    Package("binutils-aarch64-linux-gnu", "aarch64-linux-gnu-ld"),
    Package("clang-tidy-19", "clang-tidy-19"),
    Package("fio", "fio"),
    Package("fish", "fish"),
    Package("make", "make"),
    Package("memcached", "memcached"),
    Package("pkg-config", "pkg-config"),
    Package("qemu-user", "qemu-aarch64"),
    Package("spin", "spin"),
    Package("zsh", "zsh"),
)


def need_packages(packages: tuple[Package, ...]) -> None:
    """Installs the missing packages, or prints the one command that does."""
    missing = _missing(packages)
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise Refused(
            "these are missing, by their Debian 12 names; install them with your system's package "
            f"manager: {' '.join(missing)}",
            EXIT_MISSING,
        )
    if os.geteuid() != 0:
        raise Refused(
            f"{len(missing)} packages are missing and only root may install them. Run:\n"
            f"  sudo apt-get update && sudo apt-get install -y {' '.join(missing)}",
            EXIT_MISSING,
        )
    _install(missing)


def need_python_tools() -> Path:
    """Brings .venv to the state of requirements-dev.txt. Returns its bin folder."""
    need_requirements("requirements-dev.txt", VENV, begin=lambda: make_venv(VENV))
    need_paths(VENV, ROOT / "psylang")
    return VENV / "bin"


def need_plot_tools() -> Path:
    """The same with the packages for plots, which building and testing do not need."""
    bin_folder = need_python_tools()
    need_requirements("requirements-plot.txt", VENV, stamp="requirements-plot.sha256")
    return bin_folder


def need_docs_tools() -> Path:
    """The same with the packages that build the site."""
    bin_folder = need_python_tools()
    need_requirements("requirements-docs.txt", VENV, stamp="requirements-docs.sha256")
    return bin_folder


def need_paths(venv_folder: Path, *paths: Path) -> None:
    """The Python of the virtual environment finds its packages from any folder."""
    text = "".join(f"{path}\n" for path in paths)
    for packages in venv_folder.glob("lib/python*/site-packages"):
        file = packages / "repository.pth"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def make_venv(folder: Path) -> None:
    venv.create(folder, clear=True, with_pip=True)


def need_requirements(
    name: str,
    folder: Path,
    stamp: str = "requirements.sha256",
    title: str = "Python tools of {name} into {folder}",
    begin: Callable[[], None] = lambda: None,
    end: Callable[[], None] = lambda: None,
    options: Sequence[str] = (),
) -> None:
    """Installs the packages of the file `name` into a virtual environment, if they are missing.

    `begin` comes before, `end` after, both only if something is installed. options: of pip.
    """
    requirements = ROOT / name
    wanted = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
    stamp_file = folder / stamp
    if stamp_file.exists() and stamp_file.read_text() == wanted:
        return
    if importlib.util.find_spec("ensurepip") is None:
        need_packages((Package("python3-venv"),))
    with Status(title.format(name=name, folder=folder.name)):
        begin()
        done = run(
            [folder / "bin/python", "-m", "pip", "install", "-q", *options, "-r", requirements]
        )
        if done.returncode != 0:
            raise Refused(
                f"pip could not install {name}:\n{done.stdout.strip()}\n"
                "Check the network (or PIP_INDEX_URL, PIP_FIND_LINKS) and run the command again.",
                EXIT_MISSING,
            )
        end()
    stamp_file.write_text(wanted)


def _missing(packages: tuple[Package, ...]) -> list[str]:
    unsure = [p.name for p in packages if not (p.command and shutil.which(p.command))]
    if not unsure:
        return []
    if not shutil.which("dpkg-query"):
        # Another distribution: only commands can be looked for. CMake will name a missing library.
        return [p.name for p in packages if p.command and p.name in unsure]
    listing = run(
        ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *unsure]
    )
    installed = {
        line.split()[0] for line in listing.stdout.splitlines() if line.endswith(" installed")
    }
    return [name for name in unsure if name not in installed]


def _install(names: list[str]) -> None:
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    log = BUILD / "apt.log"
    install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *LOCK, *names]
    with Status(f"apt: {' '.join(names)}") as status:
        log.unlink(missing_ok=True)
        if _lists_are_stale():
            run_logged(["apt-get", "update", "-q"], log, status.update, env, append=True)
        code = run_logged(install, log, status.update, env, append=True)
        if code != 0:
            run_logged(["apt-get", "update", "-q"], log, status.update, env, append=True)
            code = run_logged(install, log, status.update, env, append=True)
    if code != 0:
        tail = "\n".join(log.read_text().splitlines()[-15:])
        raise Refused(f"apt-get could not install them (build/apt.log):\n{tail}", EXIT_MISSING)


def _lists_are_stale() -> bool:
    lists = list(Path("/var/lib/apt/lists").glob("*_Packages*"))
    newest = max((path.stat().st_mtime for path in lists), default=0.0)
    return time.time() - newest > LISTS_AGE_S_MAX


def exec_in_venv(arguments: list[str]) -> None:
    """Becomes the Python of .venv."""
    python = need_python_tools() / "python"
    os.execv(python, [str(python), *arguments])


def which_version(command: str) -> str:
    try:
        return run([command, "--version"]).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
