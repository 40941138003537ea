"""
Would more queries help?
========================

Judgments are expensive. A learning curve over whole queries shows whether more judged queries would
improve a ranker, or whether better features are needed. scikit-learn's ``learning_curve`` samples
rows and therefore splits queries.
"""

# %%
# A linear ranker and small trees are trained on 10 to 160 queries and tested on the same held-out
# folds.

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
# More queries would help the trees: they improve at each step, and the two lines are far apart.


def draw(name):
    """Draw the means on training queries and on held-out queries, with standard errors."""
    _, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
    curve = curves[name]
    for scores, label, color, style in [
        (curve.train_scores, "training queries", "#888888", "--"),
        (curve.test_scores, "held-out queries", "#0072B2", "-"),
    ]:
        folds = scores["NDCNG@10"]
        mean, error = folds.mean(axis=1), folds.std(axis=1) / folds.shape[1] ** 0.5
        ax.errorbar(
            curve.n_queries, mean, error, marker="o", linestyle=style, capsize=3, color=color,
            label=label,
        )
    ax.set(xlabel=f"training queries, {name}", ylabel="NDCNG@10", xscale="log", ylim=(0.5, 0.95))
    ax.set_xticks(curve.n_queries, curve.n_queries)
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    ax.legend()


draw("trees")
plt.show()

# %%
# For the linear ranker, the lines meet. More queries would not help, but better features might.

draw("linear")
plt.show()
