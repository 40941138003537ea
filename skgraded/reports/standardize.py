"""Values of each query in relation to those of reference systems."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from skgraded._input.columns import one_of
from skgraded.reports.evaluation import Evaluation
from skgraded.reports.pairing import check_evaluations, common_measures, positions_of

METHODS = ("empirical", "normal")
EQUAL = 1e-12  # values that differ by no more are the same


def standardize(
    evaluations: Mapping[str, Evaluation],
    reference: Mapping[str, Evaluation] | None = None,
    *,
    method: str = "empirical",
) -> dict[str, Evaluation]:
    r"""Standardize values by how well reference systems do for each query.

    A hard query then counts as much as an easy one: the mean of the reference systems is about
    1/2 for each.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation
        The systems to standardize.
    reference : mapping of str to Evaluation, optional
        Two systems or more on the same queries by the same measures: those of the collection, of
        which there should be many and various ones. By default `evaluations` themselves.
    method : {"empirical", "normal"}, default="empirical"
        Of the values x₁ … xₘ of m reference systems for a query a value x becomes

        - "empirical": #{i: xᵢ ≤ x} / m, their empirical distribution (Urbano et al. [1]_),
        - "normal": Φ((x - x̄) / s), s their standard deviation with m - 1 (Webber et al. [2]_);
          where s is 0, 1/2 if x is x̄, 0 below and 1 above.

    Returns
    -------
    dict of str to Evaluation
        By the same names, which `compare` takes. Measures are called ``std-NAME``. Queries without
        a value of their own, which no system can do well or badly, are nan: left out of means.

    Raises
    ------
    ValueError, TypeError
        On bad input, before any work: fewer than two reference systems, or queries or measures
        that a system lacks.

    References
    ----------
    .. [1] Urbano, Lima, Hanjalic: A new perspective on score standardization. SIGIR 2019.
    .. [2] Webber, Moffat, Zobel: Score standardization for inter-collection comparison of
       retrieval systems. SIGIR 2008.

    Examples
    --------
    >>> import skgraded as sg
    >>> y, group = [1, 0, 0, 1, 0, 0], [3, 3]
    >>> runs = {
    ...     name: sg.evaluate(y, scores, group=group, measures="rr")
    ...     for name, scores in [("a", [3, 2, 1, 3, 2, 1]), ("b", [2, 3, 1, 3, 2, 1])]}
    >>> sg.standardize(runs)
    {'a': Evaluation(2 queries: std-RR=1.0000), 'b': Evaluation(2 queries: std-RR=0.7500)}
    """
    method = one_of("method", METHODS)(method)
    check_evaluations(evaluations, fewest=2 if reference is None else 1)
    reference = evaluations if reference is None else reference
    check_evaluations(reference, "reference")
    mark = " of reference"
    while any(f"{name}{mark}" in evaluations for name in reference):
        mark += " systems"
    systems = {f"{name}{mark}": one for name, one in reference.items()} | dict(evaluations)
    measures, positions = common_measures(systems), positions_of(systems)
    systems = {name: one.take(positions[name]) for name, one in systems.items()}
    standard = _by_empirical if method == "empirical" else _by_normal
    of_reference = {
        measure: np.array([systems[f"{name}{mark}"].per_query[measure] for name in reference])
        for measure in measures
    }
    return {name: _standardized(systems[name], of_reference, standard) for name in evaluations}


def _standardized(evaluation, of_reference, standard):
    values, undefined = {}, {}
    for measure, reference in of_reference.items():
        own, flags = evaluation.per_query[measure], evaluation.undefined[measure]
        values[f"std-{measure}"] = np.where(
            flags | np.isnan(own), np.nan, standard(own, reference)
        )
        undefined[f"std-{measure}"] = flags
    return Evaluation(evaluation.query_ids, values, undefined, weights=evaluation.weights)


def _by_empirical(values, reference):
    known = np.count_nonzero(~np.isnan(reference), axis=0)
    n_reached = np.count_nonzero(reference <= values + EQUAL, axis=0)
    return n_reached / np.where(known, known, np.nan)


def _by_normal(values, reference):
    from scipy.special import ndtr

    known = ~np.isnan(reference)
    n = np.where(known.sum(axis=0) > 1, known.sum(axis=0), np.nan)
    mean = np.where(known, reference, 0.0).sum(axis=0) / n
    squares = np.where(known, reference - mean, 0.0) ** 2
    deviation = np.sqrt(squares.sum(axis=0) / (n - 1))
    gap = values - mean
    gap = np.where(np.abs(gap) <= EQUAL, 0.0, gap)
    flat = np.where(gap == 0, 0.0, np.copysign(np.inf, gap))
    return ndtr(np.divide(gap, deviation, out=flat, where=~(deviation <= EQUAL)))
