"""
Train on the measure: where it matters, and where it does not
=============================================================

``skgraded.lightgbm.objective`` turns a measure into an objective. On three generated data sets,
rankers trained on NDCNG are compared with rankers trained on a built-in objective, using
out-of-fold per-query values. Without a gain, the built-in objective is the simpler choice.
"""

# %%
# - *plain*: integer grades from 0 to 4. No gain is expected.
# - *conflict*: one feature predicts relevant documents, another predicts excellent documents.
# - *real*: grades are positive numbers on a scale that differs between queries, like prices.
#   LightGBM's ``lambdarank`` does not accept them, so the alternative is least squares.

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMRanker, LGBMRegressor

import skgraded as sg
from skgraded.lightgbm import objective

N_QUERIES = 150


def plain():
    """Return data with integer grades."""
    return sg.datasets.make_ranking(N_QUERIES, random_state=0)


def conflict():
    """Return grades 0, 1 and 4: one feature predicts relevance, another predicts excellence."""
    X, _, qid = sg.datasets.make_ranking(N_QUERIES, random_state=1)
    noise = np.random.default_rng(1).normal(size=(2, len(qid)))
    relevant = X[:, 0] + noise[0] > 0.3
    excellent = X[:, 1] - 0.7 * X[:, 0] + noise[1] > 1.0
    return X, relevant + 3.0 * (relevant & excellent), qid


def real():
    """Return real grades on a scale that differs between queries."""
    X, y, qid = sg.datasets.make_ranking(N_QUERIES, random_state=2)
    rng = np.random.default_rng(2)
    scale = np.exp(rng.normal(size=N_QUERIES))[qid]
    return X, scale * np.exp(0.6 * y + 0.4 * rng.normal(size=len(y))), qid


# %%
# Rankers are cross-validated on each data set with the built-in objective and with the NDCNG
# objective.

settings = {
    "n_estimators": 60,
    "learning_rate": 0.1,
    "num_leaves": 7,
    "n_jobs": 1,
    "verbose": -1,
    "random_state": 0,
}
pairs = {
    "plain, against lambdarank": (plain(), LGBMRanker(**settings)),
    "conflict, against lambdarank": (conflict(), LGBMRanker(**settings)),
    "real, against least squares": (real(), LGBMRegressor(**settings)),
}
rows = {}
for name, ((X, y, qid), other) in pairs.items():
    rankers = {
        "other": sg.QueryRanker(other),
        "matched": sg.QueryRanker(LGBMRanker(objective=objective("ndcng"), **settings)),
    }
    evaluations = {
        system: sg.cross_evaluate(ranker, X, y, qid=qid, measures="ndcng", cv=5)
        for system, ranker in rankers.items()
    }
    row = rows[name] = sg.compare(evaluations, baseline="other", rng=0).to_frame().iloc[-1]
    print(
        f"{name:<28} {row['mean'] - row.difference:.3f}  matched {row['mean']:.3f}  "
        f"{row.difference:+.3f} [{row.ci_low:+.3f}, {row.ci_high:+.3f}]"
    )

# %%
# If an interval contains 0, the gain is not significant.

figure, ax = plt.subplots(figsize=(4.8, 2.6), layout="constrained")
for at, row in enumerate(rows.values()):
    ends = [[row.difference - row.ci_low], [row.ci_high - row.difference]]
    ax.errorbar(row.difference, -at, xerr=ends, fmt="o", color="#0072B2", capsize=3)
ax.set_yticks([-at for at in range(len(rows))], [name.replace(", ", ",\n") for name in rows])
ax.set_ylim(-len(rows) + 0.5, 0.5)
ax.axvline(0, color="#888888", linewidth=1)
ax.set_xlabel("gain in NDCNG, 95 % intervals")
plt.show()
