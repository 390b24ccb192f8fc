"""Brings a kernel of Debian's into build/guest, for virtual machines. The host keeps its own.

apt runs with lists, cache and sources of our own: the host's configuration stays unchanged, and
gives only the mirror.
"""

import lzma
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from devtool.console import Refused, Status
from devtool.environment import EXIT_MISSING
from devtool.process import capture, run
from devtool.tree import BUILD

WORK = BUILD / "guest"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
DEPENDENCIES_MAX = 4  # From the meta-package to the package with the kernel.
# Since 6.19 the kernel itself is in a package of its own.
DEPENDENCY = re.compile(r"\b(linux-(?:image|binary)-\d[\w.+-]*)")


@dataclass(frozen=True)
class DebianKernel:
    """The newest kernel of a suite, by the meta-package that depends on it."""

    suite: str
    package: str
    modules: tuple[str, ...] = ()  # File names of the modules that the guest loads, in that order.

    @property
    def folder(self) -> Path:
        return WORK / f"{self.suite}-{self.package}"

    @property
    def image(self) -> Path:
        return self.folder / "vmlinuz"

    def module_files(self) -> list[Path]:
        return [self.folder / name for name in self.modules]


def need_kernel(kernel: DebianKernel) -> None:
    """Downloads the kernel if it is missing. For the suite's next kernel: rm build/guest."""
    if all(path.exists() for path in (kernel.image, *kernel.module_files())):
        return
    if not shutil.which("apt-get"):
        raise Refused("a kernel of Debian's is needed, and only apt-get can bring it", EXIT_MISSING)
    with Status(f"{kernel.package} of {kernel.suite}") as status:
        try:
            _bring(kernel, status)
        except subprocess.CalledProcessError as error:
            raise Refused(
                f"{kernel.package} of {kernel.suite} could not be downloaded; check the network "
                f"and run the command again:\n{str(error.stdout).strip()}",
                EXIT_MISSING,
            ) from error


def _bring(kernel: DebianKernel, status: Status) -> None:
    apt = _apt_options(kernel.suite)
    status.update("apt-get update")
    capture(["apt-get", "update", "-q", *apt])
    name = kernel.package
    for _ in range(DEPENDENCIES_MAX):
        record = capture(["apt-cache", *apt, "show", "--no-all-versions", name])
        depends = re.search(r"^Depends: (.*)$", record, re.MULTILINE)
        names = [n for n in DEPENDENCY.findall(depends[1] if depends else "") if n != name]
        if not names:
            break
        name = names[0]
    status.update(name)
    shutil.rmtree(kernel.folder, ignore_errors=True)
    download = kernel.folder / "download"
    download.mkdir(parents=True)
    wanted = [name]
    if kernel.modules and name.startswith("linux-binary-"):
        wanted.append(name.replace("binary", "modules", 1))
    capture(["apt-get", *apt, "download", *wanted], cwd=download)
    _unpack(name, download, kernel)
    shutil.rmtree(download)


def _unpack(name: str, download: Path, kernel: DebianKernel) -> None:
    """Extracts the kernel and the needed modules from 400 MB."""
    listed: dict[str, Path] = {}
    for package in download.glob("*.deb"):
        content = package.with_suffix(".tar")
        with content.open("wb") as tar:
            subprocess.run(["dpkg-deb", "--fsys-tarfile", package], stdout=tar, check=True)
        listed |= dict.fromkeys(capture(["tar", "--list", "--file", content]).splitlines(), content)
    for file in (*kernel.module_files(), kernel.image):  # The kernel last: it marks the end.
        wanted = re.compile(rf"/{re.escape(file.name)}(-\d[^/]*|\.xz)?$")
        found = next((path for path in listed if wanted.search(path)), None)
        if found is None:
            raise Refused(f"{name} has no {file.name}", EXIT_MISSING)
        capture(["tar", "--extract", "--file", listed[found], "--directory", download, found])
        unpacked = (download / found).read_bytes()
        file.write_bytes(lzma.decompress(unpacked) if found.endswith(".xz") else unpacked)


def _apt_options(suite: str) -> list[str]:
    folder = WORK / "apt" / suite
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    signed = f"[signed-by={KEYS}] " if KEYS.exists() else ""
    sources = folder / "sources.list"
    sources.write_text(f"deb {signed}{_mirror()} {suite} main\n")
    settings = (
        f"Dir::Etc::SourceList={sources}",
        "Dir::Etc::SourceParts=/dev/null",
        f"Dir::State::Lists={folder / 'lists'}",
        f"Dir::Cache={folder / 'cache'}",
        "APT::Sandbox::User=root",  # No other user can write here.
    )
    return [part for setting in settings for part in ("-o", setting)]


def _mirror() -> str:
    """The mirror from which the host gets Debian."""
    listed = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Identifier: Packages"]
    # The origin of a repository is unknown before the first `apt-get update`.
    found = mirror_of(run([*listed, "Origin: Debian"]).stdout) or mirror_of(
        "\n".join(line for line in run(listed).stdout.splitlines() if "debian" in line)
    )
    if found is None:
        raise Refused("apt names no mirror of Debian; add one to its sources", EXIT_MISSING)
    return found


def mirror_of(indexes: str) -> str | None:
    """The first listed repository that has all suites: Debian's security archive has not."""
    for line in indexes.splitlines():
        if line.startswith(("http", "file:", "mirror")) and "security" not in line:
            return line.rstrip("/")
    return None
