"""The page on PsyNeuLink agrees with the tables and the sample."""

from __future__ import annotations

from psylang.pnl.arguments_fixture import SAMPLES as ARGUMENTS
from psylang.pnl.matrix import FILE, renewed
from psylang.pnl.samples_fixture import IMPORTED, REFUSED


def test_the_matrix_is_of_now() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert renewed(text) == text, "run: python -m psylang.pnl.matrix"
    assert "| DDM | DDM, DDMAnalytical |" in text
    assert "| KohonenMechanism | refused | a TransferMechanism with a fixed matrix |" in text


def test_the_counts_are_of_now() -> None:
    counts = len(IMPORTED), len(REFUSED)
    row = f"after published models | {counts[0]} | {counts[1]} |"
    text = FILE.read_text(encoding="utf-8")
    assert row in text
    row = f"change results | {len(ARGUMENTS.imported)} | {len(ARGUMENTS.refused)} |"
    assert row in text
