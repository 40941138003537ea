"""
What a tie is worth
===================

Trees give many documents the same score. Which of them comes first is then up to the measure, and
most take the order of the rows, so that the file decides. This shows what that is worth, and what
the exact mean over all orders of the tied documents says.
"""

# %%
# A model that gives every document the same score knows nothing. The rows of many files are sorted
# by grade, though, and then the order of the rows is the ideal one.

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
# Something in between: good scores, rounded ever more coarsely. "ordinal" is the order of rows,
# best and worst are what any order could say. The more documents share a score, the wider is the
# band, and the less the order of rows, here a lucky one, has to do with the model.

rng = np.random.default_rng(0)
scores = y + rng.normal(scale=1.5, size=len(y))
steps = [0.01, 0.25, 0.5, 1, 2, 4, 8]
judgments = sg.Judgments(y, qid=qid)
values = {
    ties: [sg.NDCNG(k=10, ties=ties)(judgments, np.round(scores / step)) for step in steps]
    for ties in ("average", "ordinal", "best", "worst")
}

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.fill_between(steps, values["worst"], values["best"], color="0.85", label="worst to best order")
ax.plot(steps, values["ordinal"], color="#D55E00", marker="x", label="order of sorted rows")
ax.plot(steps, values["average"], color="#0072B2", marker="o", label="mean over all orders")
ax.set(xlabel="scores rounded to multiples of", ylabel="NDCNG@10", xscale="log")
ax.set_xticks(steps, [f"{step:g}" for step in steps], minor=False)
ax.minorticks_off()
ax.legend(loc="lower left")
plt.show()

# %%
# The mean over all orders falls as the scores say less. In the order of the rows the model seems
# to get better the less it says. ``ties="ordinal"`` is there for comparisons with tools that do
# so.
