"""The Plan: a model's machine code, ready to run any number of times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from psylang.errors import ProgramError
from psylang.ir.graph import Program
from psylang.runtime.arguments import bound
from psylang.runtime.changes import Watch
from psylang.runtime.cuda.options import Cuda, cuda_of
from psylang.runtime.errors import (
    ArgumentError,
    ArgumentTypeError,
    InterruptedRunError,
    listed,
)
from psylang.runtime.execute import Execution, Given
from psylang.runtime.explain import Explanation
from psylang.runtime.histogram import Counter, counters, needed
from psylang.runtime.left import Left, continued, refuse_missing
from psylang.runtime.precision import Precision, in_precision
from psylang.runtime.progress import Progress, indicator
from psylang.runtime.results import Results, results_of
from psylang.runtime.rules import Rules
from psylang.runtime.schedule import THREADS_MAX, cores
from psylang.runtime.search import Block, Reduce, Search, refines, search
from psylang.runtime.undefined import counted, refuse, watching
from psylang.runtime.values import known, memory_for, row_bytes, whole
from psylang.runtime.variants import Variant, Variants
from psylang.runtime.witnesses import MARK, with_witnesses

if TYPE_CHECKING:
    from psylang.analysis import Report
    from psylang.likelihood import Fit
    from psylang.likelihood.data import Columns
    from psylang.runtime.cuda.execute import GpuExecution
    from psylang.runtime.cuda.variants import GpuVariant
    from psylang.runtime.refine import Refined

ANALYSED_MAX = 10_000  # Limit of trials that are followed one by one.


Grid = Mapping[str, Sequence[Any] | NDArray[Any]]


class Plan:
    """A compiled model. Any number of threads may use one plan at once.

    program: its IR, in the plan's precision. run() and search() compute, explain() describes the
    compiled code.
    """

    def __init__(
        self,
        model: object,
        program: Program,
        precision: Precision = "f64",
        rules: Rules | None = None,
        use_ranges: bool = False,
        closed_forms: bool = False,
    ) -> None:
        self.program = in_precision(program, precision)
        self.name = program.name
        self.precision = precision
        self._written = program
        self._rules = rules
        self._use_ranges = use_ranges
        self._closed_forms = closed_forms
        self._watch = Watch(model)
        self._ready = self._compiled(self.program)
        self._variants = Variants(self._ready)
        self._others: dict[str, Variants] = {}  # Of the other precision, after its first use.
        self._outputs = {output.name: output for output in program.outputs}
        every = self._ready.outputs
        self._witnesses = frozenset(one.name for one in every) - frozenset(self._outputs)
        # Looked up here, so that small runs are quick.
        self._row_bytes = {output.name: row_bytes(output) for output in every}
        self._row_shapes = {output.name: output.type.shape for output in every}
        self._dtypes = {output.name: output.type.dtype.numpy for output in every}
        self._variants.get(None, None, frozenset())  # Errors of the compiler belong to compile().

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its program, without the model and the watch for its changes."""
        how = (self.precision, self._rules, self._use_ranges, self._closed_forms)
        return (Plan, (self._written, self._written, *how))

    def _compiled(self, program: Program) -> Program:
        """The program for machine code: without loops that have closed forms, and without
        operations that its ranges make idle, if requested."""
        if self._closed_forms:
            from psylang.analysis.closed_loops import without_loops

            program, _ = without_loops(program)
        if not self._use_ranges:
            return with_witnesses(program)
        from psylang.analysis.decided import licensed

        return with_witnesses(licensed(program))

    @property
    def parameters(self) -> dict[str, NDArray[Any]]:
        """The parameters that run(params=…) may set, with the defaults."""
        return {one.name: one.default for one in self.program.parameters}

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of one trial's values for run(inputs=…)."""
        return {one.name: one.type.shape for one in self.program.inputs}

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of a trial's outputs."""
        return {one.name: one.type.shape for one in self.program.outputs}

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        trials: int | None = None,
        sequences: int = 1,
        first: int = 0,
        after: Results | None = None,
        seed: int = 0,
        precision: Precision | None = None,
        threads: int | None = None,
        record: Sequence[str] | None = None,
        histogram: Mapping[str, Any] | None = None,
        isa: str | None = None,
        device: str | Cuda | None = None,
        progress: Progress = None,
        allow_nan: bool = False,
    ) -> Results:
        """Computes `sequences` times `trials` trials.

        inputs, params: by name, of the plan's shape for one value for all trials, with (trials,)
        in front for one row per trial, or (sequences, trials). trials: by default the number of
        rows, or 1. States start at their initial values in each sequence.
        first: the number of the first sequence, so that processes share a run: sequences first …
        first + sequences - 1 of `trials` trials each are, bit by bit, those of one run with all
        sequences. In `fast`, if no trial depends on the one before, sequence k also has the trials
        k * trials … of one run of all trials. Arrays have rows for this run alone.
        after: results of an earlier run of this model, with the same numerics, precision and seed:
        this run goes on from the states and random numbers that it left, bit by bit as one longer
        run. Of one sequence, without device. Parameters and inputs may be others.
        seed: 0 … 2**63 - 1. In `exact`, 0 selects the streams' own seeds, as in PsyNeuLink; other
        numbers, and further sequences, select other streams. The results depend only on the
        arguments; not on `threads` (None: all cores, if it pays), and in `fast` not on `isa` (None:
        the best) and `device`.
        device: "cpu" (None, too), "cuda", "cuda:1" or a psylang.Cuda: an NVIDIA GPU, with a trial a
        thread, for `fast` only; neither threads nor isa may be given. NaN may have other bits.
        precision: "f64" or "f32", as for compile(); None: the plan's. The other precision is
        compiled at its first use.
        record: the outputs to keep; None: all except outputs requested only as histograms.
        histogram: by output (bins, low, high), edges, or a Histogram; counted without being stored.
        progress: True for a bar in a notebook, and elsewhere a line on standard error; or a
        function of (trials done, trials).
        allow_nan: NaN in arguments and in results is no error; results.nan counts the latter.

        Ctrl-C ends the run within some 50 ms (or a trial): InterruptedRunError, a
        KeyboardInterrupt, has in `partial` the first complete trials; incomplete histograms are
        dropped. ArgumentError, ArgumentTypeError: an argument does not fit; the message names the
        permitted values. UndefinedError: results have NaN; its `results` has all of them.
        ModelChangedError: compile the model again. NotSupportedError, CompileError: as compile(),
        or the GPU cannot run the program. GpuError: the GPU cannot be used.
        """
        return self._run_from(
            first,
            inputs,
            params,
            trials=trials,
            sequences=sequences,
            seed=seed,
            precision=precision,
            threads=threads,
            record=record,
            histogram=histogram,
            isa=isa,
            device=device,
            progress=progress,
            allow_nan=allow_nan,
            after=after,
        )

    def _run_from(
        self,
        first: int,
        inputs: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        trials: int | None = None,
        sequences: int = 1,
        seed: int = 0,
        precision: Precision | None = None,
        threads: int | None = None,
        record: Sequence[str] | None = None,
        histogram: Mapping[str, Any] | None = None,
        isa: str | None = None,
        device: str | Cuda | None = None,
        progress: Progress = None,
        allow_nan: bool = False,
        alike: bool = False,
        after: Results | None = None,
    ) -> Results:
        """run(), of sequences from number `first` on. alike: in `exact` they draw the same."""
        self._watch.check()
        if allow_nan and self._use_ranges:
            raise ArgumentError(
                "allow_nan=True of a plan with use_ranges=True, which was compiled for arguments "
                "without NaN; compile it without use_ranges"
            )
        variants = self._variants
        if precision is None or precision == self.precision:
            precision = self.precision
        else:
            variants = self._in(precision)
        asked = counters(histogram, self.program.outputs) if histogram else []
        if record is not None or asked:
            record = self._recorded(record, bool(asked))
        given, varying = bound(
            self.program, inputs, params, trials, sequences, seed, allow_nan, first, alike
        )
        if params and self._rules is not None:
            names = [one.name for one in self.program.parameters]
            rows = dict(zip(names, given.parameters, strict=True))
            self._rules.check({name: rows[name] for name in names if name in params}, allow_nan)
        if after is not None:
            given.after = self._continued(after, given, precision, device)
        count, cuda = _threads(threads), cuda_of(device)
        if cuda is not None:
            _refuse_with_cuda(threads=threads, isa=isa)
        kept, watches = None, []
        if record is not None:
            watches = watching(self.program.outputs, {*record, *needed(asked)})
            wanted = {*record, *needed(asked), *needed(watches), *self._witnesses}
            if len(wanted) < len(self._row_bytes):
                kept = tuple(name for name in self._row_bytes if name in wanted)
        variant: Variant | GpuVariant
        if cuda is None:
            variant = variants.get(isa, kept, varying)
        else:
            variant = variants.on_gpu(cuda, kept, varying)
        total = given.sequences * given.trials
        if given.after is not None:
            refuse_missing(given.after, [one.name for one in variant.program.outputs])
        stored = [
            output.name
            for output in variant.program.outputs
            if record is None or output.name in record or output.name in self._witnesses
        ]
        memory_for(sum(self._row_bytes[name] for name in stored), total)
        arrays = {
            name: np.empty((total, *self._row_shapes[name]), self._dtypes[name]) for name in stored
        }
        stores = [arrays.get(output.name) for output in variant.program.outputs]
        execution = _execution(variant, given, stores, [*asked, *watches])

        def results(rows: int | None = None) -> Results:
            return results_of(
                {name: one for name, one in arrays.items() if name in self._outputs},
                {name: one.dims for name, one in self._outputs.items()},
                {one.output: one.total for one in asked} if rows is None else {},
                given,
                (self.name, self.program.numerics, precision, variant.title),
                rows,
            )

        show = indicator(self.name) if progress is True else progress or None
        if show is not None and not callable(show):
            raise ArgumentTypeError(f"progress is {progress!r}; give True or a function")
        try:
            execution.go(count, show)
        except BaseException as error:
            if progress is True:
                show.leave()  # type: ignore[union-attr]
            if not isinstance(error, KeyboardInterrupt):
                raise
            done = execution.rows_done
            partial = results(done) if done else None
            raise InterruptedRunError(done, total, partial) from None
        found = counted(arrays, [*asked, *watches])
        made = results()
        made._left = execution.left() if isinstance(execution, Execution) else None
        if found:
            made.nan.update({name.removesuffix(MARK): count for name, count in found.items()})
            if not allow_nan:
                refuse(variant.program, found, arrays, given, made)
        return made

    @overload
    def search(
        self,
        grid: Grid,
        *,
        method: Literal["grid"] = "grid",
        trials: int = 1,
        objective: str | Callable[[Mapping[str, Any]], float] | None = None,
        maximize: bool = False,
        reduce: Reduce = "mean",
        inputs: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        seed: int = 0,
        precision: Precision | None = None,
        threads: int | None = None,
        isa: str | None = None,
        device: str | Cuda | None = None,
        progress: Progress = None,
        allow_nan: bool = False,
        allow_truncated: bool = False,
    ) -> Search: ...

    @overload
    def search(
        self,
        grid: Grid,
        *,
        method: Literal["refine"],
        trials: int = 1,
        objective: str | None = None,
        maximize: bool = False,
        inputs: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        seed: int = 0,
        precision: Precision | None = None,
        allow_truncated: bool = False,
    ) -> Refined: ...

    def search(
        self,
        grid: Grid,
        *,
        method: Literal["grid", "refine"] = "grid",
        trials: int = 1,
        objective: str | Callable[[Mapping[str, Any]], float] | None = None,
        maximize: bool = False,
        reduce: Reduce = "mean",
        inputs: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        seed: int = 0,
        precision: Precision | None = None,
        threads: int | None = None,
        isa: str | None = None,
        device: str | Cuda | None = None,
        progress: Progress = None,
        allow_nan: bool = False,
        allow_truncated: bool = False,
    ) -> Search | Refined:
        """Runs `trials` trials at every point of the grid, and reduces them to a table.

        grid: by parameter the values to try (numbers, or rows of the parameter's shape); points
        are in C order, the last name changes fastest. reduce: "mean", "std", "median", "min",
        "max", "sum", or a function of one point's array of shape (trials, *shape).
        objective: an output, or a function of {output: reduced value}, to be least, or greatest
        with `maximize`; may be left out if there is one output. Other arguments: as of run(); each
        point is a sequence of its own, so its random numbers are its own in `fast`, and the same at
        all points in `exact`.

        A point with trials that reached the model's maximum of steps is not chosen, because
        truncated trials would count as decided; allow_truncated lets it win.

        method: "refine" finds the best point of the mean without most of the points: intervals
        bound the objective of whole blocks of the grid (runtime/refine.py). All points have the
        same draws. Only for `fast`; the objective is an output, inputs are the same in all trials,
        and reduce, threads, isa, device, progress and allow_nan are not accepted.

        The errors of run(), and ArgumentError: an empty grid, or no point with a finite objective.
        InterruptedRunError has no `partial`; its numbers of trials are those of all points.
        """
        others: dict[str, Any] = {"reduce": reduce != "mean", "threads": threads, "isa": isa}
        others |= {"device": cuda_of(device), "progress": progress, "allow_nan": allow_nan}
        if refines(method, others):
            from psylang.runtime.refine import problem_of, refine

            self._watch.check()
            problem, values = problem_of(
                in_precision(self._written, precision or self.precision),
                self._rules,
                grid,
                objective,
                maximize=maximize,
                trials=trials,
                seed=seed,
                inputs=inputs,
                params=params,
                allow_truncated=allow_truncated,
            )
            return refine(problem, values)

        def run_block(block: Block) -> Results:
            return self._run_from(
                block.first,
                inputs,
                block.params,
                trials=block.trials,
                sequences=block.points,
                seed=seed,
                precision=precision,
                threads=threads,
                isa=isa,
                device=device,
                progress=block.progress,
                allow_nan=allow_nan,
                alike=True,
            )

        return search(
            self.program,
            grid,
            run_block,
            trials=trials,
            objective=objective,
            maximize=maximize,
            reduce=reduce,
            params=params,
            progress=progress,
            allow_nan=allow_nan,
            allow_truncated=allow_truncated,
        )

    def _in(self, precision: Precision) -> Variants:
        """Machine code in another precision than the plan's. Errors as in_precision()."""
        found = self._others.get(precision) if isinstance(precision, str) else None
        if found is None:
            made = Variants(self._compiled(in_precision(self._written, precision)))
            found = self._others.setdefault(precision, made)
        return found

    def variant(self, isa: str | None = None) -> Variant:
        """The machine code for an instruction set of this machine. ArgumentError: it has none."""
        return self._variants.get(isa, None, frozenset())

    def gpu_variants(self) -> list[GpuVariant]:
        """The kernels that runs with device="cuda" have loaded, in the plan's precision."""
        return self._variants.on_gpus()

    def explain(self) -> Explanation:
        """A report of the compiled model and its code; a text, and in notebooks HTML."""
        from psylang import emit

        records: list[Any] = []
        optimised = emit.optimised(self._ready, records)
        return Explanation(self.program, self.precision, optimised, self._variants.all(), records)

    def analyse(
        self,
        *,
        inputs: Mapping[str, tuple[Any, Any]] | None = None,
        params: Mapping[str, tuple[Any, Any]] | None = None,
        trials: int | None = None,
        against: Plan | None = None,
    ) -> Report:
        """The properties of the model that need no run: ranges of values, components without
        effect, numbers of rounds of loops, and decisions that the ranges permit. A text, and in
        notebooks HTML.

        inputs, params: (least, greatest) by name, numbers or arrays of the input's shape; of others
        any number, or the range that compile() was given. trials: only the n-th trial of a
        sequence; None: all trials. against: another plan, which is searched for the computations of
        this one; parameters that both vary are matched by their names.

        ModelChangedError: compile the model again. ArgumentError, ArgumentTypeError: a name or a
        range that does not fit.
        """
        from psylang.analysis import analyse

        self._watch.check()
        known("inputs", inputs or {}, self.inputs)
        known("params", params or {}, self.parameters)
        if trials is not None:
            trials = whole("trials", trials, 1, ANALYSED_MAX)
        try:
            return analyse(
                self.program,
                self._watch.model,
                inputs=inputs,
                params=params,
                trials=trials,
                against=None if against is None else against.program,
            )
        except ProgramError as error:
            raise ArgumentError(str(error)) from None

    def fit(
        self,
        data: Columns,
        start: Mapping[str, float],
        *,
        limits: Mapping[str, tuple[float, float]] | None = None,
        params: Mapping[str, Any] | None = None,
        outputs: tuple[str, str] = ("response_time", "choice"),
        method: Literal["closed", "kde", "bins"] | None = None,
        trials: int = 10_000,
        seed: int = 1,
        inputs: Mapping[str, Any] | None = None,
        threads: int | None = None,
    ) -> Fit:
        """The parameters at which choices and response times are most likely: those of `start`,
        where the search begins.

        method: "closed", by the density in closed form, which models of one drift-diffusion process
        have; "kde" and "bins" by simulation, as SimulatedLikelihood(self, …).fit(…), which see.
        None: "closed" where there is one for these arguments, else "kde". trials, seed, inputs and
        threads are those of simulations. LikelihoodError: as there, or there is no closed form.
        """
        from psylang.likelihood import SimulatedLikelihood
        from psylang.likelihood.closed import closed_fit

        if method is None or method == "closed":
            made = closed_fit(
                *(self, self._rules, data, start),
                limits=limits or {},
                params=params or {},
                outputs=outputs,
                simulates=method is None,
            )
            if made is not None:
                return made
            method = "kde"

        likelihood = SimulatedLikelihood(
            self,
            outputs,
            method=method,
            trials=trials,
            seed=seed,
            inputs=inputs,
            threads=threads,
        )
        return likelihood.fit(data, start, limits=limits, params=params)

    def __repr__(self) -> str:
        how = self.program.numerics + (", f32" if self.precision == "f32" else "")
        return (
            f"Plan({self.name}, {how}; params: {listed(self.parameters)}; "
            f"inputs: {listed(self.inputs)}; outputs: {listed(self.outputs)})"
        )

    def _continued(
        self, after: Results, given: Given, precision: Precision, device: str | Cuda | None
    ) -> Left:
        """What `after` left. ArgumentError: this run cannot continue it."""
        if not isinstance(after, Results):
            raise ArgumentTypeError(f"after is {after!r}; give the results of an earlier run")
        if given.sequences > 1 or given.first or device is not None:
            raise ArgumentError("after is of one sequence: leave out sequences, first and device")
        how: dict[str, Any] = {"model": self.name, "numerics": self.program.numerics}
        how |= {"precision": precision, "seed": given.seed}
        states = {one.name: one.type.shape for one in self._ready.states}
        return continued(after._left, after.run, how, states)

    def _recorded(self, record: Sequence[str] | None, counted: bool) -> list[str]:
        if record is None:
            return []
        if isinstance(record, str):
            raise ArgumentTypeError(f"record is the text {record!r}; give record=[{record!r}]")
        known("record", dict.fromkeys(record), self._outputs)
        if not record and not counted:
            raise ArgumentError(
                "record is empty and there is no histogram: nothing would be left of the run; "
                f"record some of {listed(self._outputs)}"
            )
        return list(record)


def _execution(
    variant: Variant | GpuVariant, given: Given, stores: list[Any], counted: list[Counter]
) -> Execution | GpuExecution:
    if isinstance(variant, Variant):
        return Execution(variant, given, stores, counted)
    from psylang.runtime.cuda.execute import GpuExecution

    return GpuExecution(variant.program, variant.varying, variant.kernel, given, stores, counted)


def _refuse_with_cuda(**given: Any) -> None:
    """ArgumentError: an argument of the CPU is given."""
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        raise ArgumentError(
            f"{listed(wrong)} is of the CPU, and device='cuda' takes none; leave it out"
        )


def _threads(threads: int | None) -> int:
    return cores() if threads is None else whole("threads", threads, 1, THREADS_MAX)
