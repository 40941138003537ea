"""Coverage, width and worth of prediction-powered means, by simulation.

A population of queries is generated once, with grades of people and grades of a judge that are
biased upwards. Each repetition draws n queries with both grades and N queries with the judge's
grades alone. The true mean is the mean of the human values over the population. The standard error
of a coverage of 95 % over 2,000 repetitions is 0.5 %.
"""

import argparse
import time
from typing import NamedTuple

import numpy as np
from sklearn.metrics import cohen_kappa_score

import skgraded as sg
from skgraded.stats.intervals import estimate_mean, t_interval
from skgraded.stats.prediction_powered import powered_mean

N_DOCUMENTS = 30  # per query
SKEWED = ("rr(threshold=3)", "rr(threshold=2)", "ndcng@10", "mu_map")
N_RESAMPLES = 999  # of the bootstrap intervals
MEASURES = ("ndcng@10", "mu_map", "rr")
GRADE_LIMITS = (0.3, 0.9, 1.6)  # of the latent relevance: 58 % of the grades are 0
# Standard deviations of the judge's errors per document and per query, and limits of its grades.
# With these values, κ is .32 and .56, and the grades are .3 too high on average.
JUDGES = {"medium": (0.85, 0.4, (0.06, 0.7, 1.45)), "good": (0.12, 0.06, (0.02, 0.55, 1.2))}


class Population(NamedTuple):
    """Per-query values of people and of a judge, keyed by estimated quantity."""

    human: dict[str, np.ndarray]
    judge: dict[str, np.ndarray]
    easiness: np.ndarray
    kappa: float
    bias: float


def generate(n_queries, judge, measures=MEASURES, noise_factor=1.0, seed=0):
    """Generate a population; `judge` is a key of `JUDGES`, or "useless" for random grades."""
    rng = np.random.default_rng(seed)
    easiness = rng.normal(size=(n_queries, 1))
    shape = n_queries, N_DOCUMENTS
    relevance = rng.normal(size=shape) + 0.3 * easiness
    grades = np.digitize(relevance, GRADE_LIMITS)
    noise = noise_factor * np.exp(-0.4 * easiness)
    scores = {
        name: relevance + noise * rng.normal(scale=s, size=shape)
        for name, s in (("A", 1.4), ("B", 1.2))
    }
    if judge == "useless":
        judged = rng.permuted(grades.ravel()).reshape(shape)
    else:
        per_document, per_query, limits = JUDGES[judge]
        errors = per_document * rng.normal(size=shape) + per_query * rng.normal(size=(n_queries, 1))
        judged = np.digitize(relevance + errors, limits)
    human, values = (
        _values(grade, scores, np.repeat(np.arange(n_queries), N_DOCUMENTS), measures)
        for grade in (grades, judged)
    )
    return Population(
        human,
        values,
        easiness[:, 0],
        cohen_kappa_score(grades.ravel(), judged.ravel()),
        float(np.mean(judged - grades)),
    )


def _values(grades, scores, qid, measures):
    by_system = {
        name: sg.evaluate(grades.ravel(), values.ravel(), qid=qid, measures=measures).per_query
        for name, values in scores.items()
    }
    means = {measure: values for measure, values in by_system["A"].items()}
    differences = {
        f"{measure}, B - A": by_system["B"][measure] - means[measure] for measure in means
    }
    return means | differences


class Result(NamedTuple):
    """Rates and medians over the repetitions for one quantity."""

    coverage: float
    human_coverage: float
    judge_coverage: float
    width: float  # relative to the interval of the human values alone
    worth: float  # relative to n


