"""
On which queries does a ranker perform poorly?
==============================================

A good mean can hide queries with poor results. An ``Evaluation`` stores the value of each query, so
individual queries and groups of queries can be examined.
"""

# %%
# A linear ranker is cross-validated. Queries without a relevant document are undefined: they count
# as 0 in the mean, are counted separately, and are never listed among the worst queries.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

import skgraded as sg

X, y, qid = sg.datasets.make_ranking(n_queries=200, n_documents=25, random_state=0)
ev = sg.cross_evaluate(sg.QueryRanker(Ridge()), X, y, qid=qid, measures=["ndcng@10", "rr"], cv=5)
print(ev.summary().round(3).to_string(index=False))
print(ev.worst(5).round(3).to_string(index=False))

# %%
# Segments show whether the ranker performs poorly on queries with few good documents. Pass an array
# with one element per query, or a mapping from query ids to segments.

n_documents = np.bincount(qid)
n_good = np.bincount(qid, weights=y >= 3)
share = n_good / n_documents
segment = np.where(share < 0.1, "few good ones", np.where(share < 0.2, "some", "many"))
table = ev.summary(by=segment)
columns = ["segment", "mean", "ci_low", "ci_high", "n_queries"]
print(table[table.measure == "NDCNG@10"][columns].round(3).to_string(index=False))

# %%
# The plot shows the value of each query, the worst query first.

values = ev.per_query["NDCNG@10"]
figure, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
ax.bar(np.arange(len(values)), np.sort(values), width=1, color="#0072B2")
ax.axhline(ev.mean()["NDCNG@10"], color="#D55E00", linestyle="--", label="mean")
ax.set(xlabel="queries, the worst first", ylabel="NDCNG@10")
ax.legend()
plt.show()

# %%
# The next plot shows the same values against the share of good documents. The ranker performs worst
# on queries with few good documents.

figure, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
ax.scatter(share, values, s=12, color="#0072B2", alpha=0.6)
ax.set(xlabel="share of documents of grade 3 or 4", ylabel="NDCNG@10")
plt.show()
