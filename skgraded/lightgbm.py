"""Measures as metrics of LightGBM: for lgb.train, lgb.cv and LGBMRanker.fit."""

import dataclasses
import sys
import weakref
from collections.abc import Callable, Iterable

import numpy as np

from skgraded._validation import whole_number
from skgraded.judgments import Judgments
from skgraded.measures import Measure, as_measures, mean_over_queries, score_queries

__all__ = ["eval_metric"]


def eval_metric(measures: Measure | str | Iterable[Measure | str], every: int = 1) -> Callable:
    """Make a metric that LightGBM shows at each round and can stop early on.

    Give it to ``lgb.train(feval=)``, ``lgb.cv(feval=)`` or ``LGBMRanker.fit(eval_metric=)``,
    together with ``metric="None"``: LightGBM puts its own metrics first, so that
    ``first_metric_only`` would pick those.

    Parameters
    ----------
    measures : Measure, str, or list of these
        What to compute; a list is computed from one sort of the predictions.
    every : int, default=1
        Compute at rounds 1, every + 1, 2 · every + 1, … and repeat the last values between. Each
        training counts anew.

    Returns
    -------
    callable
        Called by LightGBM as ``metric(preds, dataset)`` or ``metric(y_true, y_pred, weight,
        group)``. It returns ``(name, value, True)``, higher being better; a list of these for a
        list of measures. It raises a ValueError where a number would mislead: predictions that
        are NaN (LightGBM would end the training without a word) or of several classes; a set
        without query sizes, or one in which a measure is undefined for every query that has
        weight, whatever the measure's `undefined`.

    Raises
    ------
    ValueError, TypeError
        If a measure cannot be read or is given twice, or `every` is not a whole number ≥ 1.

    Notes
    -----
    The values are those of the measures themselves, ties and all, with the Dataset's weights: the
    weight of a query is the mean over its rows. The grades of a Dataset are laid out when it is
    first met and released with it. If its labels, groups or weights change, also in place, they
    are laid out anew.

    LightGBM keeps labels as 32-bit floats, and 0.7 as one of these is below 0.7. So each label is
    read as the shortest decimal that it may have come from: a grade written with up to six
    digits is itself again. The `threshold` and `max_grade` of a measure are rounded the same
    way, so that a grade that reached a threshold still does.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from skgraded.lightgbm import eval_metric
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = np.clip(np.round(X[:, 0] + rng.normal(size=400)), 0, 4)
    >>> train = lgb.Dataset(X[:300], y[:300], group=[10] * 30)
    >>> valid = lgb.Dataset(X[300:], y[300:], group=[10] * 10, reference=train)
    >>> params = {"objective": "lambdarank", "metric": "None", "num_threads": 1, "verbose": -1}
    >>> history = {}
    >>> booster = lgb.train(
    ...     params, train, valid_sets=[valid], feval=eval_metric(["ndcng@5", "mu_map"]),
    ...     callbacks=[lgb.early_stopping(10, verbose=False), lgb.record_evaluation(history)],
    ... )
    >>> list(history["valid_0"])
    ['NDCNG@5', 'MuAP']
    """
    return _EvalMetric(measures, every)


class _EvalMetric:
    # LightGBM tells the forms of a scikit-learn metric apart by the number of parameters in the
    # signature; with exactly four the same object serves lgb.train, which fills the first two.

    def __init__(self, measures, every):
        self.measures = as_measures(measures)
        self.every = whole_number(every, "every", 1)
        self._one = isinstance(measures, (str, Measure))
        self._rounded = [_round_scale(measure) for measure in self.measures]
        self._trainings = _WeakIdentityDict()  # by LightGBM's buffer of the predictions

    def __call__(self, y_true, y_pred, weight=None, group=None):
        """Values for (preds, dataset) or (y_true, y_pred, weight, group)."""
        if _is_dataset(y_pred):
            preds, dataset = y_true, y_pred
            truth = _truth_of(
                dataset, dataset.get_label(), dataset.get_group(), dataset.get_weight()
            )
        else:
            preds = y_pred
            truth = _truth_of(y_true, y_true, group, weight)
        training = self._training(preds, truth)
        if training.n_rounds % self.every == 0:
            training.values = self._values(truth.judgments, preds, training.n_rounds + 1)
        training.n_rounds += 1
        results = [
            (measure.name, value, True)
            for measure, value in zip(self.measures, training.values, strict=True)
        ]
        return results[0] if self._one else results

    def __repr__(self):
        measures = repr(self.measures[0].name if self._one else [m.name for m in self.measures])
        return f"eval_metric({measures}{f', every={self.every}' if self.every > 1 else ''})"

    def __reduce__(self):  # of copies and pickles too: they start with nothing remembered
        return _EvalMetric, (self.measures[0] if self._one else self.measures, self.every)

    def _training(self, preds, truth):
        """Find what is remembered of the training that hands in these predictions.

        A Booster has one buffer of predictions for each of its data sets and fills it anew at
        each round, so another buffer, or another truth, is another training.
        """
        training = self._trainings.get(preds)
        if training is None or training.truth() is not truth:
            training = _Training(weakref.ref(truth))
            self._trainings.put(preds, training)
        return training

    def _values(self, judgments, preds, n_round):
        _check_shape(preds, judgments)
        try:
            per_query = score_queries(self._rounded, judgments, preds)
        except ValueError:
            _refuse_nan(preds, n_round)
            raise
        for measure, rounded in zip(self.measures, self._rounded, strict=True):
            _refuse_undefined(measure, rounded.undefined_queries(judgments), judgments.weights)
        return [mean_over_queries(values, judgments.weights) for values in per_query]


