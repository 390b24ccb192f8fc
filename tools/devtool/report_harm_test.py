"""The page of the interference study has the numbers of its record."""

import re
from pathlib import Path
from typing import Any

import pytest

from devtool import report_harm
from devtool.console import Refused
from devtool.figures import recorded
from devtool.marks import names_in
from devtool.report_fixture import write

ABOUT = {
    "time": "2026-11-30T10:00:00+00:00",
    "commit": "abc123",
    "machine": "two cores",
    "command": "k2k lab interference --json",
    "schema": 3,
}


def span(mean: float, half: float = 0.01) -> dict[str, float]:
    return {"low": mean - half, "mean": mean, "high": mean + half}


def compared(victim: str, comparison: str, wall: float, **more: Any) -> dict[str, Any]:
    return {
        **{"victim": victim, "source": "ubench", "comparison": comparison, "setting": "staged"},
        **{"problem": None, "pairs": 10, "discarded": 1, "end": "cut", "wall": span(wall)},
        **{"rate_ratio": span(-0.5)},
        **more,
    }


PARTS = {
    **{"stolen": span(0.3), "polluted": span(0.05), "sum": 0.35, "loss": span(0.36)},
    "sum_in_interval": True,
}
RECORD = ABOUT | {
    "a_a": {"intervals": 36, "beside_0": 2, "by_chance": 4, "sound": True},
    "verdicts": {"reproduced": 1, "not reproduced": 0, "cannot tell": 0},
    "claims": [
        {
            **{"id": "mean", "section": "IV-A", "says": "they lose", "paper": "28 %"},
            **{"verdict": "reproduced", "target": 1.389, "note": "18 victims"},
            "ours": {"low": 1.4, "ratio": 1.45, "high": 1.5, "pairs": 9},
        },
        {
            **{"id": "sleep", "section": "IV-B", "says": "they sleep", "paper": "12 %"},
            **{"verdict": "not measurable here", "target": None, "note": "no states"},
            "ours": None,
        },
    ],
    "settings": [
        {
            **{"source": "ubench", "setting": "staged", "base": "staged", "victims": 2},
            **{"wall": span(1.4), "rate_to_base": span(1.0), "share": 0.4},
            **{"governor_share": 0.0, "front": True, "dominates": False},
        },
        {
            **{"source": "ubench", "setting": "default+cap=1%", "base": "default", "victims": 2},
            **{"wall": span(1.01), "rate_to_base": None, "share": 0.01, "governor_share": 0.001},
        },
        {
            **{"source": "ubench", "setting": "default+devices=16+limit=5%", "base": "default"},
            **{"wall": span(1.05), "rate_to_base": None, "share": 0.05, "governor_share": 0.0},
            **{"devices": 16, "limit": 0.05, "of_limit": span(1.01), "kept": True},
        },
        {
            **{"source": "sssp", "setting": "staged", "base": "staged", "victims": 1},
            **{"wall": span(1.2), "rate_to_base": span(1.0), "share": 0.1},
            **{"governor_share": 0.0, "front": True, "dominates": False},
        },
    ],
    "comparisons": [
        compared("compute", "service", 0.5, decomposed=PARTS),
        compared("compute", "presence", 0.0),
        compared("compute", "reverse", 0.0),
        compared("compute", "no_op", 0.1, problem="it crashed"),
        compared("redis", "service", 0.2, decomposed=PARTS, tail=span(0.7)),
        compared("zstd", "service", 0.18, decomposed=PARTS, source="sssp"),
    ],
}


def test_tables_have_the_numbers_of_the_record(tmp_path: Path) -> None:
    write(tmp_path, "interference", RECORD)
    text = "\n".join(report_harm.blocks(tmp_path).values())
    for row in (
        "| comparisons; how they ended | 5; 0 precise, 0 exhausted, 5 cut |",
        "| pairs; discarded, because the hypervisor took time | 50; 5 |",
        "| the method is sound on this machine | yes |",
        "| they lose | IV-A | 28 % | 1.389 | 1.45 [1.4, 1.5] | **reproduced** | 18 victims |",
        "| they sleep | IV-B | 12 % | – | – | **not measurable here** | no states |",
        "| `staged` | +40.0 % [+39.0, +41.0] | 1 [0.99, 1.01] | staged | 40.00 % | 0.00 % | "
        "Pareto optimal |",
        "| compute | +64.9 % [+63.2, +66.5] | – | – | – |",
        "| zstd | +19.7 % [+18.5, +20.9] |",
        "| all | +20.0 % [+19.0, +21.0], 10.00 % of the cores |",
        "| compute | +30.0 % [+29.0, +31.0] | +5.0 % [+4.0, +6.0] | +35.0 % | "
        "+36.0 % [+35.0, +37.0] | yes |",
        "| compute | +0.0 % [-1.0, +1.0] | – | +64.9 % [+63.2, +66.5] | 0.607 [0.6, 0.613] |",
        "| 16 | 5 % | 1.01 [1, 1.02] | yes | +5.0 % [+4.0, +6.0] |",
        "| redis | service of ubench, `staged` | +101.4 % [+99.4, +103.4] | "
        "+22.1 % [+20.9, +23.4] |",
        "commit abc123, two cores",
    ):
        assert row in text, row


