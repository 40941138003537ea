"""
Who is better may depend on how grades are written down
=======================================================

Judges said of each document how relevant it is, in five levels. Whether these are called 0, 1, 2,
3, 4 or 0, 3, 6, 9, 12 is a matter of taste; no document became more or less relevant than another.
NDCG changes all the same, since its gain is 2 to the power of the grade, and it may change its
mind about which of two systems is better. NDCNG divides each grade by the highest of its query
first; μAP asks for the order of the grades and their ratios only. Neither can change.
"""

# %%
# Two systems rank the documents of 300 queries. One finds the documents of the highest grade and
# does not tell the others apart. The other orders all of them, and is less sure of each.

import matplotlib.pyplot as plt
import numpy as np

import skgraded as sg

rng = np.random.default_rng(0)
qid = np.repeat(np.arange(300), 20)
y = rng.integers(0, 5, len(qid))
systems = {
    "finds the best": 4.0 * (y == 4) + rng.normal(size=len(y)),
    "orders all": y + rng.normal(size=len(y)),
}

# %%
# Each is measured with the grades multiplied by 1 to 4.

factors = [1, 1.5, 2, 3, 4]
measures = sg.measure("ndcg@10"), sg.measure("ndcng@10"), sg.measure("mu_map@10")
values = {measure.name: {name: [] for name in systems} for measure in measures}
for factor in factors:
    judgments = sg.Judgments(factor * y, qid=qid)
    for measure in measures:
        for name, scores in systems.items():
            values[measure.name][name].append(measure(judgments, scores))

for name, by_system in values.items():
    for system, found in by_system.items():
        print(f"{name:8} {system:15}", *(f"{value:.3f}" for value in found))

# %%
# By NDCG the lines cross: with the grades as they are, the system that orders all documents is the
# better one, and with the same grades doubled the other. NDCNG and μAP draw level lines.

LOOKS = {"finds the best": ("#D55E00", "s"), "orders all": ("#0072B2", "o")}
figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), sharey=True, layout="constrained")
for ax, (name, by_system) in zip(axes, values.items(), strict=True):
    for system, found in by_system.items():
        color, marker = LOOKS[system]
        ax.plot(factors, found, color=color, marker=marker, label=system)
    ax.set(title=name.replace("MuAP", "μAP"), xlabel="grades multiplied by", xticks=[1, 2, 3, 4])
    ax.set_ylim(0.75, 1)
    ax.grid(alpha=0.3)
axes[0].set_ylabel("mean over 300 queries")
axes[1].legend(title="a system that", loc="lower center")
plt.show()
