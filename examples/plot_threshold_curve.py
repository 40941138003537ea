"""
Average precision without a threshold
=====================================

Average precision distinguishes only relevant and irrelevant documents. Grades therefore require a
relevance threshold, and each threshold gives a different value. μAP requires no threshold: it is
the area under the curve of average precision over all thresholds.
"""

# %%
# The paper on μAP evaluates a list with the grades 1 0 3 3 2 0 1 4, in ranked order.

import matplotlib.pyplot as plt
import numpy as np

import skgraded as sg

y_true = [1, 0, 3, 3, 2, 0, 1, 4]
y_score = [8, 7, 6, 5, 4, 3, 2, 1]
by_threshold = [sg.AP(threshold=t)(y_true, y_score) for t in (1, 2, 3, 4)]
print("AP with the threshold 1, 2, 3, 4:", *(f"{value:.3f}" for value in by_threshold))
print(f"their mean {np.mean(by_threshold):.3f}, μAP {sg.MuAP()(y_true, y_score):.3f}")

# %%
# The plot shows the curve and the area under it.

_, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
display = sg.ThresholdCurveDisplay.from_predictions(
    y_true,
    y_score,
    relative=False,
    name="1 0 3 3 2 0 1 4",
    ax=ax,
    line_kw={"color": "#0072B2"},
)
t, values = display.lines_[0].get_data()
display.ax_.fill_between(t, values, step="pre", color="#0072B2", alpha=0.15)
plt.show()

# %%
# With many queries, one system is better at low thresholds, and the other is better at high
# thresholds. The area under each curve is μMAP.

rng = np.random.default_rng(0)
qid = np.repeat(np.arange(300), 20)
y = rng.integers(0, 5, len(qid))
systems = {
    "finds the excellent": 3.0 * (y >= 4) + rng.normal(size=len(y)),
    "finds the relevant": 3.0 * (y >= 2) + rng.normal(size=len(y)),
}
_, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
of_systems = sg.ThresholdCurveDisplay.from_predictions(y, systems, qid=qid, ax=ax)
plt.show()

# %%
# The last plot shows NDCNG of the same systems by cut-off, in the same colors.

_, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
sg.CutoffCurveDisplay.from_predictions(y, systems, qid=qid, ax=ax)
plt.show()
