"""
Lenient and strict judges: which measure preserves the order of the systems?
============================================================================

Two judges who agree on the order of the documents may still use the scale differently: a strict
judge gives lower grades, and a lenient judge gives higher ones. This example evaluates the same
systems under both judges and compares the leaderboards with the leaderboard under the true grades.
"""

# %%
# There are 200 queries and twelve systems of different quality, whose scores are the true grades
# plus noise. Each judge first reads every document with some error. The strict judge then moves
# half of the relevant documents down by one grade, and the lenient judge moves half of the
# documents up by one grade.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import skgraded as sg

rng = np.random.default_rng(0)
_, truth, qid = sg.datasets.make_ranking(n_queries=200, random_state=0)
n, top = len(truth), truth.max()
systems = {
    f"system {i + 1}": truth + noise * rng.normal(size=n)
    for i, noise in enumerate(np.linspace(1.0, 2.1, 12))
}


def judged(shift):
    """Return grades with errors, and shift half of the grades."""
    errors = rng.choice([-1, 0, 1], p=[0.15, 0.7, 0.15], size=n)
    return np.clip(truth + errors + shift * (rng.uniform(size=n) < 0.5), 0, top)


judges = {"truth": truth, "fair": judged(0), "strict": judged(-1), "lenient": judged(1)}
measures = ["ndcg@10", "ndcng@10", "mu_map"]
report = sg.compare_judges(judges, systems, qid=qid, measures=measures, rng=0)
report.labels()[["judge", "exact", "kappa", "alpha", "bias"]].round(2)

# %%
# The table of leaderboards contains Kendall's τ for each judge and measure.

boards = report.leaderboards()
boards[["judge", "measure", "tau_b", "tau_low", "tau_high", "largest_drop"]].round(2)

# %%
# A single simulation is not enough to decide between the measures, because τ depends on the
# sampled queries. The experiment is therefore repeated with 20 other samples of queries.

queries, rows = np.unique(qid), []
rows_of = [np.flatnonzero(qid == query) for query in queries]
for repetition in range(20):
    drawn = rng.choice(len(queries), len(queries))
    kept = np.concatenate([rows_of[i] for i in drawn])
    sizes = [len(rows_of[i]) for i in drawn]
    repeated = sg.compare_judges(
        {name: grades[kept] for name, grades in judges.items()},
        {name: scores[kept] for name, scores in systems.items()},
        group=sizes,
        measures=measures,
        test="t",
        n_resamples=100,
        rng=0,
    )
    rows.append(repeated.leaderboards().assign(repetition=repetition))
taus = pd.concat(rows)
summary = taus.groupby(["judge", "measure"], sort=False)["tau_b"].agg(["mean", "std"])
print(summary.round(3))

# %%
# The means and their standard deviations, for each judge:

_, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
names = ["fair", "strict", "lenient"]
colors = {"NDCG@10": "#0072B2", "NDCNG@10": "#E69F00", "MuAP": "#009E73"}
for i, (measure, color) in enumerate(colors.items()):
    of_measure = summary.xs(measure, level="measure").loc[names]
    ax.errorbar(
        np.arange(3) + 0.15 * (i - 1),
        of_measure["mean"],
        of_measure["std"],
        fmt="o",
        color=color,
        label=measure.replace("MuAP", "μAP"),
    )
ax.set_xticks(range(3), names)
ax.set(ylabel="τ with the leaderboard under the truth")
ax.legend(loc="lower left", ncols=3)
plt.show()

# %%
# The result is not what one might hope for. A strict judge costs every measure some τ, but the
# differences between the measures are smaller than their standard deviations over samples. No
# measure preserves the order of these systems clearly better than another.
#
# The values themselves shift as well, by similar amounts. With the lenient judge, the means of
# NDCNG@10 and μAP shift less than the means of NDCG@10.

means = {
    judge: pd.DataFrame(
        {
            name: sg.evaluate(grades, scores, qid=qid, measures=measures).mean()
            for name, scores in systems.items()
        }
    )
    for judge, grades in judges.items()
}
shifts = {judge: (means[judge] - means["truth"]).mean(axis=1) for judge in names}
print(pd.DataFrame(shifts).T.round(3))

# %%
# The means of the systems under the truth and under the strict judge:

for measure in ("NDCG@10", "NDCNG@10"):
    rows = pd.DataFrame({judge: means[judge].loc[measure] for judge in ("truth", "strict")})
    ax = rows.plot.scatter("truth", "strict", title=measure)
    ax.axline((rows["truth"].mean(),) * 2, slope=1, color="0.5", linestyle=":")
plt.show()
