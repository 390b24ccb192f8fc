"""Every laboratory can be recorded, and the groups name benchmarks."""

import re

import pytest

from devtool import bench, report_labs
from devtool.console import Refused
from devtool.tree import ROOT


def test_every_laboratory_can_be_recorded() -> None:
    table = (ROOT / "labs/command.cpp").read_text().partition("labs[] = {")[2].partition("};")[0]
    laboratories = re.findall(r'^    \{"(\w+)", ', table, re.MULTILINE)
    assert "governor" in laboratories
    recorded = {words[1] for words in bench.LABS.values() if words[0] == "lab"}
    assert set(laboratories) == recorded


def test_a_group_has_benchmarks_and_one_records_every_laboratory_of_the_page() -> None:
    table = (ROOT / "bench/command/command.cpp").read_text().partition("all = {")[2]
    benchmarks = re.findall(r'^      \{"(\w+)",', table, re.MULTILINE)
    assert "memcached" in benchmarks
    for names in bench.GROUPS.values():
        assert [name for name in names if name not in (*bench.LABS, *benchmarks)] == []
    shown = [one.bench for one in report_labs.LABORATORIES]
    shown.remove("translation_simulated")  # The same on every machine: recorded alone.
    assert bench.GROUPS["governor_labs"] == shown


def test_no_number_hides_a_fact_about_its_run() -> None:
    record = bench.record_of("roundtrip", "k2k bench roundtrip --json", {"p50_us": 1})
    assert record["p50_us"] == 1
    assert record["command"] == "k2k bench roundtrip --json"
    with pytest.raises(Refused, match="its time would hide the run's own"):
        bench.record_of("roundtrip", "k2k bench roundtrip --json", {"time": [1]})