def simulate(population, n, n_judge, repetitions, from_easy=False, seed=1):
    """Return a Result for each quantity; `from_easy` draws the n queries from the easier half."""
    rng = np.random.default_rng(seed)
    order = np.argsort(-population.easiness)
    pool = order[: len(order) // 2] if from_easy else order
    samples = []
    for _ in range(repetitions):
        judged = rng.choice(pool, n, replace=False)
        others = rng.choice(len(order), n + n_judge, replace=False)
        samples.append((judged, np.setdiff1d(others, judged)[:n_judge]))
    results = {}
    for quantity, human in population.human.items():
        judge = population.judge[quantity]
        rows = np.array([_one(human, judge, *sample) for sample in samples])
        results[quantity] = Result(*rows[:, :3].mean(axis=0), *np.nanmedian(rows[:, 3:], axis=0))
    return results


def _one(human, judge, judged, others):
    """Return whether three intervals contain the true mean, the relative width, and the worth."""
    truth = human.mean()
    powered = powered_mean(human[judged], judge[judged], judge[others])
    alone = estimate_mean(human[judged], None)
    by_judge = estimate_mean(judge[np.concatenate([judged, others])], None)
    intervals = [t_interval(estimate, 0.95) for estimate in (powered, alone, by_judge)]
    widths = [interval.high - interval.low for interval in intervals]
    return [
        *(interval.low <= truth <= interval.high for interval in intervals),
        widths[0] / widths[1] if widths[1] else np.nan,
        powered.worth / len(judged),
    ]


def sparse_values(n_queries, seed=0):
    """Per-query human values that are mostly 0 or skewed, by name; "difference" has the mean 0."""
    rng = np.random.default_rng(seed)
    uniform, values = rng.random(n_queries), rng.beta(2, 2, n_queries)
    skewed = np.where(uniform < 0.05, 0.95, -0.05 + 0.02 * rng.normal(size=n_queries))
    return {
        "no zeros": values,
        "80 % zeros": np.where(uniform < 0.2, values, 0),
        "95 % zeros": np.where(uniform < 0.05, values, 0),
        "20 % ones, 80 % zeros": (uniform < 0.2).astype(float),
        "5 % ones, 95 % zeros": (uniform < 0.05).astype(float),
        "difference, 90 % zeros, 5 % each -0.5 and 0.5": (
            0.5 * (uniform < 0.05) - 0.5 * (uniform > 0.95)
        ),
        "difference, 90 % zeros, 8 % -0.25, 2 % 1": (uniform < 0.02) - 0.25 * (uniform > 0.92),
        "difference, 95 % near -0.05, 5 % 0.95": skewed - skewed.mean(),
    }


def print_sparse(n_queries, repetitions):
    """Print the coverage for sparse values, with a judge whose values are right in 80 %."""
    print("\n| quantity | n | constant | covers | human alone |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, human in sparse_values(n_queries).items():
        rng = np.random.default_rng(1)
        judge = np.where(rng.random(n_queries) < 0.8, human, rng.permutation(human))
        for n in (5, 10, 20, 50):
            covers = np.full((repetitions, 2), np.nan)
            for i in range(repetitions):
                judged, others = np.split(rng.integers(n_queries, size=n + 1000), [n])
                if np.ptp(human[judged]):
                    covers[i] = _one(human, judge, judged, others)[:2]
            print(
                f"| {name} | {n} | {100 * np.isnan(covers[:, 0]).mean():.1f} % | "
                f"{' | '.join(f'{100 * rate:.1f} %' for rate in np.nanmean(covers, axis=0))} |"
            )


def bootstrap_intervals(human, judge, others, rng):
    """Return the bootstrap-t and the BCa interval for a prediction-powered mean.

    The n human-judged queries are resampled, and the judge's mean over the other queries is drawn
    from its normal distribution. λ is estimated again from each resample.
    """
    from scipy.special import ndtr, ndtri

    n, n_judge = len(human), len(others)
    drawn = rng.integers(n, size=(N_RESAMPLES, n))
    left_out = np.array([[i for i in range(n) if i != query] for query in range(n)])
    mean = others.mean() + np.sqrt(others.var(ddof=1) / n_judge) * rng.normal(size=N_RESAMPLES)
    variance = np.var(np.concatenate([judge, others]), ddof=1)

    def estimates(rows, mean):
        h, j = human[rows], judge[rows]
        m = h.shape[1]
        covariance = ((h - h.mean(axis=1)[:, None]) * j).sum(axis=1) / (m - 1)
        weight = np.clip(covariance / ((1 + n / n_judge) * variance), 0, 1)
        rest = h - weight[:, None] * j
        square = weight**2 * others.var(ddof=1) / n_judge + rest.var(axis=1, ddof=1) / n
        return weight * mean + rest.mean(axis=1), np.sqrt(square)

    means, errors = estimates(drawn, mean)
    (estimate,), (error,) = estimates(np.arange(n)[None], others.mean())
    is_known = errors > 1e-12  # resamples of equal values have no t
    t = (means[is_known] - estimate) / errors[is_known]
    by_t = estimate - error * np.quantile(t, [0.975, 0.025])
    bias = ndtri(((means < estimate).mean() + (means <= estimate).mean()) / 2)
    jackknife = estimates(left_out, others.mean())[0]
    spread = jackknife.mean() - jackknife
    acceleration = (spread**3).sum() / (6 * (spread**2).sum() ** 1.5 + 1e-300)
    z = bias + ndtri([0.025, 0.975])
    return by_t, np.quantile(means, ndtr(bias + z / (1 - acceleration * z)))


def print_skewed(n_queries, repetitions, n_judge=2000):
    """Print coverages of four intervals, and the widths of bootstrap intervals, by skewness."""
    from scipy.stats import skew

    print(
        "\n| quantity | skewness | κ | n | human alone | covers | bootstrap-t "
        "| BCa | bootstrap-t width | BCa width |"
    )
    print(f"| --- | {' | '.join(['---:'] * 9)} |")
    for judge in ("medium", "good"):
        population = generate(n_queries, judge, SKEWED, noise_factor=0.4)
        for name in [name for name in population.human if "B - A" not in name]:
            human = population.human[name]
            values, rng = population.judge[name], np.random.default_rng(1)
            for n in (10, 25, 50):
                rows = []
                for _ in range(repetitions):
                    judged, others = np.split(rng.integers(n_queries, size=n + n_judge), [n])
                    if np.ptp(human[judged]):
                        rows.append(_skewed(human, values, judged, others, rng))
                rates, widths = np.mean(rows, axis=0)[:4], np.nanmedian(rows, axis=0)[4:]
                cells = [f"{100 * rate:.1f} %" for rate in rates] + [f"{w:.2f}" for w in widths]
                print(
                    f"| {name} | {skew(human):.1f} | {population.kappa:.2f} | {n} | "
                    f"{' | '.join(cells)} |"
                )


def _skewed(human, judge, judged, others, rng):
    """Return whether four intervals contain the mean, and two widths relative to the t interval."""
    sample = human[judged], judge[judged], judge[others]
    t = t_interval(powered_mean(*sample), 0.95)
    intervals = [
        t_interval(estimate_mean(human[judged], None), 0.95),
        t,
        *bootstrap_intervals(*sample, rng),
    ]
    truth, width = human.mean(), t.high - t.low
    return [
        *(low <= truth <= high for low, high in intervals),
        *((high - low) / width for low, high in intervals[2:]),
    ]


def print_rows(quantities, results, first):
    for quantity in quantities:
        r = results[quantity]
        print(
            f"| {first} | {quantity} | {100 * r.coverage:.1f} % | {100 * r.human_coverage:.1f} % "
            f"| {100 * r.judge_coverage:.1f} % | {r.width:.2f} | {r.worth:.1f} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=100_000)
    arguments = parser.parse_args()
    start, repetitions = time.perf_counter(), arguments.repetitions
    populations = {
        judge: generate(arguments.queries, judge) for judge in ("medium", "good", "useless")
    }
    heading = "| quantity | covers | human alone | judge alone | width | worth / n |\n"
    line = "| --- | ---: | ---: | ---: | ---: | ---: |"
    for from_easy in (False, True):
        population = populations["medium"]
        print(
            f"\nκ = {population.kappa:.2f}, bias {population.bias:+.2f}, N = 2,000, the n queries"
            f" drawn from {'the easier half' if from_easy else 'all'}:\n"
        )
        print(f"| n {heading}| ---: {line}")
        for n in (20, 50, 200):
            results = simulate(population, n, 2000, repetitions, from_easy)
            print_rows(results, results, n)
    print(f"\nn = 50:\n\n| κ, bias, N {heading}| ---: {line}")
    for judge, n_judge in (("useless", 2000), ("medium", 200), ("medium", 20_000), ("good", 2000)):
        population = populations[judge]
        results = simulate(population, 50, n_judge, repetitions)
        first = f"{population.kappa:z.2f}, {population.bias:+z.2f}, {n_judge:,}"
        print_rows([name for name in results if "RR" not in name], results, first)
    print_sparse(arguments.queries, repetitions)
    print_skewed(arguments.queries, repetitions)
    print(f"\n{repetitions:,} repetitions, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
