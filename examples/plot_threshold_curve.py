"""
Average precision without a threshold
=====================================

Average precision knows relevant and not relevant. With grades one has to choose from which grade
on a document is relevant, and each choice gives another number. μAP chooses none: it is the area
under the curve of all of them.
"""

# %%
# The list of the paper of μAP, from the best rank to the last: grades 1 0 3 3 2 0 1 4.

import matplotlib.pyplot as plt
import numpy as np

import skgraded as sg

y_true = [1, 0, 3, 3, 2, 0, 1, 4]
y_score = [8, 7, 6, 5, 4, 3, 2, 1]
by_threshold = [sg.AP(threshold=t)(y_true, y_score) for t in (1, 2, 3, 4)]
print("AP with the threshold 1, 2, 3, 4:", *(f"{value:.3f}" for value in by_threshold))
print(f"their mean {np.mean(by_threshold):.3f}, μAP {sg.MuAP()(y_true, y_score):.3f}")

# %%
# The curve, and the area under it.

display = sg.ThresholdCurveDisplay.from_predictions(
    y_true, y_score, relative=False, name="1 0 3 3 2 0 1 4", color="#0072B2"
)
t, values = display.lines_[0].get_data()
display.ax_.fill_between(t, values, step="pre", color="#0072B2", alpha=0.15)
plt.show()

# %%
# On many queries: two systems that a low threshold puts in one order and a high one in the other.
# μMAP is the area under each line, and the right picture shows NDCNG at every cut-off.

rng = np.random.default_rng(0)
qid = np.repeat(np.arange(300), 20)
y = rng.integers(0, 5, len(qid))
systems = {
    "finds the excellent": 3.0 * (y >= 4) + rng.normal(size=len(y)),
    "finds the relevant": 3.0 * (y >= 2) + rng.normal(size=len(y)),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
displays = {}
for (name, scores), color in zip(systems.items(), ["#D55E00", "#0072B2"], strict=True):
    displays[name] = sg.ThresholdCurveDisplay.from_predictions(
        y, scores, qid=qid, name=name, ax=left, color=color
    )
    sg.CutoffCurveDisplay.from_predictions(
        y, scores, qid=qid, measures="ndcng", name=name, ax=right, color=color
    )
plt.show()
