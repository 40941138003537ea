"""
Stop LightGBM when a graded measure stops to rise
=================================================

``skgraded.lightgbm.eval_metric`` makes a metric of any measures, which LightGBM asks after each
round and on which its own early stopping works. XGBoost and CatBoost have the same.
"""

# %%
# LightGBM wants the rows query by query and the sizes of the queries. A quarter of the queries is
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
# ``metric="None"`` turns LightGBM's own metrics off. Of several metrics it stops on the first that
# stalls, unless it is told ``first_metric_only``.

history = {}
booster = lgb.train(
    {"objective": "lambdarank", "metric": "None", "num_leaves": 7, "num_threads": 1, "verbose": -1},
    train, 400, valid_sets=[train, valid], valid_names=["training", "held out"],
    feval=eval_metric(["ndcng@10", "mu_map"]),
    callbacks=[
        lgb.early_stopping(60, first_metric_only=True, verbose=False),
        lgb.record_evaluation(history),
    ],
)
held_out = history["held out"]["NDCNG@10"]
print(f"stopped after round {len(held_out)} of 400; the best is round {booster.best_iteration}")

# %%
# On the queries it trains on, the ranker gets better with every tree. On queries it has not seen
# that ends early.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, name in zip(axes, ["NDCNG@10", "MuAP"], strict=True):
    for part, color in [("training", "0.6"), ("held out", "#0072B2")]:
        ax.plot(range(1, len(held_out) + 1), history[part][name], color=color, label=part)
    ax.axvline(booster.best_iteration, color="#D55E00", linestyle="--", label="the best round")
    ax.set(xlabel="round", ylabel=name.replace("MuAP", "μAP"))
    ax.grid(alpha=0.3)
axes[0].legend()
plt.show()

# %%
# ``QueryRanker(LGBMRanker(), early_stopping=True)`` does all of this inside ``fit``, also in a
# grid search, where each fit holds out some of its own queries.
