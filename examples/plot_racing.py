"""
Drop bad candidates early in a hyperparameter search
====================================================

``RacingSearchCV`` evaluates all candidates on the first fold. After each fold, it drops the
candidates that cannot be the best, by tests on the values of all queries so far.
"""

# %%
# Twelve candidates are compared on ten folds. A difference of 0.01 does not matter here, so
# candidates that cannot be better than the leader by more than that are dropped, too.

import matplotlib.pyplot as plt
from lightgbm import LGBMRanker

import skgraded as sg

X, y, qid = sg.datasets.make_ranking(n_queries=200, random_state=0)
ranker = sg.QueryRanker(LGBMRanker(n_estimators=20, n_jobs=1, verbose=-1, random_state=0))
search = sg.model_selection.RacingSearchCV(
    ranker,
    {"estimator__num_leaves": [2, 4, 8, 32], "estimator__learning_rate": [0.01, 0.1, 0.5]},
    margin=0.01,
    prefer="estimator__num_leaves",
    random_state=0,
).fit(X, y, qid=qid)
n_candidates = len(search.cv_results_["params"])
print(f"{search.n_fits_} of {10 * n_candidates} fits, {len(search.survivors_)} survivors")

# %%
# The left panel shows the number of folds of each candidate; survivors were evaluated on all ten.
# The right panel shows the difference to the leader on the queries of these folds, with its
# interval. Vertical lines mark no difference and the margin.

frame = search.to_frame().sort_values(["survives", "n_folds", "difference"])
names = frame.index.astype(str)
colors = frame["survives"].map({True: "C0", False: "C1"})
_, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(7, 4), layout="constrained")
left.barh(names, frame["n_folds"], color=colors)
left.set(xlabel="folds", ylabel="candidate")
right.hlines(names, frame["ci_low"], frame["ci_high"], colors=colors)
right.scatter(frame["difference"], names, c=colors)
for x in (0, search.margin):
    right.axvline(x, color="0.5", linewidth=0.8)
right.locator_params(axis="x", nbins=4)
right.set_xlabel("NDCNG@10: difference to the leader")
plt.show()

# %%
# The search chose the survivor with the fewest leaves. ``comparison_`` compares all survivors with
# the survivor that has the highest mean.

print(search.best_params_)
search.to_frame().sort_values("mean", ascending=False)
