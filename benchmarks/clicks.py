"""Clicks as judgments: position bias, comparisons, gains, preferences and training.

python benchmarks/clicks.py bias
python benchmarks/clicks.py coverage [--repetitions 500]
python benchmarks/clicks.py verdicts [--repetitions 56]
python benchmarks/clicks.py gains | preferences | training [--seeds 20]

All logs are simulated by `make_clicks`, so the truth is known.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from lightgbm import Dataset, LGBMRanker, train
from scipy.stats import kendalltau

import skgraded as sg
from skgraded.lightgbm import objective
from skgraded.stats.position_bias import METHODS

ETAS = (0.5, 1, 2)
N_POSITIONS = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--repetitions", type=int, help="of coverage and verdicts")
    parser.add_argument("--seeds", type=int, default=20)
    args = parser.parse_args()
    PARTS[args.part](args)


def world(seed, n_queries=2000, n_rankers=3):
    """Grades and the scores of rankers of different quality, ten documents per query."""
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 5, size=N_POSITIONS * n_queries)
    scores = [y + rng.normal(0, 1.5, size=y.size) for _ in range(n_rankers)]
    return y, scores, np.repeat(np.arange(n_queries), N_POSITIONS)


def log_of(y, scores, qid, eta, n_sessions, seed, **settings):
    examination = np.arange(1, N_POSITIONS + 1.0) ** -eta
    return sg.datasets.make_clicks(
        y, scores, qid, n_sessions, examination=examination, random_state=seed, **settings
    )


def click_log(columns, session="session"):
    return sg.ClickLog("clicked", "position", qid="qid", item="item", session=session, data=columns)


# Position bias -----------------------------------------------------------------------------------


def bias(args):
    """Errors with 200,000 sessions."""
    print("| η | method | largest error, 200,000 sessions |\n| ---: | --- | ---: |")
    for eta in ETAS:
        log = log_of(*world(0), eta, 200_000, 0)
        for method in ("all_pairs", "adjacent_chain", "pivot"):
            estimate = click_log(log).position_bias(method, n_resamples=0).examination
            print(f"| {eta} | {method} | {np.abs(estimate - log.examination).max():.3f} |")


def coverage(args):
    """Coverage of the 95 % intervals of logs with few queries, without sessions."""
    warnings.simplefilter("ignore")
    METHODS.update(dict.fromkeys(METHODS, 1))  # all intervals
    repetitions = args.repetitions or 500
    sizes = (3, 10, 15, 20, 50)
    print(f"| method | {' | '.join(map(str, sizes))} |\n| --- |{' ---: |' * len(sizes)}")
    for method in ("all_pairs", "adjacent_chain", "pivot"):
        cells = []
        for n_queries in sizes:
            covered, known = np.array(
                [few_queries(seed, n_queries, method) for seed in range(repetitions)]
            ).T
            mean = covered.sum() / known.sum()
            error = np.linalg.norm(covered - mean * known) / known.sum()
            cells.append(f"{mean:.3f} ± {error:.3f}")
        print(f"| {method} | {' | '.join(cells)} |", flush=True)


def few_queries(seed, n_queries, method):
    """Return how many intervals cover the truth, and how many intervals there are."""
    log = log_of(*world(seed, n_queries), 1, 2000, seed)
    bias = click_log(log, session=None).position_bias(method, rng=seed)
    truth, frame = log.examination[1:], bias.to_frame()[1:]
    covered = (frame["ci_low"] <= truth) & (truth <= frame["ci_high"])
    return covered.sum(), frame["ci_low"].notna().sum()


# Comparisons -------------------------------------------------------------------------------------

SIZES = ((100, 4_000), (200, 10_000), (500, 20_000))  # queries and sessions
NOISE = {"old": 1.5, "equal": 1.5, "better": 1.0}  # standard deviations of the rankers' errors
SHARES = (("1/3", 1, 2), ("4/5", 4, 1))  # sessions of the old ranker, number of other rankers


def verdicts(args):
    """False verdicts for two equal rankers, and coverage of the intervals of `ClickLog.compare`.

    The scores of the two rankers have the same distribution. Only one of them produced a part of
    the log, from 1/3 to 4/5 of the sessions.
    """
    repetitions, truth, frames = args.repetitions or 56, true_means(), []
    names = (
        "p < .05",
        "p < .05, fixed bias",
        "coverage, means",
        "coverage, differences",
        "no limits",
    )
    print(f"| old ranker's sessions | η | model | logs | {' | '.join(names)} |")
    print(f"| --- | ---: | --- |{' ---: |' * (1 + len(names))}")
    settings = [(share, eta, "position") for share in SHARES for eta in ETAS]
    for i, (share, eta, model) in enumerate([*settings, (SHARES[1], 1, "trust")]):
        rows = [
            one_log(seed, size, share, eta, model, truth)
            for j, size in enumerate(SIZES)
            for seed in 1000 * (3 * i + j) + np.arange(repetitions)
        ]
        frames.append(pd.DataFrame(rows))
        print_shares(f"{share[0]} | {eta} | {model}", frames[-1])
    print_shares("all | | position", pd.concat(frames[:-1]))


def print_shares(name, frame):
    shares = " | ".join(f"{100 * share:.1f} %" for share in frame.mean())
    print(f"| {name} | {len(frame)} | {shares} |", flush=True)


def scores_of(y, noise, rng):
    return y + rng.normal(0, noise, size=y.size)


def true_means():
    """Mean DCG of the attractiveness for each ranker, from many queries."""
    rng = np.random.RandomState(0)
    y, qid = rng.randint(0, 5, size=10**7), np.repeat(np.arange(10**6), N_POSITIONS)
    attraction, dcg = 0.1 + 0.9 * (2.0**y - 1) / 15, sg.DCG(gain="linear")
    means = {noise: dcg(attraction, scores_of(y, noise, rng), qid=qid) for noise in (1.0, 1.5)}
    return np.array([means[noise] for noise in NOISE.values()])


def one_log(seed, size, share, eta, model, truth):
    """Return whether the verdict is false, and which intervals contain the truth."""
    rng = np.random.RandomState(seed)
    (n_queries, n_sessions), (_, times, n_others) = size, share
    y, qid = (
        rng.randint(0, 5, N_POSITIONS * n_queries),
        np.repeat(np.arange(n_queries), N_POSITIONS),
    )
    systems = {name: scores_of(y, noise, rng) for name, noise in NOISE.items()}
    shown = [systems["old"]] * times + [scores_of(y, 1.5, rng) for _ in range(n_others)]
    columns = log_of(y, shown, qid, eta, n_sessions, seed, model=model)
    log, settings = click_log(columns), {"n_resamples": 50, "rng": seed}
    scores = {name: values[columns.item] for name, values in systems.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few clicks: the limits are nan
        table = log.compare(scores, **settings)
    bias = log.position_bias(n_resamples=0)
    fixed = log.compare(scores, bias=bias, **settings)
    has_limits, gaps, later = table["ci_low"].notna().all(), truth[1:] - truth[0], table[1:]
    means = (table["ci_low"] <= truth) & (truth <= table["ci_high"])
    differences = (later["difference_low"] <= gaps) & (gaps <= later["difference_high"])
    return {
        "equal": table["p_value"][1] < 0.05 if has_limits else np.nan,
        "fixed": fixed["p_value"][1] < 0.05,
        "means": means.mean() if has_limits else np.nan,
        "differences": differences.mean() if has_limits else np.nan,
        "no limits": not has_limits,
    }


# Gains -------------------------------------------------------------------------------------------


def gains(args):
    """Means of a new ranker from raw and from weighted clicks, against the attractiveness."""
    measures = [
        "dcg(gain='linear')@10",
        "ndcg(gain='linear')@10",
        "ndcng(gain='linear')@10",
        "mu_map",
    ]
    y, scores, qid = world(0)
    attraction = 0.1 + 0.9 * (2.0**y - 1) / 15
    new = y + np.random.RandomState(1).normal(0, 1, size=y.size)
    log = log_of(y, scores, qid, 1, 200_000, 0)
    clicks = click_log(log)
    estimate = clicks.position_bias(n_resamples=0)
    rows = {}
    for name, grades in (
        ("attractiveness of the shown documents", attraction[log.item]),
        ("raw clicks", log.clicked),
        ("clicks / true examination", clicks.grades(log.examination)),
        ("clicks / estimated examination", clicks.grades(estimate)),
        ("the same, clip=5", clicks.grades(estimate, clip=5)),
    ):
        ev = sg.evaluate(grades, new[log.item], qid=log.session, measures=measures)
        rows[name] = {
            measure: f"{(low + high) / 2:.3f} ± {(high - low) / 2:.3f}"
            for measure, (low, high) in ev.confidence_interval(method="t").items()
        }
    print(pd.DataFrame(rows).T.to_string())


# Preferences -------------------------------------------------------------------------------------


def preferences(args):
    """How EDRC from clicks orders five systems, compared with the true grades."""
    rng = np.random.RandomState(0)
    y, scores, qid = world(0, 300)
    systems = {f"noise {s}": y + rng.normal(0, s, size=y.size) for s in (0.5, 1, 2, 3, 5)}
    truth = {name: sg.evaluate(y, s, qid=qid).mean()["NDCNG@10"] for name, s in systems.items()}
    log = log_of(y, scores, qid, 1, 3_000, 0)
    table = {"NDCNG@10 by grades": truth}
    for rule in ("click_skip_above", "last_click_skip_above"):
        pairs, session = click_log(log).preferences(rule)
        shown = {s: log.item[log.session == s] for s in np.unique(session)}
        table[rule] = {
            name: sg.evaluate_preferences(
                pairs,
                {s: dict(zip(items, values[items], strict=True)) for s, items in shown.items()},
                qid=session,
                cycles="unknown",
                items="judged",
            ).mean()["EDRC"]
            for name, values in systems.items()
        }
    frame = pd.DataFrame(table)
    frame.loc["Kendall's τ with the grades"] = [
        kendalltau(column, frame["NDCNG@10 by grades"]).statistic for _, column in frame.items()
    ]
    print(frame.round(3).to_string())


# Training ----------------------------------------------------------------------------------------


def training(args):
    """NDCNG@10 by true grades of rankers that are trained on clicks."""
    warnings.simplefilter("ignore")
    rows = [trained(seed) for seed in range(args.seeds)]
    frame = pd.DataFrame(rows)
    means, errors = frame.mean(), frame.sub(frame["raw clicks"], axis=0).sem()
    for name in frame:
        print(
            f"| {name} | {means[name]:.4f} | {means[name] - means['raw clicks']:+.4f} "
            f"± {1.96 * errors[name]:.4f} |"
        )


def trained(seed):
    from xgboost import XGBRanker

    X, y, qid = sg.datasets.make_ranking(400, 15, n_features=10, random_state=seed)
    rng = np.random.RandomState(seed)
    test = qid >= 300
    logged = [X[:, i] + rng.normal(0, 0.5, len(y)) for i in range(3)]
    fit = ~test
    log = sg.datasets.make_clicks(
        y[fit], [s[fit] for s in logged], qid[fit], 6_000, random_state=seed
    )
    clicks = click_log(log)
    rows, sessions = X[fit][log.item], log.session
    weighted = clicks.grades(clicks.position_bias(n_resamples=0), clip=20)
    settings = {
        "n_estimators": 100,
        "num_leaves": 7,
        "learning_rate": 0.05,
        "n_jobs": 1,
        "verbose": -1,
        "random_state": 0,
    }

    def value(model):
        return sg.NDCNG(k=10)(y[test], model.predict(X[test]), qid=qid[test])

    def ranker(grades, **changes):
        model = sg.QueryRanker(
            LGBMRanker(**settings | changes), **({"grades": "gain"} if grades is weighted else {})
        )
        return model.fit(rows, grades, qid=sessions)

    dcg = {"objective": objective("dcg(gain='linear')@10"), "metric": "None"}
    result = {
        "true grades": value(
            sg.QueryRanker(LGBMRanker(**settings)).fit(X[fit], y[fit], qid=qid[fit])
        ),
        "raw clicks": value(ranker(log.clicked)),
        "raw clicks, objective('dcg')": value(ranker(log.clicked, **dcg)),
        "weighted clicks, grades='gain'": value(ranker(weighted)),
        "weighted clicks, objective('dcg')": value(ranker(weighted, **dcg)),
    }
    groups = np.bincount(sessions)
    data = Dataset(rows, log.clicked, group=groups, position=log.position - 1)
    params = {
        "objective": "lambdarank",
        "num_leaves": 7,
        "learning_rate": 0.05,
        "verbose": -1,
        "num_threads": 1,
        "lambdarank_position_bias_regularization": 0.1,
    }
    result["LightGBM's position"] = value(train(params, data, num_boost_round=100))
    unbiased = XGBRanker(
        objective="rank:ndcg",
        lambdarank_unbiased=True,
        lambdarank_pair_method="topk",
        n_estimators=100,
        max_leaves=7,
        max_depth=0,
        grow_policy="lossguide",
        learning_rate=0.05,
        n_jobs=1,
        tree_method="hist",
    )
    result["XGBoost's lambdarank_unbiased"] = value(unbiased.fit(rows, log.clicked, qid=sessions))
    return result


PARTS = {
    "bias": bias,
    "coverage": coverage,
    "verdicts": verdicts,
    "gains": gains,
    "preferences": preferences,
    "training": training,
}

if __name__ == "__main__":
    main()
