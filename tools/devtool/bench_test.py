"""Every laboratory can be recorded, and the groups name benchmarks."""

import re

from devtool import bench, report_labs
from devtool.tree import ROOT


def test_every_laboratory_can_be_recorded() -> None:
    table = (ROOT / "labs/command.cpp").read_text().partition("labs[] = {")[2].partition("};")[0]
    laboratories = re.findall(r'^    \{"(\w+)", ', table, re.MULTILINE)
    assert "governor" in laboratories
    recorded = {words[1] for words in bench.LABS.values() if words[0] == "lab"}
    assert set(laboratories) == recorded


def test_a_group_has_benchmarks_and_one_records_every_laboratory_of_the_page() -> None:
    assert all(name in bench.LABS for names in bench.GROUPS.values() for name in names)
    shown = [one.bench for one in report_labs.LABORATORIES]
    shown.remove("translation_simulated")  # The same on every machine: recorded alone.
    assert bench.GROUPS["governor_labs"] == shown
