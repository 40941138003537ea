"""
Is one ranker better than another?
==================================

Three rankers are cross-validated and compared on the same queries. The comparison contains
confidence intervals, and tests with a correction for multiple comparisons.
"""

# %%
# ``cross_evaluate`` stores the value of each query from the fold in which the query is tested.

import matplotlib.pyplot as plt
from lightgbm import LGBMRanker
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import skgraded as sg

X, y, qid = sg.datasets.make_ranking(n_queries=200, random_state=0)
one_feature = make_pipeline(make_column_transformer(("passthrough", [0])), Ridge())
trees = LGBMRanker(n_estimators=60, num_leaves=7, n_jobs=1, verbose=-1, random_state=0)
rankers = {
    "one feature": sg.QueryRanker(one_feature),
    "linear": sg.QueryRanker(Ridge()),
    "trees": sg.QueryRanker(trees),
}
evaluations = {
    name: sg.cross_evaluate(ranker, X, y, qid=qid, measures=["ndcng@10", "mu_map"], cv=5)
    for name, ranker in rankers.items()
}

# %%
# The leaderboard shows the best system by each measure and which systems differ significantly from
# the baseline.

comparison = sg.compare(evaluations, baseline="one feature", rng=0)
print(comparison.leaderboard())

# %%
# The comparison can also be described in sentences, for example for a report.

print("\n\n".join(comparison.sentences()))

# %%
# The plot shows mean differences with intervals. Filled points mark significant differences.

figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
sg.IntervalDisplay.from_comparison(comparison, ax=ax)
plt.show()

# %%
# The next plot shows the per-query differences of one pair. The trees have a higher mean, but they
# are worse on 64 queries.

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
sg.QueryDifferenceDisplay.from_comparison(comparison, system="trees", ax=ax)
plt.show()
