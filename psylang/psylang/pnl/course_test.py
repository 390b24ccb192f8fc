"""What PsyNeuLink ignores of run()'s arguments, and Psylang refuses for that reason.

Only where PsyNeuLink 0.21 is installed (`./dev test --psylang-full`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from psylang.pnl import restart
from psylang.pnl.pnl_fixture import needs_psyneulink
from psylang.pnl.runs_fixture import parameter_of_a_decision, threshold_of_a_race
from psylang.pnl.scripts_fixture import Script

pytestmark = needs_psyneulink


def results(composition: Any, given: dict[str, Any]) -> Any:
    restart(composition)
    composition.run(**given)
    return np.array(composition.results, dtype=np.float64)


@pytest.mark.parametrize("script", [parameter_of_a_decision, threshold_of_a_race])
def test_psyneulink_ignores_parameters_of_a_decision(script: Script) -> None:
    import psyneulink

    with_params, (composition, given) = results(*script(psyneulink)), script(psyneulink)
    given.pop("runtime_params")
    np.testing.assert_array_equal(results(composition, given), with_params)
