"""
Train on what is measured: where it matters, and where it does not
==================================================================

``skgraded.lightgbm.objective`` makes an objective of a measure. Here rankers trained on it stand
beside those trained on what the library has, on three made-up sets of queries, compared query by
query, out of fold. Mostly nothing is gained, and then the library's own is the simpler choice.
"""

# %%
# - *plain*: the better documents are those of higher grade. There is nothing to gain.
# - *conflict*: what is relevant and what is excellent depend on different features.
# - *real*: grades are positive numbers on a scale that differs by query, as prices are. LightGBM
#   has no ``lambdarank`` for them as they are; without an objective, least squares is left.

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMRanker, LGBMRegressor

import skgraded as sg
from skgraded.lightgbm import objective

N_QUERIES = 150


def plain():
    """Whole grades."""
    return sg.datasets.make_ranking(N_QUERIES, random_state=0)


def conflict():
    """Grades 0, 1 and 4: one feature tells what is relevant, another what is excellent."""
    X, _, qid = sg.datasets.make_ranking(N_QUERIES, random_state=1)
    noise = np.random.default_rng(1).normal(size=(2, len(qid)))
    relevant = X[:, 0] + noise[0] > 0.3
    excellent = X[:, 1] - 0.7 * X[:, 0] + noise[1] > 1.0
    return X, relevant + 3.0 * (relevant & excellent), qid


def real():
    """Real grades on a scale of the query's own."""
    X, y, qid = sg.datasets.make_ranking(N_QUERIES, random_state=2)
    rng = np.random.default_rng(2)
    scale = np.exp(rng.normal(size=N_QUERIES))[qid]
    return X, scale * np.exp(0.6 * y + 0.4 * rng.normal(size=len(y))), qid


# %%
# Each set is cross-validated twice, with the library's objective and with NDCNG's.

settings = {
    "n_estimators": 60, "learning_rate": 0.1, "num_leaves": 7, "n_jobs": 1, "verbose": -1,
    "random_state": 0,
}
pairs = {
    "plain, beside lambdarank": (plain(), LGBMRanker(**settings)),
    "conflict, beside lambdarank": (conflict(), LGBMRanker(**settings)),
    "real, beside least squares": (real(), LGBMRegressor(**settings)),
}
rows = {}
for name, ((X, y, qid), other) in pairs.items():
    rankers = {
        "other": sg.QueryRanker(other),
        "matched": sg.QueryRanker(LGBMRanker(objective=objective("ndcng"), **settings)),
    }
    found = {
        system: sg.cross_evaluate(ranker, X, y, qid=qid, measures="ndcng", cv=5)
        for system, ranker in rankers.items()
    }
    row = rows[name] = sg.compare(found, baseline="other", rng=0).to_frame().iloc[-1]
    print(f"{name:<28} {row['mean'] - row.difference:.3f}  matched {row['mean']:.3f}  "
          f"{row.difference:+.3f} [{row.ci_low:+.3f}, {row.ci_high:+.3f}]")

# %%
# Where an interval holds 0, nothing was shown.

figure, ax = plt.subplots(figsize=(7, 2.5), layout="constrained")
for at, row in enumerate(rows.values()):
    ends = [[row.difference - row.ci_low], [row.ci_high - row.difference]]
    ax.errorbar(row.difference, -at, xerr=ends, fmt="o", color="#0072B2", capsize=3)
ax.set_yticks([-at for at in range(len(rows))], rows)
ax.axvline(0, color="0.5", linewidth=1)
ax.set_xlabel("NDCNG that an objective made of it has more")
plt.show()
