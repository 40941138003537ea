"""
Drop bad candidates early in a hyperparameter search
====================================================

``RacingSearchCV`` evaluates all candidates on the first fold. After each fold, it drops the
candidates that cannot be the best, by tests on the values of all queries so far.
"""

# %%
# Twelve candidates are compared on ten folds. A difference of 0.01 does not matter here, so
# candidates that cannot be better than the leader by more than that are dropped, too.

from lightgbm import LGBMRanker

import skgraded as sg

X, y, qid = sg.datasets.make_ranking(n_queries=200, random_state=0)
ranker = sg.QueryRanker(LGBMRanker(n_estimators=20, n_jobs=1, verbose=-1, random_state=0))
search = sg.model_selection.RacingSearchCV(
    ranker,
    {"estimator__num_leaves": [2, 4, 8, 32], "estimator__learning_rate": [0.01, 0.1, 0.5]},
    margin=0.01,
    prefer="estimator__num_leaves",
    random_state=0,
).fit(X, y, qid=qid)
for sentence in search.sentences():
    print(sentence)

# %%
# A cross marks the fold after which a candidate was dropped. The right panel shows the difference
# to the leader on the queries of these folds. Vertical lines mark no difference and the margin.

sg.RacingDisplay.from_search(search)

# %%
# The search chose the survivor with the fewest leaves. ``comparison_`` compares all survivors with
# the survivor that has the highest mean.

print(search.best_params_)
search.to_frame().sort_values("mean", ascending=False)
