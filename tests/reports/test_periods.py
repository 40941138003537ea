"""Changes between periods, and trends over many days."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_reports import labelled_summary

import skgraded as sg


def evaluation(values, measures=("NDCG", "RR"), weights=None, n_undefined=0):
    """An Evaluation of per-query values, which are the same for all measures."""
    values = np.append(np.asarray(values, dtype=float), np.zeros(n_undefined))
    is_undefined = np.arange(len(values)) >= len(values) - n_undefined
    return sg.Evaluation(
        np.arange(len(values)),
        {name: np.where(is_undefined, sg.measure(name).undefined, values) for name in measures},
        dict.fromkeys(measures, is_undefined),
        weights=weights,
    )


def summary(values, label=None, measures=("NDCG", "RR"), weights=None, n_undefined=0):
    return sg.Summary.of(evaluation(values, measures, weights, n_undefined), label=label)


RNG = np.random.default_rng(0)
BEFORE, AFTER = RNG.beta(2, 3, 200), RNG.beta(2.2, 3, 300)
UNEQUAL = summary([0.5, 1], weights=np.array([1.0, 2.5]))  # unequal weights


class TestComparePeriods:
    def test_the_rows_equal_welchs_test_in_scipy(self):
        level = Fraction(95, 100)
        frame = sg.compare_periods(summary(BEFORE), summary(AFTER), level=level, correction=None)
        expected = stats.ttest_ind(AFTER, BEFORE, equal_var=False)
        low, high = expected.confidence_interval(0.95)
        assert frame["measure"].tolist() == ["NDCG", "RR"]
        for row in frame.to_dict("records"):
            assert row == row | {
                "difference": pytest.approx(AFTER.mean() - BEFORE.mean(), abs=1e-15),
                "p_value": pytest.approx(expected.pvalue, rel=1e-12),
                "ci_low": pytest.approx(low, rel=1e-12),
                "ci_high": pytest.approx(high, rel=1e-12),
                "n_before": 200,
                "n_after": 300,
            }
        assert "segment" not in frame and "smallest" not in frame

    def test_the_correction_covers_all_rows_and_the_smallest_difference_is_a_column(self):
        frame = sg.compare_periods(summary(BEFORE), summary(AFTER), smallest=0.01)
        assert frame["smallest"].tolist() == [0.01, 0.01]
        p = stats.ttest_ind(AFTER, BEFORE, equal_var=False).pvalue
        assert frame["p_adjusted"].tolist() == pytest.approx([min(2 * p, 1)] * 2)

    def test_equal_weights_change_nothing(self):
        weighted, plain = (
            sg.compare_periods(summary(BEFORE, weights=weights), summary(AFTER))
            for weights in (np.full(200, 0.3), None)
        )
        pd.testing.assert_frame_equal(weighted, plain, rtol=1e-12)

    def test_each_segment_in_both_periods_is_compared(self):
        def with_segments(values, names):
            whole = {name: summary(part) for name, part in zip(names, values, strict=True)}
            merged = sg.Summary.merge(whole.values())
            return sg.Summary(merged.n_queries, merged.tallies, by="country", segments=whole)

        before = with_segments([BEFORE, AFTER], ["de", "fr"])
        after = with_segments([AFTER, BEFORE], ["de", "us"])
        frame = sg.compare_periods(before, after, by="country")
        assert frame["segment"].tolist() == ["de", "de"]
        assert frame["after"].tolist() == pytest.approx([AFTER.mean()] * 2)

    def test_the_undefined_share_is_tested(self):
        """The share of undefined queries rises from 100/300 to 300/600, the ranking is equal."""
        names = ["NDCG", "NDCG(undefined=1.0)", "NDCG(undefined=nan)"]
        parts = [
            summary(values, day, names, n_undefined=n)
            for values, day, n in [(BEFORE, "Monday", 100), (AFTER, "Tuesday", 300)]
        ]
        frame = sg.compare_periods(*parts, correction=None)
        assert frame["undefined_before"].tolist() == [100 / 300] * 3
        assert frame["undefined_after"].tolist() == [300 / 600] * 3
        p = stats.fisher_exact([[100, 200], [300, 300]]).pvalue
        assert frame["p_undefined"].tolist() == [p] * 3
        defined = stats.ttest_ind(AFTER, BEFORE, equal_var=False).pvalue
        assert frame["p_value"][2] == pytest.approx(defined, rel=1e-12)

    def test_the_share_is_tested_if_all_queries_of_a_period_are_undefined(self):
        measures = ["NDCG(undefined=nan)"]
        parts = [
            summary(values, day, measures, n_undefined=n)
            for values, day, n in [(BEFORE, "a", 100), ([], "b", 300)]
        ]
        (row,) = sg.compare_periods(*parts).to_dict("records")
        assert math.isnan(row["p_value"]) and math.isnan(row["ci_low"])
        assert (row["undefined_before"], row["undefined_after"]) == (100 / 300, 1)
        assert row["p_undefined"] < 1e-9

    def test_each_system_is_compared(self):
        days = [
            sg.Summaries.of({"bm25": evaluation(BEFORE), "lgbm": evaluation(values)}, label=day)
            for day, values in [("Monday", BEFORE), ("Tuesday", BEFORE - 0.1)]
        ]
        frame = sg.compare_periods(*days)
        assert frame["system"].tolist() == ["bm25", "bm25", "lgbm", "lgbm"]
        assert frame["difference"].tolist() == pytest.approx([0, 0, -0.1, -0.1])
        p = stats.ttest_ind(BEFORE - 0.1, BEFORE, equal_var=False).pvalue
        assert frame["p_adjusted"].tolist() == pytest.approx([1, 1, 4 * p, 4 * p])

    def test_a_period_with_one_query_is_not_compared(self):
        row = sg.compare_periods(summary([0.5]), summary(AFTER)).iloc[0]
        assert row[["p_value", "p_adjusted", "ci_low", "ci_high"]].isna().all()

    @pytest.mark.parametrize(
        ("after", "settings", "error", "message"),
        [
            (sg.evaluate([1], [1], group=[1]), {}, TypeError, "after must be a Summary; got Eval"),
            (summary(AFTER, measures=["RR"]), {}, ValueError, "must have the same measures"),
            (
                summary(AFTER, "Monday"),
                {},
                ValueError,
                "before and after both have the label 'Monday'",
            ),
            (summary(AFTER), {"smallest": 0}, ValueError, "smallest must be"),
            (summary(AFTER), {"level": 2}, ValueError, "level must be"),
            (summary(AFTER), {"correction": "sidak"}, ValueError, "correction must be one of"),
            (
                summary(AFTER),
                {"by": "day"},
                ValueError,
                "by must be None, the segment column of the Summary 'before'",
            ),
            (
                labelled_summary(1, "Tuesday"),
                {"before": labelled_summary(0, "Monday"), "by": "day"},
                ValueError,
                "by must be 'part', the segment column of the Summary 'before'",
            ),
            (
                summary(AFTER),
                {"before": sg.Summaries.of({"a": evaluation(BEFORE), "b": evaluation(BEFORE)})},
                ValueError,
                r"same systems, but before has \['a', 'b'\], and after has",
            ),
            *(
                (summary(AFTER), {argument: pd.Series(["de"])}, ValueError, f"{argument} must be")
                for argument in ("by", "correction", "level", "smallest")
            ),
            (
                UNEQUAL,
                {},
                ValueError,
                "the same sample_weight, but before has 'no weights', and after has 'weights'",
            ),
            (
                UNEQUAL,
                {"before": UNEQUAL},
                ValueError,
                "weight all queries equally, but the weights range from 1 to 2.5. Evaluate both",
            ),
        ],
    )
    def test_bad_input(self, after, settings, error, message):
        with pytest.raises(error, match=message):
            sg.compare_periods(**{"before": summary(BEFORE, "Monday"), "after": after} | settings)


def days(means, n=50, start="2026-11-01", n_undefined=0):
    """A Summary per day with the given means, whose queries hardly vary; None: a missing day."""
    counts = np.broadcast_to(n_undefined, len(means)).tolist()
    return [
        summary([mean - 0.001, mean + 0.001] * (n // 2), str(day.date()), n_undefined=count)
        for mean, count, day in zip(
            means, counts, pd.date_range(start, periods=len(means)), strict=True
        )
        if mean is not None
    ]


def rows_of_measure(trend, measure="NDCG"):
    return trend[trend["measure"] == measure].reset_index(drop=True)


class TestTrend:
    def test_the_limits_predict_the_next_day(self):
        """The limits equal the interval for a mean of one day in a t-test against earlier days."""
        means = [0.5, 0.52, 0.49, 0.51, 0.5]
        frame = sg.trend(days(means)).query("measure == 'NDCG'")
        assert frame["too_few"].tolist() == [True] * 3 + [False] * 2
        assert frame[["center", "lower", "upper"]].iloc[:3].isna().all(axis=None)
        for i in (3, 4):
            earlier, row = np.array(means[:i]), frame.iloc[i]
            reach = stats.t.ppf(stats.norm.cdf(3), i - 1) * earlier.std(ddof=1) * (1 + 1 / i) ** 0.5
            limits = earlier.mean() - reach, earlier.mean() + reach
            assert (row["lower"], row["upper"]) == pytest.approx(limits)
            assert row["center"] == pytest.approx(earlier.mean())

    def test_a_season_compares_each_day_with_the_same_weekday(self):
        means = [0.5, 0.7, 0.52, 0.68, None, 0.69, 0.53]  # days with odd numbers are near 0.7
        rows = rows_of_measure(sg.trend(days(means), season=2))
        assert rows["too_few"].tolist() == [True] * 4 + [False] * 2
        pooled = math.sqrt((0.02**2 / 2 + 0.02**2 / 2) / 2)  # two degrees of freedom
        reach = stats.t.ppf(stats.norm.cdf(3), 2) * pooled * (1 + 1 / 2) ** 0.5
        assert rows.loc[4, ["center", "upper"]].tolist() == pytest.approx([0.69, 0.69 + reach])
        assert rows["center"][5] == pytest.approx((0.5 + 0.52) / 2)

    @pytest.mark.parametrize("season", [None, 7])
    def test_days_without_variation_are_inside_the_limits(self, season):
        trend = sg.trend(
            days([0.1, 0.7, 0.35, 0.2, 0.3, 0.4, 0.1] * 4 if season else [0.35] * 7), season=season
        )
        assert not trend["is_outside"].any()

    def test_a_fallen_day_stays_outside_when_days_are_added(self):
        means = [0.8, 0.8, 0.8, 0.0, 0.8, 0.8]
        for n in (4, 5, 6):
            rows = rows_of_measure(sg.trend(days(means[:n])))
            assert rows["is_outside"].tolist() == [i == 3 for i in range(n)]

    def test_a_missing_day_does_not_shift_weekdays(self):
        rng = np.random.default_rng(0)
        means = [0.5 + 0.1 * (i % 7 >= 5) + rng.normal(0, 0.004) for i in range(35)]
        means[16], means[33] = None, means[33] - 0.055
        rows = rows_of_measure(sg.trend(days(means), season=7))
        assert rows[rows["is_outside"]]["label"].tolist() == ["2026-12-04"]

    def test_a_day_with_few_queries_has_wide_limits(self):
        few = sg.Summary.of(
            sg.evaluate(
                [1, 0] * 5, [2, 1] * 2 + [1, 2] * 3, group=[2] * 5, measures=["ndcg", "rr"]
            ),
            label="2026-11-09",
        )
        trend = sg.trend([*days([0.8, 0.801, 0.8, 0.799, 0.8]), few])
        row = rows_of_measure(trend, "RR").iloc[-1]
        values = np.array([1, 1, 0.5, 0.5, 0.5])
        error = values.std(ddof=1) / math.sqrt(5)
        assert (row["lower"], row["mean"]) == pytest.approx((0.8 - 3 * error, 0.7))

    def test_the_share_of_undefined_queries_has_limits(self):
        trend = sg.trend(days([0.5, 0.5, 0.501] * 4, n_undefined=[20, 21, 22] * 3 + [20, 21, 150]))
        last = trend[trend["label"] == "2026-11-12"]
        assert last["undefined"].tolist() == [150 / 200] * 2
        assert last["undefined_is_outside"].all() and trend["undefined_is_outside"].sum() == 2
        left_out = [summary([1, 0.5], day, ["RR(undefined=nan)"], n_undefined=1) for day in "ab"]
        assert sg.trend(left_out)[["n_queries", "n_defined"]].values.tolist() == [[3, 2]] * 2

    def test_a_night_with_a_part_of_its_queries_is_outside(self):
        sizes = [200, 210, 190, 205, 195, 203, 10]
        nights = [summary([0.5] * n, f"2026-11-0{i + 1}", ["RR"]) for i, n in enumerate(sizes)]
        trend = sg.trend(nights)
        assert trend["n_queries_is_outside"].tolist() == [False] * 6 + [True]
        assert not trend["is_outside"].any()
        before, last = np.array(sizes[:6]), trend.iloc[-1]
        reach = stats.t.ppf(stats.norm.cdf(3), 5) * before.std(ddof=1) * np.sqrt(1 + 1 / 6)
        assert last["n_queries_lower"] == pytest.approx(before.mean() - reach)
        assert last["n_queries_upper"] == pytest.approx(before.mean() + reach)

    def test_the_number_of_queries_has_a_season(self):
        sizes = [400, 100, 410, 104, 390, 96, 402, 98, 100, 101]  # day 9 has the size of an odd day
        nights = [summary([0.5] * n, f"2026-11-{i:02}", ["RR"]) for i, n in enumerate(sizes, 1)]
        outside = sg.trend(nights, season=2)["n_queries_is_outside"]
        assert outside.tolist() == [False] * 8 + [True, False]
        assert not sg.trend(nights)["n_queries_is_outside"].any()

    def test_one_undefined_query_after_many_days_without_any_is_inside_the_limits(self):
        trend = sg.trend(days([0.5] * 9, n=1000, n_undefined=[0] * 8 + [1]))
        assert not trend["undefined_is_outside"].any()

    def test_each_system_has_its_limits(self):
        summaries = [
            sg.Summaries.of({"a": evaluation([0.5, 0.6]), "b": evaluation([x, x])}, label=str(i))
            for i, x in enumerate([0.7, 0.71, 0.7, 0.2])
        ]
        trend = sg.trend(summaries)
        assert trend.columns[0] == "system" and len(trend) == 2 * 4 * 2
        assert trend["label"].tolist() == list("00112233") * 2
        alone = sg.trend([part.systems["b"] for part in summaries])
        of_b = trend[trend["system"] == "b"].drop(columns="system").reset_index(drop=True)
        pd.testing.assert_frame_equal(of_b, alone)

    @pytest.mark.nightly
    def test_independent_days_are_outside_with_probability_0_0027(self):
        means = 0.5 + 0.01 * np.random.default_rng(0).normal(size=(300, 60))
        flags = [
            rows_of_measure(sg.trend(days(row_means, 4)))["is_outside"][3:] for row_means in means
        ]
        assert 0.0015 < np.mean(flags) < 0.004  # binomial error 0.0004

    @pytest.mark.nightly
    @pytest.mark.parametrize("season", [None, 7])
    def test_independent_numbers_of_queries_are_outside_with_probability_0_0027(self, season):
        sizes = np.random.default_rng(0).normal(100_000, 5_000, size=(600, 60)).astype(int)
        few = days([0.5] * 60, 2)
        flags = []
        for row_sizes in sizes:
            nights = [replace(day, n_queries=n) for day, n in zip(few, row_sizes, strict=True)]
            trend = rows_of_measure(sg.trend(nights, season=season))
            flags.append(trend["n_queries_is_outside"][~trend["too_few"]])
        assert 0.002 < np.mean(np.concatenate(flags)) < 0.0035  # binomial error 0.0003

    @pytest.mark.parametrize(
        ("summaries", "settings", "error", "message"),
        [
            ([], {}, ValueError, "A trend requires at least 2 Summaries; got 0"),
            (days([0.5]), {}, ValueError, "A trend requires at least 2 Summaries; got 1"),
            (days([0.5] * 13), {"season": 7}, ValueError, "at least 14 Summaries; got 13"),
            (days([0.5] * 4), {"season": 1}, ValueError, "season must be"),
            (
                [summary([0.5], f"day {i}") for i in range(4)],
                {"season": 2},
                ValueError,
                "all labels must be ISO dates .*: Invalid isoformat string: 'day 0'",
            ),
            (days([0.5] * 3)[::-1], {}, ValueError, "order.*got '2026-11-02' after '2026-11-03'"),
            ([*days([0.5]), summary([0.5])], {}, ValueError, "exactly one label; summaries.1"),
            (days([0.5]) * 2, {}, ValueError, "both have the label '2026-11-01'"),
            (
                [*days([0.5]), summary([1], "x", ["RR"])],
                {},
                ValueError,
                "must have the same measures",
            ),
            ([1, 2], {}, TypeError, r"summaries\[0\] must be a Summary; got int"),
        ],
    )
    def test_bad_input(self, summaries, settings, error, message):
        with pytest.raises(error, match=message):
            sg.trend(summaries, **settings)
