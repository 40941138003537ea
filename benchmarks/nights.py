"""False alarms and detected changes of nightly jobs with compare_periods and trend, by simulation.

To compare with an older version, run the script with its clone on PYTHONPATH and with --before,
which uses the nightly recipe of that version.
"""

import argparse
from datetime import date, timedelta

import numpy as np

import skgraded as sg

SMALLEST = 0.01  # as in the recipe
N_DAYS = 30  # in each trend
DEVIATION = 0.01  # of the daily means, besides the weekday


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=["recipe", "trend"])
    parser.add_argument("--nights", type=int, default=300, help="per row of the recipe's table")
    parser.add_argument("--years", type=int, default=20, help="of nights, per row of the trend")
    parser.add_argument("--before", action="store_true", help="recipe without undefined=nan")
    args = parser.parse_args()
    if "recipe" in args.parts:
        print_recipe(args.nights, args.before)
    if "trend" in args.parts:
        print_trends(args.years)


# compare_periods ---------------------------------------------------------------------------------


def print_recipe(n_nights, is_before):
    """Print how often the recipe's exit code is 1 or 2, by change of the last day."""
    print(f"\n| change of a day with 20,000 queries in 5 countries ({n_nights} nights) | 1 | 2 |")
    print("| --- | ---: | ---: |")
    exit_code = exit_code_before if is_before else exit_code_now
    for name, change in {
        "none": {},
        "share of undefined queries from 30 to 40 %": {"share": 0.4},
        "fall of .02 everywhere": {"fall": 0.02},
        "fall of .03 in one country": {"fall": 0.03, "countries": 1},
        "fall of .02 in one country": {"fall": 0.02, "countries": 1},
    }.items():
        undefined = 0.0 if is_before else np.nan
        codes = []
        for rng in map(np.random.default_rng, range(n_nights)):
            before = day(rng, undefined, "before", 100_000)
            codes.append(exit_code(before, day(rng, undefined, "after", 20_000, **change)))
        print(f"| {name} | {np.mean(np.equal(codes, 1)):.3f} | {np.mean(np.equal(codes, 2)):.3f} |")


def day(rng, undefined, label, n, share=0.3, fall=0.0, countries=5):
    """The Summary of n queries; the mean of the defined queries is .5 minus the fall."""
    name = str(sg.NDCNG(k=10, undefined=undefined))
    country = np.arange(n) % 5
    values = np.clip(rng.beta(2, 2, n) - fall * (country < countries), 0, 1)
    is_undefined = rng.random(n) < share
    values[is_undefined] = undefined
    whole = sg.Evaluation(np.arange(n), {name: values}, {name: is_undefined})
    parts = {str(i): sg.Summary.of(whole.take(country == i)) for i in range(5)}
    merged = sg.Summary.of(whole)
    return sg.Summary(
        merged.n_queries, merged.tallies, by="country", segments=parts, labels=[label]
    )


def exit_code_before(before, today):
    return int((sg.compare_periods(before, today)["ci_high"] <= -SMALLEST).any())


def exit_code_now(before, today, level=0.975):
    has_fallen = other_share = False
    for by in (None, today.by):
        changes = sg.compare_periods(before, today, by=by, level=level)
        falls = (changes["difference"] <= -SMALLEST) & (changes["p_adjusted"] < 1 - level)
        has_fallen |= falls.any()
        rise = changes["undefined_after"] - changes["undefined_before"]
        p_share = changes["p_undefined"] * len(changes)
        other_share |= ((rise.abs() >= SMALLEST) & (p_share < 1 - level)).any()
    return 1 if has_fallen else 2 * int(other_share)


# trend -------------------------------------------------------------------------------------------


def print_trends(n_years):
    """Print false alarms per year, and the falls that are noticed on their first night."""
    falls = (2, 3, 4, 5, 6)
    print(
        "\n| nights | false alarms per year | "
        + " | ".join(f"fall of {n} s" for n in falls)
        + " | still marked 2 nights later |"
    )
    print("| --- |" + " ---: |" * (len(falls) + 2))
    for name, season, missing in (
        ("independent", None, 0.0),
        ("with weekdays, season=7", 7, 0.0),
        ("the same, 3 % of the days are missing", 7, 0.03),
    ):
        n_alarms = sum(
            is_outside(nights[max(0, i - N_DAYS + 1) : i + 1], season)
            for seed in range(n_years)
            for nights in [series(seed, 365, season, missing)]
            for i in range(15, len(nights))
        )
        shares = []
        for fall in (*falls, 6):
            late = 2 * (len(shares) == len(falls))
            shares.append(
                np.mean(
                    [
                        is_outside(series(seed, N_DAYS, season, missing, fall, late), season, late)
                        for seed in range(10_000, 10_000 + 10 * n_years)
                    ]
                )
            )
        cells = " | ".join(f"{share:.2f}" for share in shares)
        print(f"| {name} | {n_alarms / n_years:.1f} | {cells} |")


def series(seed, n, season, missing, fall=0.0, late=0):
    """Return a Summary per day; the day `late` days before the last has a fall, in deviations."""
    rng = np.random.default_rng(seed)
    means = 0.5 + DEVIATION * rng.normal(size=n)
    if season:
        means += 0.05 * (np.arange(n) % 7 >= 5)
    means[n - 1 - late] -= fall * DEVIATION
    kept = (rng.random(n) >= missing) | (np.arange(n) >= n - 1 - late)
    return [summary(means[i], date(2026, 1, 1) + timedelta(days=i)) for i in range(n) if kept[i]]


def summary(mean, day):
    """The Summary of a day with a tiny standard error."""
    values = np.array([mean - 1e-4, mean + 1e-4])
    flags = np.zeros(2, dtype=bool)
    evaluation = sg.Evaluation([f"{day}-0", f"{day}-1"], {"NDCG": values}, {"NDCG": flags})
    return sg.Summary.of(evaluation, label=str(day))


def is_outside(nights, season, late=0):
    """Return whether the night `late` nights before the last is marked."""
    return sg.trend(nights, season=season)["is_outside"].iloc[-1 - late]


if __name__ == "__main__":
    main()
