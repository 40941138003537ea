"""
Estimate the position bias of clicks
====================================

Users examine the first positions more often, so clicks favor the documents that were shown there.
``ClickLog`` estimates this bias from documents that different rankers showed at different
positions.
"""

# %%
# We simulate 20,000 sessions. Each session shows the ranking of one of three rankers, and the user
# examines position k with the probability 1/k. In practice, ``data`` is a frame with these columns.

import numpy as np

import skgraded as sg

rng = np.random.default_rng(0)
y = rng.integers(0, 5, size=5000)
qid = np.repeat(np.arange(500), 10)
rankers = [y + rng.normal(0, 1.5, size=len(y)) for _ in range(3)]
data = sg.datasets.make_clicks(y, rankers, qid, n_sessions=20_000, random_state=0)
log = sg.ClickLog("clicked", "position", qid="qid", item="item", session="session", data=data)

# %%
# The estimates are close to 1/k. Click rates decrease faster than the examination, because the
# rankers show better documents at the top.

bias = log.position_bias(rng=0)
sg.PositionBiasDisplay.from_bias(bias)

# %%
# A click at a position that is rarely examined counts more. The weighted clicks estimate the DCG of
# rankers without favoring the rankers in the log. The intervals include the error of the bias.

new = y + rng.normal(0, 1, size=len(y))
scores = {"old": rankers[0][data.item], "new": new[data.item]}
columns = ["system", "dcg", "difference", "difference_low", "difference_high", "p_value"]
print(log.compare(scores, rng=0)[columns].to_string())
