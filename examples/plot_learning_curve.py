"""
Would more queries help?
========================

Judgments are dear. A learning curve over whole queries says whether more of them would make a
ranker better, or whether the features are what is missing. scikit-learn's own cuts rows, and so
tears queries.
"""

# %%
# A linear ranker and small trees, trained on 10 to 160 queries, tested on the same held-out folds.

import matplotlib.pyplot as plt
from lightgbm import LGBMRanker
from sklearn.linear_model import Ridge

import skgraded as sg
from skgraded.model_selection import learning_curve

X, y, qid = sg.datasets.make_ranking(n_queries=200, random_state=0)
trees = LGBMRanker(n_estimators=60, num_leaves=7, n_jobs=1, verbose=-1, random_state=0)
curves = {
    name: learning_curve(
        sg.QueryRanker(estimator), X, y, qid=qid, train_sizes=[10, 20, 40, 80, 160], cv=5
    )
    for name, estimator in {"linear": Ridge(), "trees": trees}.items()
}
for name, curve in curves.items():
    means = curve.test_scores["NDCNG@10"].mean(axis=1)
    print(f"{name:8}", *(f"{mean:.3f}" for mean in means))

# %%
# Of the linear ranker the two lines have met: on queries it has not seen it is as good as on its
# own, and more of them would not help it. The trees still gain from every query, and their lines
# are apart.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (name, curve) in zip(axes, curves.items(), strict=True):
    for scores, label, color in [
        (curve.train_scores, "training queries", "0.6"), (curve.test_scores, "others", "#0072B2"),
    ]:
        folds = scores["NDCNG@10"]
        mean, error = folds.mean(axis=1), folds.std(axis=1) / folds.shape[1] ** 0.5
        ax.errorbar(curve.n_queries, mean, error, marker="o", capsize=3, color=color, label=label)
    ax.set(title=name, xlabel="queries to train on", xscale="log")
    ax.set_xticks(curve.n_queries, curve.n_queries)
    ax.minorticks_off()
    ax.grid(alpha=0.3)
axes[0].set_ylabel("NDCNG@10")
axes[0].legend()
plt.show()
