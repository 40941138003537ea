"""Measures as objects of ir_measures, which PyTerrier also accepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING
from typing import Any
from weakref import ref

from skgraded._input.needs import needs
from skgraded.datasets import join
from skgraded.datasets.data_structures import rows_of
from skgraded.measures import MEASURES, Measure
from skgraded.measures import measure as parse
from skgraded.reports.evaluating import evaluate

with needs("skgraded.ir_measures", "ir_measures"):
    import ir_measures
    from ir_measures import measures as registry

__all__ = ["measure", *MEASURES]


class IrMeasure(registry.Measure):
    """A measure of skgraded as a measure of ir_measures.

    Parameters are those of the measure of the same name in skgraded; ``@k`` sets the cut-off.
    """

    AT_PARAM = "k"
    RUN_INPUTS = ["query_id", "doc_id", "score"]
    QREL_INPUTS = ["query_id", "doc_id", "relevance"]
    measure_class: type[Measure]

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.measure = self.measure_class(**params)  # checks the parameters
        self.__name__ = type(self).__name__
        self._text = str(self.measure)  # ir_measures compares and hashes it for each query

    def __repr__(self) -> str:
        return self._text

    def runtime_impl(self, qrels: Any, run: Any) -> Iterator[ir_measures.Metric]:
        """Yield the value of each query that is in both frames."""
        joined = _joined(qrels, run)
        evaluation = evaluate(
            *joined[:2], group=joined[2], measures=self.measure,
            unjudged_documents="irrelevant",
        )
        (values,) = evaluation.per_query.values()
        for query, value in zip(joined[3], values.tolist(), strict=True):
            yield ir_measures.Metric(query, self, value)


_last: dict[str, Any] = {}  # the frames joined last; weak references


def _joined(qrels, run):
    """Return the grades, scores, query sizes and query ids; the most recent join is cached.

    All measures of a call receive the same frames.
    """
    if _is_last("qrels", qrels) and _is_last("run", run):
        return _last["joined"]
    if not _is_last("qrels", qrels):
        _last["judged"] = join.Judged(rows_of(qrels[IrMeasure.QREL_INPUTS], "qrels"))
    judged = _last["judged"]
    joined = judged.join(rows_of(run[IrMeasure.RUN_INPUTS], "run"), False, False, None, "keep")
    known = joined.sizes > 0
    _last.update(
        qrels=ref(qrels), run=ref(run), joined=(
            joined.grade, joined.score, joined.sizes[known], judged.judgments.query_ids[known]
        ),
    )
    return _last["joined"]


def _is_last(name, frame):
    return name in _last and _last[name]() is frame


def measure(text: str | Measure) -> IrMeasure:
    """Convert a measure or its text, such as ``"ap(threshold=2)@20"``, to a measure of ir_measures.

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
    defaults = {name: field.default for name, field in parsed.fields.items()}
    params = {name: getattr(parsed, name) for name in defaults}
    return _CLASSES[type(parsed).__name__](**{
        name: value for name, value in params.items() if repr(value) != repr(defaults[name])
    })


def _class_of(name, cls):
    params = {
        field: registry.ParamInfo(
            default=None if info.default is MISSING else info.default, desc=field
        )
        for field, info in cls.fields.items()
    }
    attributes = {
        "NAME": name, "measure_class": cls, "SUPPORTED_PARAMS": params, "__doc__": cls.__doc__,
        "__module__": __name__,
    }
    return type(name, (IrMeasure,), attributes)


_CLASSES = {name: _class_of(name, cls) for name, cls in MEASURES.items()}
globals().update({name: cls() for name, cls in _CLASSES.items()})
# ir_measures.parse_measure can then parse the new names. Existing names are not replaced.
for _name, _class in _CLASSES.items():
    registry.registry.setdefault(_name, _class)
