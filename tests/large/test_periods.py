"""Changes between periods, and trends over many days."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

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


class TestComparePeriods:
    def test_the_rows_equal_welchs_test_in_scipy(self):
        frame = sg.compare_periods(summary(BEFORE), summary(AFTER), correction=None).to_frame()
        expected = stats.ttest_ind(AFTER, BEFORE, equal_var=False)
        low, high = expected.confidence_interval(0.95)
        assert frame["measure"].tolist() == ["NDCG", "RR"]
        for row in frame.to_dict("records"):
            assert row["difference"] == pytest.approx(AFTER.mean() - BEFORE.mean(), abs=1e-15)
            assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-12)
            assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), rel=1e-12)
            assert (row["n_before"], row["n_after"]) == (200, 300)
        assert "segment" not in frame and "smallest" not in frame

    def test_the_correction_covers_all_rows(self):
        frame = sg.compare_periods(summary(BEFORE), summary(AFTER)).to_frame()
        p = stats.ttest_ind(AFTER, BEFORE, equal_var=False).pvalue
        assert frame["p_adjusted"].tolist() == pytest.approx([min(2 * p, 1)] * 2)

    def test_unequal_weights_are_refused(self):
        weighted = summary([0.5, 1], weights=np.array([1.0, 2.5]))
        message = "weight all queries equally, but the weights range from 1 to 2.5. Evaluate both"
        with pytest.raises(ValueError, match=message):
            sg.compare_periods(weighted, weighted)

    def test_equal_weights_change_nothing(self):
        weighted, plain = (
            sg.compare_periods(summary(BEFORE, weights=weights), summary(AFTER)).to_frame()
            for weights in (np.full(200, 0.3), None)
        )
        pd.testing.assert_frame_equal(weighted, plain, rtol=1e-12)

    @pytest.mark.parametrize(
        ("shift", "smallest", "change"),
        [
            (0.1, None, "NDCG rose significantly"),
            (-0.1, None, "NDCG fell significantly"),
            (0.001, None, "NDCG did not change significantly"),
            (0.1, 0.01, "NDCG rose by more than 0.01"),
            (-0.1, 0.01, "NDCG fell by more than 0.01"),
            (0.001, 0.1, "NDCG changed by less than 0.1"),
            (0.05, 0.05, "NDCG may or may not have changed by more than 0.05"),
        ],
    )
    def test_the_smallest_difference_that_matters_decides_the_sentence(
        self, shift, smallest, change
    ):
        pair = summary(BEFORE, "Monday"), summary(BEFORE + shift, "Tuesday")
        sentence = sg.compare_periods(*pair, smallest).sentences()[0]
        means = f"{(BEFORE + shift).mean():.4f} against {BEFORE.mean():.4f}"
        shown = f"{shift:+.4f}".replace("-", "−")
        assert sentence.startswith(
            f"{change} from Monday to Tuesday: {means}, {shown} (95 % interval "
        )

    def test_a_mapping_contains_a_difference_per_measure(self):
        pair = summary(BEFORE), summary(BEFORE + 0.1)
        periods = sg.compare_periods(*pair, {"ndcg": 0.01, "rr": 0.9})
        assert periods.to_frame()["smallest"].tolist() == [0.01, 0.9]
        assert [text.split(" by ")[0] for text in periods.sentences()] == [
            "NDCG rose",
            "RR changed",
        ]

    def test_each_segment_in_both_periods_is_compared(self):
        def with_segments(values, names):
            whole = {name: summary(part) for name, part in zip(names, values, strict=True)}
            merged = sg.Summary.merge(whole.values())
            return sg.Summary(merged.n_queries, merged.tallies, by="country", segments=whole)

        before = with_segments([BEFORE, AFTER], ["de", "fr"])
        after = with_segments([AFTER, BEFORE], ["de", "us"])
        frame = sg.compare_periods(before, after, by="country").to_frame()
        assert frame["segment"].tolist() == ["de", "de"]
        assert frame["after"].tolist() == pytest.approx([AFTER.mean()] * 2)
        assert "NDCG in de " in sg.compare_periods(before, after, by="country").sentences()[0]
        with pytest.raises(ValueError, match="by must be 'country', as in the Summary 'before'"):
            sg.compare_periods(before, after, by="day")

    def test_the_undefined_share_and_the_defined_queries_are_tested(self):
        """The share of undefined queries rises from 100/300 to 300/600, the ranking is equal."""
        names = ["NDCG", "NDCG(undefined=1.0)", "NDCG(undefined=nan)"]
        parts = [
            summary(values, day, names, n_undefined=n)
            for values, day, n in [(BEFORE, "Monday", 100), (AFTER, "Tuesday", 300)]
        ]
        periods = sg.compare_periods(*parts, correction=None)
        defined = stats.ttest_ind(AFTER, BEFORE, equal_var=False).pvalue
        for row in periods.rows:
            assert (row.undefined_before, row.undefined_after) == (100 / 300, 300 / 600)
            assert row.p_undefined == stats.fisher_exact([[100, 200], [300, 300]]).pvalue
        for row in periods.rows[:2]:
            assert row.p_defined == pytest.approx(defined, rel=1e-9)
            assert row.defined_difference == pytest.approx(AFTER.mean() - BEFORE.mean())
        assert periods.rows[2].p_value == pytest.approx(defined, rel=1e-12)
        assert math.isnan(periods.rows[2].p_defined)
        first, _, last = periods.sentences()
        share = "The share of undefined queries rose significantly: 50.00 % against 33.33 %, p "
        assert first.startswith("NDCG fell significantly from Monday to Tuesday: ")
        assert share in first and "defined queries did not change significantly: +" in first
        assert "NDCG(undefined=nan) did not change significantly" in last and share in last
        assert "mean of the defined" not in last

    def test_the_share_is_tested_if_all_queries_of_a_period_are_undefined(self):
        measures = ["NDCG(undefined=nan)"]
        parts = [
            summary(values, day, measures, n_undefined=n)
            for values, day, n in [(BEFORE, "a", 100), ([], "b", 300)]
        ]
        (sentence,) = sg.compare_periods(*parts).sentences()
        assert "is not tested: too few queries with a value. The share of undefined" in sentence
        assert "rose significantly: 100.00 % against 33.33 %" in sentence

    @pytest.mark.parametrize(
        ("name", "weights"),
        [
            ("my measure", None),
            ("NDCG", np.repeat([0.0, 1.0], [100, 200])),
        ],
    )
    def test_the_change_of_defined_queries_is_unknown(self, name, weights):
        values = np.append(np.zeros(100), BEFORE)
        before, after = (
            sg.Summary.of(
                sg.Evaluation(np.arange(300), {name: values}, {name: values == 0}, weights=weights),
                label=day,
            )
            for day in ("a", "b")
        )
        frame = sg.compare_periods(before, after).to_frame()
        assert frame["undefined_after"].tolist() == [1 / 3] and "p_defined" not in frame

    def test_each_system_is_compared(self):
        days = [
            sg.Summaries.of({"bm25": evaluation(BEFORE), "lgbm": evaluation(values)}, label=day)
            for day, values in [("Monday", BEFORE), ("Tuesday", BEFORE - 0.1)]
        ]
        periods = sg.compare_periods(*days)
        frame = periods.to_frame()
        assert frame["system"].tolist() == ["bm25", "bm25", "lgbm", "lgbm"]
        assert frame["difference"].tolist() == pytest.approx([0, 0, -0.1, -0.1])
        p = stats.ttest_ind(BEFORE - 0.1, BEFORE, equal_var=False).pvalue
        assert frame["p_adjusted"].tolist() == pytest.approx([1, 1, 4 * p, 4 * p])
        assert periods.sentences()[3].startswith("RR of lgbm fell significantly from Monday to ")
        with pytest.raises(ValueError, match=r"same systems; got \['bm25', 'lgbm'\] and"):
            sg.compare_periods(days[0], summary(AFTER, "c"))

    def test_a_period_with_one_query_is_not_compared(self):
        periods = sg.compare_periods(summary([0.5]), summary(AFTER))
        assert math.isnan(periods.rows[0].p_value)
        assert "interval" not in periods.sentences()[0]
        assert periods.sentences()[0].startswith("The change of NDCG from ")

    @pytest.mark.parametrize(
        ("before", "after", "p"),
        [
            ([0.1, 0.1], [0.0, 0.0], 2 / 6),  # 2 of the 6 assignments to periods are as extreme
            ([0.1, 0.1], [0.1, 0.1, 0.1], 1),
            ([0.1] * 2, [0.0] * 5, 2 / 21),
            ([0.1, 0.1], [0.29, 0.31] * 50, 2**-1),  # two values prove little next to 100 others
        ],
    )
    def test_few_or_equal_values_are_not_significant(self, before, after, p):
        periods = sg.compare_periods(summary(before), summary(after))
        assert periods.rows[0].p_value == pytest.approx(p)
        assert periods.sentences()[0].startswith("NDCG did not change significantly ")

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
            (summary(AFTER), {"smallest": {"rr": 1}}, ValueError, "smallest has no value for"),
            (summary(AFTER), {"level": 2}, ValueError, "level must be"),
            (summary(AFTER), {"correction": "sidak"}, ValueError, "correction must be one of"),
            (
                summary(AFTER),
                {"by": "day"},
                ValueError,
                "by must be None, as in the Summary 'before'",
            ),
            (
                summary([0.5, 1], weights=np.array([1.0, 2.5])),
                {},
                ValueError,
                "cannot be combined: before is unweighted, and after is weighted. Evaluate all or none",
            ),
        ],
    )
    def test_bad_input(self, after, settings, error, message):
        with pytest.raises(error, match=message):
            sg.compare_periods(summary(BEFORE, "Monday"), after, **settings)


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


def rows_of_measure(trend, measure="NDCG", system=None):
    return [row for row in trend.rows if (row.measure, row.system) == (measure, system)]


class TestTrend:
    def test_the_limits_predict_the_next_day(self):
        """The limits equal the interval for a mean of one day in a t-test against earlier days."""
        means = [0.5, 0.52, 0.49, 0.51, 0.5]
        frame = sg.trend(days(means)).to_frame().query("measure == 'NDCG'")
        assert frame["too_few"].tolist() == [True] * 3 + [False] * 2
        assert frame[["center", "lower", "upper"]].iloc[:3].isna().all(axis=None)
        for i in (3, 4):
            earlier, row = np.array(means[:i]), frame.iloc[i]
            reach = stats.t.ppf(stats.norm.cdf(3), i - 1) * earlier.std(ddof=1) * (1 + 1 / i) ** 0.5
            assert row["center"] == pytest.approx(earlier.mean())
            assert row["lower"] == pytest.approx(earlier.mean() - reach)
            assert row["upper"] == pytest.approx(earlier.mean() + reach)

    def test_a_season_compares_each_day_with_the_same_weekday(self):
        means = [0.5, 0.7, 0.52, 0.68, None, 0.69, 0.53]  # days with odd numbers are near 0.7
        rows = rows_of_measure(sg.trend(days(means), season=2))
        assert [row.too_few for row in rows] == [True] * 4 + [False] * 2
        pooled = math.sqrt((0.02**2 / 2 + 0.02**2 / 2) / 2)  # two degrees of freedom
        reach = stats.t.ppf(stats.norm.cdf(3), 2) * pooled * (1 + 1 / 2) ** 0.5
        assert (rows[4].center, rows[4].upper) == pytest.approx((0.69, 0.69 + reach))
        assert rows[5].center == pytest.approx((0.5 + 0.52) / 2)

    @pytest.mark.parametrize("season", [None, 7])
    def test_days_without_variation_are_inside_the_limits(self, season):
        trend = sg.trend(
            days([0.1, 0.7, 0.35, 0.2, 0.3, 0.4, 0.1] * 4 if season else [0.35] * 7), season=season
        )
        assert not any(row.is_outside for row in trend.rows)

    def test_a_fallen_day_stays_outside_when_days_are_added(self):
        means = [0.8, 0.8, 0.8, 0.0, 0.8, 0.8]
        for n in (4, 5, 6):
            rows = rows_of_measure(sg.trend(days(means[:n])))
            assert [row.is_outside for row in rows] == [i == 3 for i in range(n)]

    def test_a_missing_day_does_not_shift_weekdays(self):
        rng = np.random.default_rng(0)
        means = [0.5 + 0.1 * (i % 7 >= 5) + rng.normal(0, 0.004) for i in range(35)]
        means[16], means[33] = None, means[33] - 0.055
        rows = rows_of_measure(sg.trend(days(means), season=7))
        assert [row.label for row in rows if row.is_outside] == ["2026-12-04"]

    def test_a_day_with_few_queries_has_wide_limits(self):
        few = sg.Summary.of(
            sg.evaluate(
                [1, 0] * 5, [2, 1] * 2 + [1, 2] * 3, group=[2] * 5, measures=["ndcg", "rr"]
            ),
            label="2026-11-09",
        )
        row = rows_of_measure(sg.trend([*days([0.8, 0.801, 0.8, 0.799, 0.8]), few]), "RR")[-1]
        values = np.array([1, 1, 0.5, 0.5, 0.5])
        error = values.std(ddof=1) / math.sqrt(5)
        assert (row.lower, row.mean) == pytest.approx((0.8 - 3 * error, 0.7))

    def test_the_share_of_undefined_queries_has_limits(self):
        trend = sg.trend(days([0.5, 0.5, 0.501] * 4, n_undefined=[20, 21, 22] * 3 + [20, 21, 150]))
        rows = [rows_of_measure(trend, name)[-1] for name in ("NDCG", "RR")]
        assert rows[0].undefined == 150 / 200 and rows[0].undefined_is_outside
        assert sum(row.undefined_is_outside for row in trend.rows) == 2
        sentence = trend.sentences()[0]
        assert sentence.startswith("NDCG on 2026-11-12: the mean, ")
        assert "; the share of undefined queries, 75.00 %, is outside the limits " in sentence
        assert sentence.endswith("undefined=nan would exclude them.")

    def test_one_undefined_query_after_many_days_without_any_is_inside_the_limits(self):
        trend = sg.trend(days([0.5] * 9, n=1000, n_undefined=[0] * 8 + [1]))
        assert not any(row.undefined_is_outside for row in trend.rows)

    def test_each_system_has_its_limits(self):
        summaries = [
            sg.Summaries.of({"a": evaluation([0.5, 0.6]), "b": evaluation([x, x])}, label=str(i))
            for i, x in enumerate([0.7, 0.71, 0.7, 0.2])
        ]
        trend = sg.trend(summaries)
        assert trend.to_frame().columns[0] == "system" and len(trend.rows) == 2 * 4 * 2
        alone = sg.trend([part.systems["b"] for part in summaries])
        assert [row.upper for row in rows_of_measure(trend, system="b")[3:]] == [
            row.upper for row in rows_of_measure(alone)[3:]
        ]

    @pytest.mark.nightly
    def test_independent_days_are_outside_with_probability_0_0027(self):
        means = 0.5 + 0.01 * np.random.default_rng(0).normal(size=(300, 60))
        flags = [
            row.is_outside
            for row_means in means
            for row in rows_of_measure(sg.trend(days(row_means, 4)))[3:]
        ]
        assert 0.0015 < np.mean(flags) < 0.004  # binomial error 0.0004

    @pytest.mark.parametrize(
        ("summaries", "settings", "error", "message"),
        [
            ([], {}, ValueError, "A trend requires at least 2 Summaries; got 0"),
            (days([0.5])[0], {}, TypeError, "trend requires a list of Summaries, one per day"),
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
