"""
Stop LightGBM when a graded measure stops improving
===================================================

``skgraded.lightgbm.eval_metric`` turns measures into a metric that LightGBM computes after each
round. LightGBM's early stopping works on this metric. Metrics for XGBoost and CatBoost work the
same way.
"""

# %%
# LightGBM requires rows sorted by query, and the sizes of the queries. A quarter of the queries is
# held out.

import lightgbm as lgb
import matplotlib.pyplot as plt
import numpy as np

import skgraded as sg
from skgraded.lightgbm import eval_metric

X, y, qid = sg.datasets.make_ranking(n_queries=200, random_state=0)
parts = []
for rows in (qid < 150, qid >= 150):
    sizes = np.unique(qid[rows], return_counts=True)[1]
    parts.append(lgb.Dataset(X[rows], y[rows], group=sizes))
train, valid = parts

# %%
# ``metric="None"`` disables LightGBM's built-in metrics. With several metrics, LightGBM stops when
# any of them stops improving, unless ``first_metric_only`` is set.

history = {}
booster = lgb.train(
    {"objective": "lambdarank", "metric": "None", "num_leaves": 7, "num_threads": 1, "verbose": -1},
    train,
    400,
    valid_sets=[train, valid],
    valid_names=["training", "held out"],
    feval=eval_metric(["ndcng@10", "mu_map"]),
    callbacks=[
        lgb.early_stopping(60, first_metric_only=True, verbose=False),
        lgb.record_evaluation(history),
    ],
)
held_out = history["held out"]["NDCNG@10"]
print(f"stopped after round {len(held_out)} of 400; the best is round {booster.best_iteration}")

# %%
# On the training queries, the ranker keeps improving. On the held-out queries, the improvement ends
# early.


def draw(name):
    """Draw a measure over the rounds, on the training queries and on the held-out queries."""
    _, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
    for part, color, style in [("training", "#888888", "--"), ("held out", "#0072B2", "-")]:
        values = history[part][name]
        ax.plot(range(1, len(values) + 1), values, color=color, linestyle=style, label=part)
    ax.axvline(booster.best_iteration, color="#D55E00", linestyle=":", label="best round")
    ax.set(xlabel="round", ylabel=name.replace("MuAP", "μAP"))
    ax.grid(alpha=0.3)
    ax.legend()


draw("NDCNG@10")
plt.show()

# %%
# The second measure was recorded during the same training.

draw("MuAP")
plt.show()

# %%
# ``QueryRanker(LGBMRanker(), early_stopping=True)`` does all of this inside ``fit``, also in a grid
# search. Each fit then holds out 10 % of its training queries. With few queries, prefer
# ``early_stopping=5``, which chooses the number of rounds by cross-validation.
