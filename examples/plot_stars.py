"""
Ratings from 1 to 5 stars: subtract 1 first
===========================================

The measures treat grade 0 as irrelevant. Ratings in stars have no 0: the lowest rating is 1 star.
If the stars are passed unchanged, every film counts as relevant, and even a random order gets a
high value. Section 3.2 of Scheel, Lommatzsch and Albayrak (2011) shifts such a scale so that the
irrelevant level is 0: ``y - 1``.
"""

# %%
# A system ranks four films, to which a user gave 2, 3, 1 and 5 stars. μAP is the mean of the
# average precisions at the thresholds 1, 2, 3, 4 and 5. At threshold 1, every film is relevant, so
# the average precision of any order is 1. ``stars - 1`` excludes this threshold.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import skgraded as sg

stars, scores = np.array([2, 3, 1, 5]), [4, 3, 2, 1]
print(f"μAP of the stars:      {sg.MuAP()(stars, scores):.3f}")
print(f"μAP of the stars - 1:  {sg.MuAP()(stars - 1, scores):.3f}")

# %%
# The effect is the same with many users. Here, 300 users rate 12 films each. One system predicts
# the ratings with errors, and the other ranks at random. ``evaluate`` warns about the scale.

rng = np.random.default_rng(0)
n_users, n_films = 300, 12
ratings = pd.DataFrame(
    {
        "user": np.repeat(np.arange(n_users), n_films),
        "stars": rng.choice([1, 2, 3, 4, 5], p=[0.3, 0.25, 0.2, 0.15, 0.1], size=n_users * n_films),
    }
)
ratings["grade"] = ratings["stars"] - 1
ratings["model"] = ratings["stars"] + rng.normal(scale=1.5, size=len(ratings))
ratings["random"] = rng.normal(size=len(ratings))

settings = {"qid": "user", "measures": ["ap", "mu_map", "ndcng@10"], "data": ratings}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    as_stars = sg.evaluate("stars", ["model", "random"], **settings)
print(caught[0].message)
shifted = sg.evaluate("grade", ["model", "random"], **settings)

for scale, evaluations in {"stars": as_stars, "stars - 1": shifted}.items():
    for system, evaluation in evaluations.items():
        values = ", ".join(f"{name} {value:.3f}" for name, value in evaluation.mean().items())
        print(f"{scale:10} {system:7} {values}")

# %%
# With grades from 0, μAP shows a larger difference between the model and the random order.


def draw(name):
    """Draw a measure of both systems on both scales."""
    _, ax = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
    positions = np.arange(2)
    for offset, system, color in ((-0.2, "model", "#0072B2"), (0.2, "random", "#E69F00")):
        values = [evaluations[system].mean()[name] for evaluations in (as_stars, shifted)]
        bars = ax.bar(positions + offset, values, width=0.38, color=color, label=system)
        ax.bar_label(bars, fmt="%.2f", padding=2)
    ax.set(ylim=(0, 1.3), yticks=[0, 0.25, 0.5, 0.75, 1], ylabel=name.replace("MuAP", "μAP"))
    ax.set_xticks(positions, ["1 to 5 stars", "stars - 1"])
    ax.legend(loc="upper right", ncols=2)


draw("MuAP")
plt.show()

# %%
# With stars, AP is 1 for both systems. NDCNG@10 behaves like μAP.

draw("AP")
draw("NDCNG@10")
plt.show()
