"""Importing where PsyNeuLink is missing, of another version, or given something else.

Needs no PsyNeuLink: a user without it meets these cases.
"""

from __future__ import annotations

import importlib.metadata
import os
import pickle
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

import psylang
from psylang.model import Linear, Model, Transfer
from psylang.pnl import ImportedModel, NotImportedError, PsyNeuLinkError, Refusal, results_of
from psylang.pnl.importer import joined
from psylang.pnl.reading import Names
from psylang.pnl.refusals import RefusedError
from psylang.pnl.tables import REFUSED, TABLES, converter, nearest


def pretend(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    """The version of PsyNeuLink that is installed; None: it is missing."""
    real = importlib.metadata.version

    def told(name: str) -> str:
        if name != "psyneulink":
            return real(name)
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(importlib.metadata, "version", told)


def test_a_missing_psyneulink_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, None)
    with pytest.raises(PsyNeuLinkError, match=r"is not installed.*pip install 'psylang\[pnl\]'"):
        psylang.from_psyneulink(object())


@pytest.mark.parametrize("version", ["0.20.3", "0.22.0.0", "1.0"])
def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    pretend(monkeypatch, version)
    with pytest.raises(PsyNeuLinkError, match=rf"PsyNeuLink {version} is installed; .* from 0\.21"):
        psylang.from_psyneulink(object())


def test_a_broken_installation_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "0.21.0.0")
    monkeypatch.setitem(sys.modules, "psyneulink", None)
    with pytest.raises(PsyNeuLinkError, match=r"cannot be imported .*install it anew"):
        psylang.from_psyneulink(object())


def test_an_object_that_is_no_composition_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "0.21.0.0")
    module = ModuleType("psyneulink")
    module.Composition = type("Composition", (), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "psyneulink", module)
    with pytest.raises(psylang.PsylangError, match="type int is no Composition of PsyNeuLink"):
        psylang.from_psyneulink(3)
    of_torch = type("Net", (), {"__module__": "torch.nn.modules.module"})
    with pytest.raises(psylang.PsylangError, match="give its weights to projections of one"):
        psylang.from_psyneulink(of_torch())


def test_importing_psylang_leaves_the_importer_alone() -> None:
    program = "import sys, psylang; print([n for n in sys.modules if 'pnl' in n or 'psyn' in n])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.strip() == "[]"
    assert {"from_psyneulink", "NotImportedError", "PsyNeuLinkError"} <= set(psylang.__all__)


def test_all_refusals_are_in_one_error_that_pickles() -> None:
    every = [Refusal("a", "it learns", "fix it"), Refusal("b", "it is gated", "multiply")]
    error = NotImportedError("net", every)
    assert str(error) == (
        "`net` is not imported:\n  `a`: it learns; fix it\n  `b`: it is gated; multiply"
    )
    again = pickle.loads(pickle.dumps(error))
    assert again.refusals == tuple(every)
    assert isinstance(again, psylang.PsylangError)


def test_every_class_is_in_one_table() -> None:
    for kind, refused in REFUSED.items():
        assert not refused.keys() & TABLES[kind].keys()


def test_an_unknown_class_is_refused_with_the_known_classes() -> None:
    with pytest.raises(RefusedError, match="the noise NoSuchDist is not imported") as caught:
        converter("noise", "NoSuchDist")
    assert "NormalDist" in caught.value.nearest
    assert nearest("mechanism", "KohonenMechanism") == "a TransferMechanism with a fixed matrix"


def test_names_become_psylangs_and_stay_apart() -> None:
    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

    names, one, other = Names(), Named("a-1"), Named("a 1")
    assert [names.name(one), names.name(other), names.name(one)] == ["a_1", "a_1_2", "a_1"]
    assert names.name(Named("1st")) == "_1st"


def test_links_that_share_a_node_are_one_group() -> None:
    links = [{"a", "b"}, {"c", "d"}, {"e", "f"}, {"b", "c"}]
    assert joined(links) == [{"e", "f"}, {"a", "b", "c", "d"}]


@pytest.mark.parametrize("sizes", [(2, 2), (2, 1)])
def test_results_are_laid_out_as_psyneulinks(sizes: tuple[int, int]) -> None:
    model = ImportedModel("two")
    for number, size in enumerate(sizes):
        made = model.add(Transfer(f"n{number}", size=size, function=Linear(slope=2.0)))
        model.input(f"x{number}", made)
        model.output(f"n{number}", made)
        model.results.append(f"n{number}")
    given = {f"x{k}": np.arange(3.0 * size).reshape(3, size) for k, size in enumerate(sizes)}
    results = results_of(model, psylang.compile(model, numerics="exact").run(inputs=given))
    assert isinstance(model, Model)
    assert results.shape == ((3, 2, 2) if sizes == (2, 2) else (3, 2))
    for trial in range(3):
        for port in range(2):
            assert results[trial][port].tolist() == (2.0 * given[f"x{port}"][trial]).tolist()
