"""
Is one ranker better than another?
==================================

Three rankers are cross-validated by query and compared on the same queries, with intervals and
tests that are corrected for how many there are.
"""

# %%
# ``cross_evaluate`` keeps the value of each query from the fold that tested it.

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
found = {
    name: sg.cross_evaluate(ranker, X, y, qid=qid, measures=["ndcng@10", "mu_map"], cv=5)
    for name, ranker in rankers.items()
}

# %%
# The leaderboard shows the best system by each measure and which systems differ significantly from
# the baseline.

comparison = sg.compare(found, baseline="one feature", rng=0)
print(comparison.leaderboard())

# %%
# The same in sentences that can go into a report.

print("\n\n".join(comparison.sentences()))

# %%
# Left, the mean differences with their intervals: where one holds 0, nothing was shown. Right, the
# differences of one pair query by query: a better mean hides many queries that got worse.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
sg.IntervalDisplay.from_comparison(comparison, ax=left)
sg.QueryDifferenceDisplay.from_comparison(comparison, system="trees", ax=right)
plt.show()
