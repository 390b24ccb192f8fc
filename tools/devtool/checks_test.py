"""Each step checks the files that it should."""

from devtool.checks import device_headers
from devtool.tree import shown


def test_device_headers_are_headers_of_modules_below_the_device_and_no_fixture() -> None:
    options = {shown(path): flags for path, flags in device_headers()}
    assert "-ffreestanding" in options["src/protocol/slot.hpp"]
    assert options["src/device/k2k.hpp"] == []
    assert not [path for path in options if path.endswith("_fixture.hpp")]
    assert not [path for path in options if path.startswith("src/server/")]
