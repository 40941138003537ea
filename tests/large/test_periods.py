"""Changes between periods, and trends over many days."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import skgraded as sg
from skgraded.large.periods import rows_of_measure


def summary(values, label=None, measures=("NDCG", "RR"), weights=None):
    """The Summary of per-query values, which are the same for all measures."""
    values = np.asarray(values, dtype=float)
    evaluation = sg.Evaluation(
        np.arange(len(values)), dict.fromkeys(measures, values),
        dict.fromkeys(measures, np.zeros(len(values), dtype=bool)), weights=weights,
    )
    return sg.Summary.of(evaluation, label=label)


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

    @pytest.mark.parametrize(("shift", "smallest", "change"), [
        (0.1, None, "NDCG rose significantly"),
        (-0.1, None, "NDCG fell significantly"),
        (0.001, None, "NDCG did not change significantly"),
        (0.1, 0.01, "NDCG rose by more than 0.01"),
        (-0.1, 0.01, "NDCG fell by more than 0.01"),
        (0.001, 0.1, "NDCG changed by less than 0.1"),
        (0.05, 0.05, "NDCG may or may not have changed by more than 0.05"),
    ])
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
            "NDCG rose", "RR changed",
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

    def test_a_period_with_one_query_is_not_compared(self):
        periods = sg.compare_periods(summary([0.5]), summary(AFTER))
        assert math.isnan(periods.rows[0].p_value)
        assert "interval" not in periods.sentences()[0]
        assert periods.sentences()[0].startswith("The change of NDCG from ")

    @pytest.mark.parametrize(("after", "settings", "error", "message"), [
        (sg.evaluate([1], [1], group=[1]), {}, TypeError, "after must be a Summary; got Eval"),
        (summary(AFTER, measures=["RR"]), {}, ValueError, "must have the same measures"),
        (summary(AFTER, "Monday"), {}, ValueError, "before and after both have the label 'Monday'"),
        (summary(AFTER), {"smallest": 0}, ValueError, "smallest must be"),
        (summary(AFTER), {"smallest": {"rr": 1}}, ValueError, "smallest has no value for"),
        (summary(AFTER), {"level": 2}, ValueError, "level must be"),
        (summary(AFTER), {"correction": "hsd"}, ValueError, "correction must be one of"),
        (summary(AFTER), {"by": "day"}, ValueError, "by must be None, as in the Summary 'before'"),
        (summary([0.5, 1], weights=np.array([1.0, 2.5])), {}, ValueError,
         "cannot be combined: before is unweighted, and after is weighted. Evaluate all or none"),
    ])
    def test_bad_input(self, after, settings, error, message):
        with pytest.raises(error, match=message):
            sg.compare_periods(summary(BEFORE, "Monday"), after, **settings)


def days(means, n=50):
    """A Summary per day with the given means, whose queries hardly vary."""
    return [
        summary([mean - 0.001, mean + 0.001] * (n // 2), f"day {i}")
        for i, mean in enumerate(means)
    ]


class TestTrend:
    def test_the_limits_are_computed_from_moving_ranges(self):
        means = [0.5, 0.52, 0.49, 0.51]
        frame = sg.trend(days(means)).to_frame().query("measure == 'NDCG'")
        center = (0.5 + 0.52 + 0.49 + 0.51) / 4
        reach = 3 / (2 / math.sqrt(math.pi)) * (0.02 + 0.03 + 0.02) / 3
        assert frame["mean"].tolist() == pytest.approx(means)
        assert frame["center"].tolist() == pytest.approx([center] * 4)
        assert frame["lower"].tolist() == pytest.approx([center - reach] * 4)
        assert frame["upper"].tolist() == pytest.approx([center + reach] * 4)
        assert not frame["is_outside"].any()

    @pytest.mark.parametrize("season", [None, 3])
    def test_days_without_variation_are_inside_the_limits(self, season):
        trend = sg.trend(days([0.1, 0.7, 0.35] * 7 if season else [0.35] * 7), season=season)
        assert not any(row.is_outside for row in trend.rows)

    def test_a_season_compares_each_day_with_the_same_weekday(self):
        means = [0.5, 0.7, 0.52, 0.68]
        frame = sg.trend(days(means), season=2).to_frame().query("measure == 'NDCG'")
        centers = [(0.5 + 0.52) / 2, (0.7 + 0.68) / 2] * 2
        reach = 3 / (2 / math.sqrt(math.pi)) * (0.02 + 0 + 0.02) / 3  # deviations -.01 .01 .01 -.01
        assert frame["center"].tolist() == pytest.approx(centers)
        assert (frame["upper"] - frame["center"]).tolist() == pytest.approx([reach] * 4)

    def test_a_large_change_is_outside_the_limits(self):
        means = [0.5, 0.51, 0.49, 0.5, 0.51, 0.49, 0.9]  # limits 0.557 ± 0.213
        rows = rows_of_measure(sg.trend(days(means)))
        assert [row.is_outside for row in rows] == [False] * 6 + [True]

    @pytest.mark.nightly
    def test_few_ordinary_days_are_outside_the_limits(self):
        means = 0.5 + 0.01 * np.random.default_rng(0).normal(size=(30, 28))
        rows = [row for days_of in means for row in sg.trend(days(days_of, 4)).rows]
        # the rate would be 0.0027 if the standard deviation were known
        assert np.mean([row.is_outside for row in rows]) < 0.02

    def test_the_intervals_of_a_day_do_not_determine_the_limits(self):
        trend = sg.trend(days([0.5, 0.52, 0.49, 0.51], n=10_000))
        rows = rows_of_measure(trend, "ndcg")
        assert all(row.ci_high - row.ci_low < 0.001 < row.upper - row.lower for row in rows)

    @pytest.mark.parametrize(("summaries", "settings", "error", "message"), [
        ([], {}, ValueError, "A trend requires at least 2 Summaries; got 0"),
        (days([0.5]), {}, ValueError, "A trend requires at least 2 Summaries; got 1"),
        (days([0.5] * 13), {"season": 7}, ValueError, "at least 14 Summaries; got 13"),
        (days([0.5] * 4), {"season": 1}, ValueError, "season must be"),
        ([*days([0.5]), summary([0.5])], {}, ValueError, "exactly one label; summaries.1"),
        (days([0.5]) * 2, {}, ValueError, "both have the label 'day 0'"),
        ([*days([0.5]), summary([1], "x", ["RR"])], {}, ValueError, "must have the same measures"),
        ([1, 2], {}, TypeError, r"summaries\[0\] must be a Summary; got int"),
    ])
    def test_bad_input(self, summaries, settings, error, message):
        with pytest.raises(error, match=message):
            sg.trend(summaries, **settings)
