"""
The better system may depend on the grade scale
===============================================

Judges assign each document one of five levels. Whether the levels are called 0, 1, 2, 3, 4 or 0, 3,
6, 9, 12 is arbitrary: the order of the documents stays the same. Nevertheless, NDCG changes,
because its gain grows exponentially with the grade, and may reverse the verdict on two systems.
NDCNG first divides each grade by the highest grade of the query, and μAP depends only on the ratios
of the grades. Neither changes if all grades are multiplied.
"""

# %%
# Two systems rank the documents of 300 queries. One system finds the documents of the highest grade
# and does not distinguish the other documents. The other system orders all documents, with more noise.

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
# Both systems are measured with the grades multiplied by 1 to 4.

factors = [1, 1.5, 2, 3, 4]
measures = sg.measure("ndcg@10"), sg.measure("ndcng@10"), sg.measure("mu_map@10")
values = {measure.name: {name: [] for name in systems} for measure in measures}
for factor in factors:
    judgments = sg.Judgments(factor * y, qid=qid)
    for measure in measures:
        for name, scores in systems.items():
            values[measure.name][name].append(measure(judgments, scores))

for name, by_system in values.items():
    for system, means in by_system.items():
        print(f"{name:8} {system:15}", *(f"{mean:.3f}" for mean in means))

# %%
# NDCG reverses the verdict: the system that orders all documents is better with the original
# grades, and the other system is better with doubled grades.


LOOKS = {"finds the best": ("#D55E00", "s"), "orders all": ("#0072B2", "o")}


def draw(name):
    """Draw a measure of both systems over the factor of the grades."""
    _, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
    for system, means in values[name].items():
        color, marker = LOOKS[system]
        ax.plot(factors, means, color=color, marker=marker, label=system)
    ax.set(xlabel="grades multiplied by", ylabel=name.replace("MuAP", "μAP"), xticks=[1, 2, 3, 4])
    ax.set_ylim(0.75, 1)
    ax.grid(alpha=0.3)
    ax.legend()


draw("NDCG@10")
plt.show()

# %%
# NDCNG and μAP do not depend on the factor.

draw("NDCNG@10")
draw("MuAP@10")
plt.show()
