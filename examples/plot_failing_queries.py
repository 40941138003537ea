"""
Which queries does a ranker fail at?
====================================

A mean hides that a ranker serves some queries very well and others hardly at all. An
``Evaluation`` keeps the value of each query, so that one can look at them, and at groups of them.
"""

# %%
# Out-of-fold values of a linear ranker. Queries without a relevant document have no value of their
# own: they count as 0 in the mean, are counted apart, and are never among the worst.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

import skgraded as sg

X, y, qid = sg.datasets.make_ranking(n_queries=200, n_documents=25, random_state=0)
ev = sg.cross_evaluate(
    sg.QueryRanker(Ridge()), X, y, qid=qid, measures=["ndcng@10", "rr"], cv=5
)
print(ev.summary().round(3).to_string(index=False))
print(ev.worst(5).round(3).to_string(index=False))

# %%
# Is it the long lists, or those with few good documents? Segments are an array beside the queries,
# or a mapping of query to segment.

n_documents = np.bincount(qid)
n_good = np.bincount(qid, weights=y >= 3)
share = n_good / n_documents
segment = np.where(share < 0.1, "few good ones", np.where(share < 0.2, "some", "many"))
table = ev.summary(by=segment)
columns = ["segment", "mean", "ci_low", "ci_high", "n_queries"]
print(table[table.measure == "NDCNG@10"][columns].round(3).to_string(index=False))

# %%
# All queries by their value, and against the share of good documents.

values = ev.per_query["NDCNG@10"]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.bar(np.arange(len(values)), np.sort(values), width=1, color="#0072B2")
left.axhline(ev.mean()["NDCNG@10"], color="#D55E00", label="mean")
left.set(xlabel="queries, the worst first", ylabel="NDCNG@10")
left.legend()
right.scatter(share, values, s=12, color="#0072B2", alpha=0.6)
right.set(xlabel="share of documents of grade 3 or 4", ylabel="NDCNG@10")
plt.show()
