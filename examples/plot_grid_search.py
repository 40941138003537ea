"""
Tune a ranker with scikit-learn's grid search
=============================================

An ``LGBMRanker`` is searched over two parameters. The query of each row goes with it by metadata
routing: to the splitter, which keeps queries whole, to the ranker, and to the scorer, which
measures query by query.
"""

# %%
# The scorer has two measures and predicts once for both; ``refit`` names the one that decides.

import matplotlib.pyplot as plt
import sklearn
from lightgbm import LGBMRanker
from sklearn.model_selection import GridSearchCV, GroupKFold

import skgraded as sg

X, y, qid = sg.datasets.make_ranking(n_queries=150, random_state=0)
grid = {
    "estimator__num_leaves": [2, 4, 8, 32],
    "estimator__learning_rate": [0.05, 0.2],
}
ranker = sg.QueryRanker(LGBMRanker(n_estimators=50, n_jobs=1, verbose=-1, random_state=0))
scorer = sg.make_ranking_scorer(["ndcng@10", "mu_map"])
with sklearn.config_context(enable_metadata_routing=True):
    search = GridSearchCV(
        ranker, grid, scoring=scorer, refit="NDCNG@10",
        cv=GroupKFold(5).set_split_request(groups="qid"),
    ).fit(X, y, qid=qid)
print(search.best_params_)
print(f"NDCNG@10 of the best, mean of 5 folds: {search.best_score_:.3f}")

# %%
# Small trees win here: 150 queries are few, and large trees learn them by heart. The bars are
# standard errors over the folds.

found = search.cv_results_
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, name in zip(axes, scorer.names, strict=True):
    for rate, color in zip(grid["estimator__learning_rate"], ["#0072B2", "#D55E00"], strict=True):
        rows = found["param_estimator__learning_rate"] == rate
        ax.errorbar(
            found["param_estimator__num_leaves"][rows].astype(int),
            found[f"mean_test_{name}"][rows], found[f"std_test_{name}"][rows] / 5**0.5,
            marker="o", capsize=3, color=color, label=f"learning rate {rate}",
        )
    ax.set_xscale("log", base=2)
    ax.set_xticks(grid["estimator__num_leaves"], grid["estimator__num_leaves"])
    ax.set(xlabel="leaves of a tree", ylabel=name.replace("MuAP", "μAP"))
    ax.grid(alpha=0.3)
axes[0].legend()
plt.show()
