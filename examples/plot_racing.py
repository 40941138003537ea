"""
Drop hopeless candidates in a hyperparameter search
===================================================

``RacingSearchCV`` trains the folds of a candidate side by side. It drops a candidate during
training if the candidate cannot become better than the best candidate so far.
"""

# %%
# Each of twelve boosters chooses its number of rounds on five folds. A difference of 0.005 does not
# matter here, so the search prefers fewer leaves among candidates that differ by less.

import matplotlib.pyplot as plt
from lightgbm import LGBMRanker

import skgraded as sg

X, y, qid = sg.datasets.make_ranking(n_queries=200, random_state=0)
booster = LGBMRanker(n_estimators=100, n_jobs=1, verbose=-1, random_state=0)
search = sg.model_selection.RacingSearchCV(
    sg.QueryRanker(booster, early_stopping=True, n_iter_no_change=20),
    {"estimator__learning_rate": [0.1, 0.01, 0.5], "estimator__num_leaves": [8, 2, 4, 32]},
    margin=0.005,
    prefer="estimator__num_leaves",
    random_state=0,
).fit(X, y, qid=qid)
n_candidates = len(search.cv_results_["params"])
print(f"{search.n_rounds_} of {5 * 100 * n_candidates} rounds, {len(search.survivors_)} survivors")

# %%
# The left panel shows the number of rounds of each candidate. Candidates were trained until they no
# longer improved, unless they were dropped. The right panel shows the difference from the best candidate, with
# an interval for candidates that were not dropped. Vertical lines mark no difference and the
# margin.

frame = search.to_frame().sort_values(["survives", "n_rounds", "difference"])
names = frame.index.astype(str)
colors = frame["survives"].map({True: "C0", False: "C1"})
_, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(7, 4), layout="constrained")
left.barh(names, frame["n_rounds"], color=colors)
left.set(xlabel="rounds", ylabel="candidate")
right.hlines(names, frame["ci_low"], frame["ci_high"], colors=colors)
right.scatter(frame["difference"], names, c=colors)
for x in (0, -search.margin):
    right.axvline(x, color="0.5", linewidth=0.8)
right.locator_params(axis="x", nbins=4)
right.set_xlabel("NDCNG@10: difference from the best")
plt.show()

# %%
# The search chose the survivor with the fewest leaves. ``comparison_`` compares all survivors with
# the survivor that has the highest mean.

print(search.best_params_)
search.to_frame().sort_values("mean", ascending=False)
