"""
Which features does a ranker use?
=================================

A feature is important if the measure decreases when the values of the feature are permuted.
``FeatureImportanceDisplay`` draws the importances of all features, the most important first.
"""

# %%
# Trees are trained on 150 queries and evaluated on the other 50 queries. Importances on test
# queries show which features help to rank new queries.

import matplotlib.pyplot as plt
import pandas as pd
from lightgbm import LGBMRanker

import skgraded as sg

values, y, qid = sg.datasets.make_ranking(n_queries=200, n_features=8, random_state=0)
X = pd.DataFrame(values, columns=[f"feature {i}" for i in range(8)])
train, test = qid < 150, qid >= 150
trees = LGBMRanker(n_estimators=60, num_leaves=7, n_jobs=1, verbose=-1, random_state=0)
ranker = sg.QueryRanker(trees).fit(X[train], y[train], qid=qid[train])

# %%
# Bars show means over ten permutations, and lines show standard deviations.

_, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
display = sg.FeatureImportanceDisplay.from_estimator(
    ranker, X[test], y[test], qid=qid[test], n_repeats=10, random_state=0, ax=ax
)
plt.show()

# %%
# The display can also draw importances from other sources, such as LightGBM's number of splits per
# feature. This number is computed from the training queries, and includes splits that do not help
# on new queries.

splits = dict(zip(X.columns, ranker.estimator_.feature_importances_, strict=True))
_, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
display_of_splits = sg.FeatureImportanceDisplay.from_importances(splits, ax=ax)
ax.set_xlabel("number of splits")
plt.show()