def test_the_simulated_machine_has_a_record_of_its_own(tmp_path: Path) -> None:
    row = {
        **{"setting": "staged", "asleep": 0.01, "asleep_in_a_run": 0.12, "faults_per_ms": 260.2},
        **{"latency_us": 245.4, "interrupts": 0.98, "between_cores": 0.75, "host_us": 5.0},
        "share": 0.325,
    }
    statement = {
        **{"says": "they sleep", "section": "V-E", "paper": 0.5, "verdict": "reproduced"},
        **{"ours": 0.49, "low": 0.47, "high": 0.5},
    }
    write(tmp_path, "apu", ABOUT | {"schema": 1, "rows": [row], "statements": [statement]})
    text = "\n".join(report_harm.blocks(tmp_path).values())
    assert "| they sleep | V-E | 0.5 | 0.49 [0.47, 0.50] | **reproduced** |" in text
    cells = "260 | 245 µs | 0.98 | 0.75 | 5.00 µs | 32.50 %"
    assert f"| `staged` | 1.00 % | 12.00 % | {cells} |" in text
    assert "`./dev bench --record interference`" in text, "the study has none"


def test_auto_has_a_record_of_its_own(tmp_path: Path) -> None:
    def left_out(victim: str, **more: bool) -> dict[str, Any]:
        words = {"kept": False, "exceeded": False, "needless": False} | more
        return {"victim": victim, "loss": span(0.02), **words}

    point = {
        **{"source": "ubench", "setting": "default+loss=5%", "loss_max": 0.05, "of": 10},
        **{"kept": 7, "exceeded": 1, "needless": 2, "verdict": "cannot tell"},
        "victims": [left_out("compute", kept=True, needless=True), left_out("zstd")],
    }
    setting = {
        **{"source": "ubench", "setting": "default+loss=5%", "base": "default"},
        **{"wall": span(1.02), "rate_to_base": span(0.3)},
    }
    write(tmp_path, "interference_auto", ABOUT | {"auto": [point], "settings": [setting]})
    texts = report_harm.blocks(tmp_path)
    cells = "+2.0 % [+1.0, +3.0] | 0.3 [0.29, 0.31] | 7 | 1 | 2 | 10 | **cannot tell**"
    assert f"| 5 % | {cells} |" in texts["automatic"]
    assert "| compute | +2.0 % [+1.0, +3.0], kept, needless |" in texts["automatic_victims"]
    assert "| zstd | +2.0 % [+1.0, +3.0], cannot tell |" in texts["automatic_victims"]


def test_a_study_that_is_not_sound_says_so(tmp_path: Path) -> None:
    unsound = {"intervals": 36, "beside_0": 5, "by_chance": 4, "sound": False}
    write(tmp_path, "interference", RECORD | {"a_a": unsound})
    study = report_harm.blocks(tmp_path)["study"]
    assert "| the method is sound on this machine | **no** |" in study


@pytest.mark.parametrize(
    ("record", "problem"),
    [(ABOUT, "the newest record has no 'a_a'"), (RECORD | {"settings": 3}, "has no")],
)
def test_a_record_without_its_figures_is_refused(
    tmp_path: Path, record: dict[str, Any], problem: str
) -> None:
    write(tmp_path, "interference", record)
    with pytest.raises(Refused, match=problem):
        report_harm.blocks(tmp_path)


def test_without_a_record_and_with_an_older_one_each_table_says_how_to_make_one(
    tmp_path: Path,
) -> None:
    for records in ((), (RECORD | {"schema": 2},)):
        write(tmp_path, "interference", *records)
        texts = report_harm.blocks(tmp_path)
        for name in report_harm.BLOCKS:
            assert "`./dev bench --record interference`" in texts[name]


def test_the_page_of_the_tree_has_a_mark_for_each_table_and_the_plots_it_shows() -> None:
    text = report_harm.PAGE.read_text()
    tables = [name for some in report_harm.BENCHES.values() for name in some]
    assert sorted(names_in(text)) == sorted(tables)
    for name in ("pareto", "victims", "governors-loss", "governors-rate"):
        assert f"(interference-{name}.svg)" in text
        assert (report_harm.PAGE.parent / f"interference-{name}.svg").exists()


def test_the_text_below_a_table_is_about_the_commit_of_its_record() -> None:
    text = report_harm.PAGE.read_text()
    remarks = re.findall(r"<!-- /(\w+) -->\n\n\*Here, commit (\w+):\*", text)
    assert len(remarks) > len(report_harm.BLOCKS) / 2
    for name, commit in remarks:
        bench = next(one for one, tables in report_harm.BENCHES.items() if name in tables)
        record = recorded(report_harm.RESULTS, bench).record
        assert record is not None
        assert commit == record["commit"], "read what is written below the table again"
