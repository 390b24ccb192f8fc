"""All scripts after published models: IMPORTED, REFUSED and STOPPED as in scripts_fixture.py."""

from __future__ import annotations

from psylang.pnl import (
    conditions_fixture,
    control_fixture,
    integrators_fixture,
    nests_fixture,
    networks_fixture,
    runs_fixture,
    signals_fixture,
    trained_fixture,
    views_fixture,
)
from psylang.pnl.scripts_fixture import Script

TOPICS = [
    one.SAMPLES
    for one in (
        networks_fixture,
        integrators_fixture,
        conditions_fixture,
        control_fixture,
        nests_fixture,
        runs_fixture,
        signals_fixture,
        trained_fixture,
        views_fixture,
    )
]
IMPORTED = [script for one in TOPICS for script in one.imported]
REFUSED: dict[Script, str] = {script: why for one in TOPICS for script, why in one.refused.items()}
STOPPED: dict[Script, str] = {script: why for one in TOPICS for script, why in one.stopped.items()}
