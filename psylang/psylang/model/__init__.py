"""The model API: cognitive models from typed components, compiled to the IR.

A Model has mechanisms (Transfer, DDM, LCA, …), projections, inputs, conditions, control and
outputs; Model.program() gives the program of one trial.
"""

from psylang.model.analytical import DDMAnalytical
from psylang.model.ballistic import LBA
from psylang.model.composition import Model
from psylang.model.compound import All, Any, Not, NWhen, While
from psylang.model.compute import Compute
from psylang.model.conditions import (
    AfterNCalls,
    AfterNCallsCombined,
    AfterNPasses,
    AfterNSteps,
    AfterNTrials,
    AfterPass,
    AfterStep,
    AfterTrial,
    AllHaveRun,
    Always,
    AtPass,
    AtStep,
    AtTrial,
    BeforePass,
    BeforeStep,
    BeforeTrial,
    Condition,
    EveryNCalls,
    EveryNPasses,
    JustRan,
    Never,
    TimeInterval,
    WhenFinished,
)
from psylang.model.control import ControlSignal, Evenly, GridSearch, Listed
from psylang.model.costs import DurationCost, ExponentialCost, FunctionCost, LinearCost
from psylang.model.criteria import AtLeast, MaxVsAverage, MaxVsNext, Settled
from psylang.model.decision import DDM, LCA
from psylang.model.diffusion import Angle, Diffusion, WeibullCollapse
from psylang.model.dynamics import DualAdaptive, FitzHughNagumo, LocusCoeruleus, Spiking
from psylang.model.errors import ModelError
from psylang.model.function import Function, function
from psylang.model.functions import (
    Exponential,
    Gaussian,
    Linear,
    Logistic,
    OneHot,
    ReLU,
    SoftMax,
    Tanh,
)
from psylang.model.integrators import (
    Accumulator,
    AdaptiveIntegrator,
    DriftDiffusion,
    InteractiveActivation,
    LeakyCompetingIntegrator,
    OrnsteinUhlenbeck,
    SimpleIntegrator,
)
from psylang.model.mechanism import Mechanism, Recurrent, Transfer
from psylang.model.noise import Gamma, Normal, Uniform, Wald
from psylang.model.parameters import Parameter
from psylang.model.sphere import SphereDrift
from psylang.model.winners import KWinners

__all__ = [
    "DDM",
    "LBA",
    "LCA",
    "Accumulator",
    "AdaptiveIntegrator",
    "AfterNCalls",
    "AfterNCallsCombined",
    "AfterNPasses",
    "AfterNSteps",
    "AfterNTrials",
    "AfterPass",
    "AfterStep",
    "AfterTrial",
    "All",
    "AllHaveRun",
    "Always",
    "Angle",
    "Any",
    "AtLeast",
    "AtPass",
    "AtStep",
    "AtTrial",
    "BeforePass",
    "BeforeStep",
    "BeforeTrial",
    "Compute",
    "Condition",
    "ControlSignal",
    "DDMAnalytical",
    "Diffusion",
    "DriftDiffusion",
    "DualAdaptive",
    "DurationCost",
    "Evenly",
    "EveryNCalls",
    "EveryNPasses",
    "Exponential",
    "ExponentialCost",
    "FitzHughNagumo",
    "Function",
    "FunctionCost",
    "Gamma",
    "Gaussian",
    "GridSearch",
    "InteractiveActivation",
    "JustRan",
    "KWinners",
    "LeakyCompetingIntegrator",
    "Linear",
    "LinearCost",
    "Listed",
    "LocusCoeruleus",
    "Logistic",
    "MaxVsAverage",
    "MaxVsNext",
    "Mechanism",
    "Model",
    "ModelError",
    "NWhen",
    "Never",
    "Normal",
    "Not",
    "OneHot",
    "OrnsteinUhlenbeck",
    "Parameter",
    "ReLU",
    "Recurrent",
    "Settled",
    "SimpleIntegrator",
    "SoftMax",
    "SphereDrift",
    "Spiking",
    "Tanh",
    "TimeInterval",
    "Transfer",
    "Uniform",
    "Wald",
    "WeibullCollapse",
    "WhenFinished",
    "While",
    "function",
]
