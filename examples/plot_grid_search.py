"""
Tune a ranker with scikit-learn's grid search
=============================================

Two parameters of an ``LGBMRanker`` are tuned. Metadata routing passes the query of each row to the
ranker, to the splitter, which never splits a query, and to the scorer, which averages per-query
values.
"""

# %%
# The scorer computes two measures from one prediction; ``refit`` names the measure that selects the
# best candidate.

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
        ranker,
        grid,
        scoring=scorer,
        refit="NDCNG@10",
        cv=GroupKFold(5).set_split_request(groups="qid"),
    ).fit(X, y, qid=qid)
print(search.best_params_)
print(f"NDCNG@10 of the best, mean of 5 folds: {search.best_score_:.3f}")

# %%
# Small trees perform best, because large trees overfit with only 150 queries. Error bars show
# standard errors over the folds.


def draw(name):
    """Draw the mean of a measure over the folds for each candidate."""
    _, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
    results = search.cv_results_
    looks = ("#0072B2", "o", "-"), ("#D55E00", "s", "--")
    for rate, (color, marker, style) in zip(grid["estimator__learning_rate"], looks, strict=True):
        rows = results["param_estimator__learning_rate"] == rate
        ax.errorbar(
            results["param_estimator__num_leaves"][rows].astype(int),
            results[f"mean_test_{name}"][rows],
            results[f"std_test_{name}"][rows] / 5**0.5,
            marker=marker,
            linestyle=style,
            capsize=3,
            color=color,
            label=f"learning rate {rate}",
        )
    ax.set_xscale("log", base=2)
    ax.set_xticks(grid["estimator__num_leaves"], grid["estimator__num_leaves"])
    ax.set(xlabel="leaves per tree", ylabel=name.replace("MuAP", "μAP"))
    ax.grid(alpha=0.3)
    ax.legend()


draw("NDCNG@10")
plt.show()

# %%
# The second measure is computed from the same predictions.

draw("MuAP")
plt.show()
