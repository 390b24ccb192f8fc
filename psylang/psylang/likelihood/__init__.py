"""Likelihoods of choices and response times, and parameters that are fitted to data.

psylang.likelihood.ddm_log_density(rt, choice, v=0.5, a=1.4, z=0.5, t=0.3)
print(psylang.likelihood.fit({"rt": rt, "choice": choice}))
"""

from psylang.likelihood.ddm import ddm_density, ddm_log_density
from psylang.likelihood.ddm_fit import fit
from psylang.likelihood.errors import LikelihoodError
from psylang.likelihood.fitted import Fit
from psylang.likelihood.hssm import HSSMSimulator
from psylang.likelihood.simulated import SimulatedLikelihood

__all__ = [
    "Fit",
    "HSSMSimulator",
    "LikelihoodError",
    "SimulatedLikelihood",
    "ddm_density",
    "ddm_log_density",
    "fit",
]
