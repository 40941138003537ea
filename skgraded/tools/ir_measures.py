"""Measures as ir_measures objects, which PyTerrier also accepts."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from skgraded._input.door import to_plain_list
from skgraded._input.libraries import needs
from skgraded.datasets import join
from skgraded.datasets.data_structures import read_entries
from skgraded.measures import MEASURES, Measure, measure as parse
from skgraded.measures.base import list_parameters
from skgraded.reports.evaluating import evaluate_judgments, warn_of_grades_from_1
from skgraded.reports.run_evaluations import make_truth

with needs("skgraded.ir_measures", "ir_measures"):
    import ir_measures
    from ir_measures import measures as registry, providers

__all__ = ["measure", *MEASURES]


class IrMeasure(registry.Measure):
    """An skgraded measure that can be used with ir_measures.

    The parameters are those of the skgraded measure with the same name; ``@k`` sets the cut-off.
    """

    AT_PARAM = "k"
    RUN_INPUTS = ["query_id", "doc_id", "score"]
    QREL_INPUTS = ["query_id", "doc_id", "relevance"]
    measure_class: type[Measure]

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.measure = self.measure_class(**params)  # checks the parameters
        self.__name__ = type(self).__name__
        self._text = str(self.measure)  # cached, because ir_measures hashes each measure many times

    def __repr__(self) -> str:
        return self._text

    def runtime_impl(self, qrels: Any, run: Any) -> Iterator[ir_measures.Metric]:
        """Yield one Metric per query; `ir_measures.runtime` calls this method."""
        return _Evaluator([self], qrels)._iter_calc(run)


class _Provider(providers.Provider):
    """Provider that computes measures directly from dicts, named tuples or data frames."""

    NAME = "skgraded"

    def supports(self, measure: registry.Measure) -> bool:
        return isinstance(measure, IrMeasure)

    def _evaluator(self, measures: Iterable[registry.Measure], qrels: Any) -> "_Evaluator":
        return _Evaluator(measures, qrels)


class _Evaluator(providers.Evaluator):
    """Joins each run once for all measures."""

    measures: list[IrMeasure]

    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        entries = read_entries(_pick_columns(qrels, IrMeasure.QREL_INPUTS), "qrels")
        self._judged = join.JudgmentIndex(entries)
        super().__init__(list(measures), set(to_plain_list(entries.query_ids)))

    def _iter_calc(self, run: Any) -> Iterator[ir_measures.Metric]:
        """Yield one Metric for each query that is in both the qrels and the run."""
        entries = read_entries(_pick_columns(run, IrMeasure.RUN_INPUTS), "run", allow_empty=True)
        if len(entries.numbers) == 0:
            return  # no documents were retrieved
        joined = self._judged.join(entries, unjudged_documents="keep")
        measures = [each.measure for each in self.measures]
        truth = make_truth(joined, self._judged.judgments)
        warn_of_grades_from_1(truth, "irrelevant")
        evaluation = evaluate_judgments(measures, truth, joined.score, "irrelevant")
        query_ids = to_plain_list(evaluation.query_ids)
        for each, values in zip(self.measures, evaluation.per_query.values(), strict=True):
            for query_id, value in zip(query_ids, values.tolist(), strict=True):
                yield ir_measures.Metric(query_id, each, value)


def _pick_columns(source: Any, names: list[str]) -> Any:
    """Return the named columns of a frame, and its column "rank" if there is one.

    Return other input as a mapping or a list.
    """
    if hasattr(source, "columns"):
        return {name: source[name] for name in (*names, "rank") if name in source.columns}
    return source if isinstance(source, Mapping) else list(source)


def measure(text: str | Measure) -> IrMeasure:
    """Convert a measure or a string such as ``"ap(threshold=2)@20"`` to an ir_measures measure.

    Parameters
    ----------
    text : str or Measure
        A measure, as for `skgraded.measure`.

    Returns
    -------
    IrMeasure
        For ``ir_measures.calc_aggregate`` and ``pyterrier.Experiment``.
    """
    parsed = parse(text)
    params = {name: getattr(parsed, name) for name in list_parameters(parsed)}
    return _CLASSES[type(parsed).__name__](**params)


def _make_class(name: str, cls: type[Measure]) -> type[Any]:
    params = {
        field: registry.ParamInfo(default=info.default, desc=field)
        for field, info in list_parameters(cls).items()
    }
    attributes = {
        "NAME": name,
        "measure_class": cls,
        "SUPPORTED_PARAMS": params,
        "__doc__": cls.__doc__,
        "__module__": __name__,
    }
    return type(name, (IrMeasure,), attributes)


_CLASSES = {name: _make_class(name, cls) for name, cls in MEASURES.items()}
globals().update({name: cls() for name, cls in _CLASSES.items()})
# Register the new names for ir_measures.parse_measure. Existing names are not replaced.
for _name, _class in _CLASSES.items():
    registry.registry.setdefault(_name, _class)
# Providers in ir_measures select measures by name, so this provider must come first.
ir_measures.DefaultPipeline.providers.insert(0, providers.register(_Provider()))
