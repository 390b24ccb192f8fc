"""apt is a script of the test's; packages are real ones, made by dpkg-deb."""

import lzma
import subprocess
from pathlib import Path

import pytest

from devtool import debian_kernel
from devtool.console import Refused
from devtool.debian_kernel import DebianKernel, mirror_of, need_kernel

APT_CACHE = """#!/bin/sh
for package; do :; done
case $package in
linux-image-tiny) echo "Depends: linux-image-9.1-tiny (= 9.1)" ;;
linux-image-9.1-tiny) echo "Depends: kmod, linux-binary-9.1-tiny, linux-modules-9.1-tiny" ;;
*) echo "Depends: kmod" ;;
esac
"""
APT_GET = """#!/bin/sh
case "$*" in
*indextargets*) echo https://mirror.example/debian/ && exit 0 ;;
*download*) ;;
*) exit 0 ;;
esac
for package; do
  if [ -e "$PACKAGES/$package.deb" ]; then cp "$PACKAGES/$package.deb" .; fi
done
"""


def make_package(folder: Path, name: str, files: dict[str, bytes]) -> None:
    root = folder / name
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody <n@example.org>\n"
        "Description: of a test\n"
    )
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    subprocess.run(
        ["dpkg-deb", "-b", root, folder / f"{name}.deb"], check=True, capture_output=True
    )


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose packages apt-get downloads."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("apt-get", APT_GET), ("apt-cache", APT_CACHE)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/bin:/usr/bin")
    monkeypatch.setenv("PACKAGES", str(tmp_path))
    monkeypatch.setattr(debian_kernel, "WORK", tmp_path / "work")
    return tmp_path


def test_the_kernel_and_its_modules_are_found_below_the_meta_package(packages: Path) -> None:
    make_package(packages, "linux-binary-9.1-tiny", {"lib/modules/9.1/vmlinuz": b"kernel"})
    module = {"lib/modules/9.1/kernel/a.ko.xz": lzma.compress(b"module")}
    make_package(packages, "linux-modules-9.1-tiny", module)
    kernel = DebianKernel("suite", "linux-image-tiny", ("a.ko",))
    need_kernel(kernel)
    assert kernel.image.read_bytes() == b"kernel"
    assert kernel.module_files()[0].read_bytes() == b"module"
    (packages / "linux-binary-9.1-tiny.deb").unlink()
    need_kernel(kernel)  # The kernel is there: nothing is downloaded.


def test_a_module_that_no_package_has_is_named(packages: Path) -> None:
    make_package(packages, "linux-binary-9.1-tiny", {"boot/vmlinuz-9.1-tiny": b"kernel"})
    make_package(packages, "linux-modules-9.1-tiny", {"lib/modules/9.1/b.ko": b"module"})
    kernel = DebianKernel("suite", "linux-image-tiny", ("a.ko",))
    with pytest.raises(Refused, match=r"linux-binary-9\.1-tiny has no a\.ko"):
        need_kernel(kernel)
    assert not kernel.image.exists()


def test_a_download_that_fails_names_the_remedy(packages: Path) -> None:
    (packages / "bin/apt-get").write_text(
        "#!/bin/sh\n"
        'case "$*" in *indextargets*) echo https://mirror.example/debian/ && exit ;; esac\n'
        "echo no route; exit 100\n"
    )
    with pytest.raises(Refused, match=r"check the network and run the command again:\nno route"):
        need_kernel(DebianKernel("suite", "linux-image-tiny"))


def test_a_host_whose_apt_knows_no_mirror_is_told_so(packages: Path) -> None:
    (packages / "bin/apt-get").write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(Refused, match="apt names no mirror of Debian; add one to its sources"):
        need_kernel(DebianKernel("suite", "linux-image-tiny"))


def test_without_apt_nothing_can_bring_it(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(packages))
    with pytest.raises(Refused, match="only apt-get can bring it"):
        need_kernel(DebianKernel("suite", "linux-image-tiny"))


def test_the_mirror_is_the_hosts_own() -> None:
    listed = "https://mirror.example/debian-security/\nhttps://mirror.example/debian/\n"
    assert mirror_of(listed) == "https://mirror.example/debian"
    assert mirror_of("E: apt knows no such thing") is None
