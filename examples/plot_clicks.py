"""
Estimate the position bias of clicks
====================================

Users examine the first positions more often, so clicks favor the documents that were shown there.
``position_bias`` estimates this bias from documents that different rankers showed at different
positions.
"""

# %%
# We simulate 20,000 sessions. Each session shows the ranking of one of three rankers, and the user
# examines position k with the probability 1/k. In practice, a log provides these columns.

import numpy as np

import skgraded as sg

rng = np.random.default_rng(0)
y = rng.integers(0, 5, size=5000)
qid = np.repeat(np.arange(500), 10)
rankers = [y + rng.normal(0, 1.5, size=len(y)) for _ in range(3)]
log = sg.datasets.make_clicks(y, rankers, qid, n_sessions=20_000, random_state=0)

# %%
# The estimates are close to 1/k. Click rates decrease faster than the examination, because the
# rankers show better documents at the top.

bias = sg.position_bias(
    log.clicked, log.position, qid=log.qid, item=log.item, session=log.session, rng=0
)
sg.PositionBiasDisplay.from_bias(bias)

# %%
# A click at a position that is rarely examined counts more. With these grades, DCG estimates the
# gain that a new ranker would have if users examined every document. Raw clicks underestimate it.

new = y + rng.normal(0, 1, size=len(y))
grades = sg.click_grades(log.clicked, log.position, bias)
raw, weighted = (
    sg.evaluate(clicks, new[log.item], qid=log.session, measures="dcg(gain='linear')@10")
    for clicks in (log.clicked, grades)
)
print("raw clicks:", raw)
print("weighted clicks:", weighted)