@dataclasses.dataclass
class _Training:
    truth: weakref.ref
    n_rounds: int = 0
    values: list = dataclasses.field(default_factory=list)


# The truth of a Dataset --------------------------------------------------------------------------

class _Truth:
    """Judgments, and copies of the labels, groups and weights that they were laid out from."""

    def __init__(self, given):
        labels, group, weight = given
        if labels is None:
            raise ValueError("The Dataset has no labels: give label= to lightgbm.Dataset.")
        if group is None:
            raise ValueError(
                "The Dataset has no query sizes, and a ranking measure needs them: give group= "
                "to lightgbm.Dataset, or eval_group= to LGBMRanker.fit."
            )
        self.judgments = Judgments(_as_decimals(labels), group=group, sample_weight=weight)
        self._given = [np.array(values) for values in given]

    def is_of(self, given):
        """Whether these are still the same labels, groups and weights; None equals None."""
        return all(map(np.array_equal, self._given, given))


class _WeakIdentityDict:
    """Values kept for objects while these live, found by identity: arrays have no hash."""

    def __init__(self):
        self._items = {}

    def get(self, owner):
        ref, value = self._items.get(id(owner), (None, None))
        return value if ref is not None and ref() is owner else None

    def put(self, owner, value):
        key, items = id(owner), self._items
        try:
            ref = weakref.ref(owner, lambda _: items.pop(key, None))
        except TypeError:  # a list, of a call by hand
            return
        items[key] = (ref, value)


_truths = _WeakIdentityDict()  # shared by all metrics: several may watch one Dataset


def _truth_of(owner, labels, group, weight):
    """Look up, or lay out, the truth of a Dataset, or of the labels that stand for one."""
    given = (labels, group, weight)
    truth = _truths.get(owner)
    if truth is None or not truth.is_of(given):
        truth = _Truth(given)
        _truths.put(owner, truth)
    return truth


def _is_dataset(data):
    lightgbm = sys.modules.get("lightgbm")  # whoever has a Dataset has imported it
    return lightgbm is not None and isinstance(data, lightgbm.Dataset)


# Grades of 32 bits -------------------------------------------------------------------------------

def _as_decimals(grades):
    """Find the shortest decimals, as float64, that round to the same 32-bit floats."""
    grades = np.asarray(grades, dtype=np.float32)
    if (grades == np.rint(grades)).all() and grades.max() <= 2**24:
        return grades  # exact already
    distinct, inverse = np.unique(grades, return_inverse=True)
    decimals = np.fromiter((float(str(grade)) for grade in distinct), float, len(distinct))
    return decimals[inverse]


def _round_scale(measure):
    """Round the threshold and max_grade of a measure as the grades are."""
    scale = {name: getattr(measure, name, None) for name in ("threshold", "max_grade")}
    limits = np.finfo(np.float32)
    rounded = {
        name: float(_as_decimals([number])[0])
        for name, number in scale.items()
        if number is not None and limits.tiny <= number <= limits.max
    }
    return dataclasses.replace(measure, **rounded) if rounded else measure


# Errors ------------------------------------------------------------------------------------------

def _check_shape(preds, judgments):
    shape = np.shape(preds)
    if len(shape) != 1:
        raise ValueError(
            f"Predictions must be 1-D, one score a document; got shape {shape}. An objective of "
            "several classes has no ranking of its own: use a ranking, regression or binary one."
        )
    if shape[0] != judgments.n_rows:
        raise ValueError(f"There are {shape[0]} predictions, but {judgments.n_rows} labels.")


def _refuse_nan(preds, n_round):
    missing = np.isnan(np.asarray(preds, dtype=float))
    if missing.any():
        raise ValueError(
            f"Predictions must not be NaN: row {int(np.argmax(missing))} is nan at round "
            f"{n_round} of the training. Look at the objective, learning rate and init_score."
        ) from None


def _refuse_undefined(measure, undefined, weights):
    defined = ~undefined
    if not (defined.any() if weights is None else weights[defined].any()):
        of_weight = "" if weights is None else " with weight"
        raise ValueError(
            f"{measure} is undefined for every query{of_weight} of this data set: none has a "
            "relevant document, so there is nothing to measure or to stop on. Look at its labels"
            f"{'' if weights is None else ' and weights'}."
        )
