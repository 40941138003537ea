"""Docstring sections shared by the modules for the boosting libraries."""

COMMON = """
measure : Measure or str
    NDCG, NDCNG, DCG, AP, MuAP, GAP, RPrecision or RBP, with or without a cut-off.
measures : Measure, str, or list of these
    The measures to compute. The predictions are sorted once for all measures of a list.
truncation : int, default=30
    A pair counts only if one of its documents is among the first `truncation` ranks, as with
    LightGBM's ``lambdarank_truncation_level`` and XGBoost's ``lambdarank_num_pair_per_sample``.
    Choose a value slightly above the cut-off.
sigmoid : float, default=1.0
    Steepness of the probability of a wrong order, 1 / (1 + exp(sigmoid · score difference)).
norm : bool, default=True
    Whether to reduce the weight of pairs whose scores are far apart, and of queries with large
    gradients, as with LightGBM's ``lambdarank_norm``.

Raises
------
ValueError, TypeError
    If a measure cannot be parsed, is repeated or cannot be used here, or if another argument is
    out of range.
"""
ON_METRICS = (
    COMMON
    + """
Notes
-----
The values equal the values of the measures, including the treatment of ties. The weight of a
query is the mean weight of its rows.

A call raises a ValueError if a value would be misleading: if predictions are NaN or multiclass, if
the data set has no queries, or if a measure is undefined for every query with positive weight,
regardless of its `undefined` parameter.

The libraries store labels as 32-bit floats. Each label is converted to the shortest decimal that
rounds to it, and so are the `threshold` and `max_grade` of a measure.
"""
)
ON_OBJECTIVES = (
    COMMON
    + """
Notes
-----
Swapping two documents changes the measure by Δ. Let d be the score of the document with the higher
grade minus the score of the other document. The document with the higher grade is pushed up by
σ abs(Δ) / (1 + exp(σ d)), and the other is pushed down by the same amount. With ``norm``, abs(Δ) is
divided by 0.01 + abs(d), and the gradients of a query are multiplied by log2(1 + λ) / λ, where λ is
the sum of all pushes in the query. The gradients are also multiplied by the weight of the query,
the mean weight of its rows. Tied documents are ranked in the same random order in each training.

Both derivatives are 32-bit floats, and are limited to 1.7e38 in magnitude. A call raises a
ValueError for data sets without queries and for predictions that are not finite.
"""
)
