"""The order of the systems changes no number, and the verdict agrees with the rows."""

import re

import numpy as np
import pytest
from small_reports import evaluation

import skgraded as sg
from skgraded.stats.paired_tests import TESTS
from skgraded.writing.tables import list_rows, swap_systems

WORSE = "on the queries of both significantly worse than"
RESULTS = [
    "significantly better than",
    "not significantly better than",
    "not tested against",
    WORSE,
]


def draw_systems(rng):
    """Return Evaluations with ties, equal systems, weights, and nan for different queries."""
    n = int(rng.integers(4, 40))
    common = rng.random(n).round(1)
    noise, share = rng.choice([0, 0.02, 0.3]), rng.choice([0, 0, 0.1, 0.6])
    weights = rng.integers(0, 3, n).astype(float) if rng.random() < 0.3 else None
    systems = {}
    for system in "ABCD"[: rng.integers(2, 5)]:
        values = {
            measure: common + rng.choice([0, 0, -0.05, -0.2]) + rng.normal(0, noise, n).round(2)
            for measure in ("AP", "RR")
        }
        if systems and rng.random() < 0.4:  # the same mean, with the same or other differences
            arrange = rng.choice([np.copy, rng.permutation])
            values = {name: arrange(column) for name, column in systems["A"].per_query.items()}
        values["AP"][rng.random(n) < share] = np.nan
        systems[system] = evaluation(values, weights=weights)
    if "C" in systems and rng.random() < 0.2:  # A and B lead; C is better than A where both are low
        values = common + np.where(common < np.median(common), 0.05, np.nan)
        pairs = {"A": common, "B": rng.permutation(common), "C": values}
        systems = {name: evaluation({"AP": column, "RR": column}) for name, column in pairs.items()}
    if rng.random() < 0.3:
        systems["B"] = systems["B"].take(rng.permutation(n))
    return systems


def draw_settings(rng, systems):
    """Return settings of `compare`; there are no tests with unequal weights."""
    segments = {query: "xy"[int(query[1:]) % 2] for query in systems["A"].query_ids}
    return {
        "baseline": rng.choice([None, None, "A"]),
        "test": None if systems["A"].weights is not None else rng.choice(list(TESTS)),
        "correction": rng.choice(["holm", "fdr_bh", None]),
        "by": segments if rng.random() < 0.5 else None,
        "n_resamples": 100,
        "rng": 0,
    }


def rows_by_pair(comparison):
    """Return the rows of the frame, in which `system` comes after `baseline` alphabetically."""
    rows, table = {}, comparison.rows
    for row in list_rows(swap_systems(table, table["system"] < table["baseline"])):
        key = row["segment"], row["measure"], row["system"], row["baseline"]
        rows[key] = {name: None if cell != cell else cell for name, cell in row.items()}
    return rows


@pytest.mark.parametrize("seed", range(40))
def test_permuting_the_systems_changes_no_number_in_any_output(seed):
    rng = np.random.default_rng(seed)
    systems = draw_systems(rng)
    settings = draw_settings(rng, systems)
    permuted = {name: systems[name] for name in rng.permutation(list(systems)).tolist()}
    pairs = [(systems, permuted, settings)]
    if settings["test"] in ("t", None):
        sums = map(sg.Summaries.of, (systems, permuted))
        pairs.append((*sums, settings | {"by": None}))
    for first, second, chosen in pairs:
        expected, result = (sg.compare(part, **chosen) for part in (first, second))
        assert rows_by_pair(result) == rows_by_pair(expected)
        for name in ("sentences", "to_markdown", "to_latex", "to_html", "summary"):
            assert str(getattr(result, name)()) == str(getattr(expected, name)())
        boards = result.leaderboard(), expected.leaderboard()
        assert boards[0].verdict == boards[1].verdict and str(boards[0]) == str(boards[1])
        again = sg.Comparison.from_json(result.to_json()).leaderboard()
        assert str(again) == str(boards[0])


def pairs_of(comparison):
    """Return (difference, p) of each ordered pair of systems, keyed by heading and systems."""
    pairs = {}
    for row in comparison.to_frame().to_dict("records"):
        heading = row["measure"] + (f" in {row['segment']}" if "segment" in row else "")
        names = row["system"], row["baseline"]
        pairs[heading, *names] = row["difference"], row["p_adjusted"]
        pairs[heading, *names[::-1]] = -row["difference"], row["p_adjusted"]
    return pairs


def result_of(pairs, heading, leaders, other):
    """Return how the leaders compare with another system, from the rows of the comparison."""
    found = [pairs.get((heading, leader, other), (np.nan, np.nan)) for leader in leaders]
    if any(p <= 0.05 and difference < 0 for difference, p in found):
        return WORSE
    if any(np.isnan(p) for _, p in found):
        return "not tested against"
    is_better = all(p <= 0.05 and difference > 0 for difference, p in found)
    return "significantly better than" if is_better else "not significantly better than"


@pytest.mark.parametrize("seed", range(200))
def test_the_verdict_agrees_with_the_rows(seed):
    rng = np.random.default_rng(1000 + seed)
    systems = draw_systems(rng)
    settings = draw_settings(rng, systems)
    if settings["test"] and TESTS[settings["test"]].statistic:
        settings["test"] = "t"  # other tests can favor the system with the lower mean
    comparison = sg.compare(systems, **settings)
    pairs, means = pairs_of(comparison), {}
    for name, ev in systems.items():
        parts = {"": ev}
        if settings["by"] is not None:
            segments = np.array([settings["by"][query] for query in ev.query_ids])
            parts = {f" in {segment}": ev.take(segments == segment) for segment in "xy"}
        for suffix, part in parts.items():
            for measure, mean in part.mean().items():
                means.setdefault(measure + suffix, {})[name] = mean
    verdict = comparison.leaderboard().verdict
    claims = re.findall(r"([^\s.;][^.;]*?) leads? on ([^(]*) \(([^)]*)\)(.*?)\.(?= |$)", verdict)
    assert len(claims) >= len(parts) - verdict.count("No query has a value")
    for names, heading, mean, rest in claims:
        values = means[heading]
        best = np.nanmax(list(values.values()))
        leaders = sorted(name for name, value in values.items() if abs(value - best) < 1e-12)
        if not names.endswith("systems"):
            assert sorted(re.split(", | and ", names)) == leaders
        assert mean == f"{best:.4f}".replace("-", "−")
        expected = {}
        for other in sorted(set(systems) - set(leaders)):
            result = result_of(pairs, heading, leaders, other)
            expected.setdefault(result, []).append(other)
        stated = {}
        for claim in filter(None, rest.split("; ")):
            result = max((result for result in RESULTS if claim.startswith(result)), key=len)
            stated[result] = sorted(re.split(", | and ", claim.removeprefix(f"{result} ")))
        assert stated == expected
