"""
How much ties matter
====================

Trees assign the same score to many documents. Most tools then rank tied documents in the order of
the rows, so the values depend on the file. This example shows how large the effect is, and compares
it with the exact mean over all orders of the tied documents.
"""

# %%
# A model that assigns the same score to every document is useless. However, the rows of many files
# are sorted by grade, so the order of the rows is ideal.

import matplotlib.pyplot as plt
import numpy as np

import skgraded as sg

_, y, qid = sg.datasets.make_ranking(n_queries=200, n_documents=30, random_state=0)
order = np.lexsort([-y, qid])  # the best documents of each query first
y, qid = y[order], qid[order]
constant = np.zeros(len(y))
for ties in ("average", "ordinal", "best", "worst"):
    print(f"{ties:8} {sg.NDCNG(k=10, ties=ties)(y, constant, qid=qid):.3f}")

# %%
# In an intermediate case, good scores are rounded more and more coarsely. "ordinal" keeps the order
# of the rows. The values of all orders are within the band from "worst" to "best", which becomes
# wider as more documents are tied.

rng = np.random.default_rng(0)
scores = y + rng.normal(scale=1.5, size=len(y))
steps = [0.01, 0.25, 0.5, 1, 2, 4, 8]
judgments = sg.Judgments(y, qid=qid)
values = {
    ties: [sg.NDCNG(k=10, ties=ties)(judgments, np.round(scores / step)) for step in steps]
    for ties in ("average", "ordinal", "best", "worst")
}

figure, ax = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
ax.fill_between(
    steps, values["worst"], values["best"], color="#888888", alpha=0.3, label="worst to best order"
)
ax.plot(
    steps,
    values["ordinal"],
    color="#D55E00",
    marker="x",
    linestyle="--",
    label="order of sorted rows",
)
ax.plot(steps, values["average"], color="#0072B2", marker="o", label="mean over all orders")
ax.set(xlabel="scores rounded to multiples of", ylabel="NDCNG@10", xscale="log")
ax.set_xticks(steps, [f"{step:g}" for step in steps], minor=False)
ax.minorticks_off()
ax.legend(loc="lower left")
plt.show()

# %%
# The mean over all orders decreases as the scores become coarser. In the order of the rows, the
# model seems to improve. Use ``ties="ordinal"`` only for comparisons with tools that rank tied
# documents in row order.
