"""What is particular to the correlations and the generalized measures, beside the registry's."""

from itertools import product
from math import inf, log2, nan

import lightgbm as lgb
import numpy as np
import pytest
from preference_oracle import implied
from queries import random_queries
from registry import REGISTRY, edrc, rank_less_1, with_ties
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, cross_validate

import skgraded as sg
from skgraded.lightgbm import eval_metric
from skgraded.measures import score_queries
from skgraded.measures.preferences import edrc_score

CLOSE = {"rtol": 1e-11, "atol": 1e-12}
DISCOUNTS = ["linear", "log2", "exp2", rank_less_1]
PRIORS = [0, 0.3, 0.5, 1]

every_correlation = pytest.mark.parametrize(
    "cls", [entry.cls for entry in REGISTRY.values() if entry.lowest == -1]
)


class TestPublishedNumbers:
    """Table 2 of Ackerman and Chen: the truth rates A B C D 5 4 3 2, the system says B A C D."""

    def test_ndcg(self):
        value = sg.NDCG()([5, 4, 3, 2], [3, 4, 2, 1])
        dcg = 15 / log2(2) + 31 / log2(3) + 7 / log2(4) + 3 / log2(5)
        ideal = 31 / log2(2) + 15 / log2(3) + 7 / log2(4) + 3 / log2(5)
        assert value == pytest.approx(dcg / ideal) and round(value, 3) == 0.870

    def test_edrc_of_the_same_ratings(self):
        # R(B) = 2, R(C) = 3, R(D) = 4; B is above A in the list, and so not where it should be.
        value = sg.EDRC()([5, 4, 3, 2], [3, 4, 2, 1])
        z = 1 / 2 + 2 / 3 + 3 / 4
        assert value == pytest.approx(2 / z * (0 / 2 + 2 / 3 + 3 / 4) - 1)


def edrc_queries(seed, sizes, n_levels, n_scores=None, unknown=0.0):
    """Grades, scores and sizes of queries, some of whose documents have no grade."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    grades = rng.integers(0, n_levels, n) * 0.5
    grades[rng.uniform(size=n) < unknown] = nan
    scores = rng.normal(size=n) if n_scores is None else rng.integers(0, n_scores, n) * 1.0
    scores[rng.uniform(size=n) < 0.1] = -inf
    return grades, scores, list(sizes)


class TestEDRC:
    @pytest.mark.parametrize("discount", DISCOUNTS)
    @pytest.mark.parametrize("n_scores", [None, 3])
    def test_its_definition_with_some_grades_unknown(self, discount, n_scores):
        for (i, prior), (j, unknown) in product(enumerate(PRIORS), enumerate([0.0, 0.3, 0.9])):
            n_levels = (2, 3, 40)[(i + j) % 3]
            sizes = [*range(1, 12)] * 2
            grades, scores, group = edrc_queries(n_levels, sizes, n_levels, n_scores, unknown)
            measure = sg.EDRC(discount=discount, prior=prior)
            values = measure.per_query(grades, scores, group=group)
            ends = np.cumsum(group)[:-1]
            parts = list(zip(np.split(grades, ends), np.split(scores, ends), strict=True))
            expected = [edrc(*part, discount, prior) for part in parts]
            n_undefined = expected.count(None)
            assert n_undefined >= 2 and measure.n_undefined(grades, group=group) == n_undefined
            expected = [0.0 if value is None else value for value in expected]
            np.testing.assert_allclose(values, expected, **CLOSE, err_msg=f"{measure}, {unknown}")

    @pytest.mark.parametrize(
        ("discount", "prior"), [("linear", 0), ("log2", 0.3), ("exp2", 0.5), (rank_less_1, 1)]
    )
    def test_its_definition_on_200_documents(self, discount, prior):
        scorings = [(None, 0.0), (20, 0.2), (1, 0.1)]
        for n_levels, (n_scores, unknown) in product([2, 17, 1000], scorings):
            grades, scores, _ = edrc_queries(n_levels, [200], n_levels, n_scores, unknown)
            value = sg.EDRC(discount=discount, prior=prior)(grades, scores)
            expected = edrc(grades, scores, discount, prior)
            assert value == pytest.approx(expected, abs=1e-11), (n_levels, n_scores)

    @pytest.mark.parametrize("discount", DISCOUNTS)
    def test_the_pairs_that_the_grades_imply_give_the_same(self, discount):
        for seed in range(8):
            prior = PRIORS[seed % 4]
            grades, scores, _ = edrc_queries(seed, [9], 4, 5, unknown=0.2)
            grades[:2] = 0, 3
            pairs = implied(dict(enumerate(grades)))
            by_pairs = edrc_score(
                pairs, dict(enumerate(scores)), discount=discount, prior=prior, items=range(9)
            )
            value = sg.EDRC(discount=discount, prior=prior)(grades, scores)
            assert value == pytest.approx(by_pairs, abs=1e-12), (seed, prior)

    def test_with_total_orders_and_ranks_less_1_it_is_tau_ap_with_the_lists_swapped(self):
        measure = sg.EDRC(discount=rank_less_1)
        rng = np.random.default_rng(2)
        for n in (2, 3, 5, 10, 60, 300):
            grades, scores = rng.permutation(n).astype(float), rng.permutation(n) - n / 2
            swapped = sg.TauAP()(scores - scores.min(), grades)
            assert measure(grades, scores) == pytest.approx(swapped, abs=1e-12)

    def test_what_it_does_with_equal_grades_and_unknown_ones_written_out(self):
        # A 2, B 1, C 1, D unknown; the list is B A C D. R(B) = R(C) = 2, D has rank 1.
        # W(B) = A C D: 0 + 2 priors, W(C) = A B D: 1 + 2 priors, each divided by D(2).
        for prior in PRIORS:
            for divisor, discount in ((2, "linear"), (log2(3), "log2"), (4, "exp2")):
                c_b, c_c = 0 + 2 * prior, 1 + 2 * prior
                z = 3 / divisor + 3 / divisor
                expected = 2 / z * (c_b + c_c) / divisor - 1
                measure = sg.EDRC(discount=discount, prior=prior)
                assert measure([2, 1, 1, nan], [3, 4, 2, 1]) == pytest.approx(expected)

    def test_a_callable_gets_ranks_from_2(self):
        got = []
        measure = sg.EDRC(discount=lambda ranks: got.append(ranks.tolist()) or ranks)
        measure([3, 2, 1, 0], [1, 2, 3, 4])
        assert got and all(ranks == [2, 3, 4] for ranks in got)

    def test_queries_of_unknown_grades_leave_their_neighbours_alone(self):
        grades = [nan, nan, 2, 1, 0, nan, 1, 3, 3, nan]
        scores = [1, 2, 3, 3, 5, 6, 7, 8, 9, 1]
        qid = [0, 0, 1, 1, 1, 2, 3, 3, 3, 4]
        measure = sg.EDRC(undefined=nan)
        of_1, of_3 = measure([2, 1, 0], [3, 3, 5]), measure([1, 3, 3], [7, 8, 9])
        values = measure.per_query(grades, scores, qid=qid)
        np.testing.assert_array_equal(values, [nan, of_1, nan, of_3, nan])
        assert measure(grades, scores, qid=qid) == pytest.approx((of_1 + of_3) / 2)
        order = np.random.default_rng(0).permutation(10)
        moved = [np.array(column)[order] for column in (grades, scores, qid)]
        by_query = dict(enumerate(values))
        expected = [by_query[one] for one in dict.fromkeys(moved[2].tolist())]
        values = measure.per_query(moved[0], moved[1], qid=moved[2])
        np.testing.assert_allclose(values, expected, **CLOSE)


@every_correlation
class TestEveryCorrelation:

    def test_the_same_order_is_1_and_the_reverse_is_minus_1(self, cls):
        for n in [*range(2, 60), 120, 333]:
            grades = np.random.default_rng(n).permutation(n)
            value = cls()(grades, np.sqrt(grades))
            assert value <= 1 and value == pytest.approx(1), n
            value = cls()(grades, -grades)
            assert value >= -1 and value == pytest.approx(-1), n

    def test_documents_not_retrieved_are_tied_below_all_others(self, cls):
        scores = (-inf, -inf, 1.0, 2.0, inf)
        queries = random_queries(5, 30, sizes=(1, 20), grades=(0, 0.5, 1, 4), scores=scores)
        for ties in REGISTRY[cls.__name__].tie_rules:
            measure = with_ties(cls(), ties)
            values, expected = (
                measure.per_query(queries.y_true, scores, qid=queries.qid)
                for scores in (queries.y_score, np.clip(queries.y_score, -1e9, 1e9))
            )
            np.testing.assert_array_equal(values, expected)


class TestPairAccuracyAndAUC:
    def test_pair_accuracy_is_kendalls_tau_on_another_scale_where_nothing_ties(self):
        rng = np.random.default_rng(5)
        for n in (2, 3, 10, 100):
            grades, scores = rng.permutation(n), rng.permutation(n)
            tau = sg.KendallTau()(grades, scores)
            assert sg.PairAccuracy()(grades, scores) == pytest.approx((tau + 1) / 2, abs=1e-14)

    def test_auc_is_pair_accuracy_where_grades_are_0_and_1(self):
        queries = random_queries(2, 60, sizes=(1, 30), grades=(0, 0, 1))
        auc, accuracy = (
            cls(undefined=nan).per_query(queries.y_true, queries.y_score, qid=queries.qid)
            for cls in (sg.AUC, sg.PairAccuracy)
        )
        np.testing.assert_array_equal(auc, accuracy)

    def test_documents_not_retrieved_are_tied_in_last_place(self):
        # relevant a, b; irrelevant c, d; b and d are not retrieved: (a, c), (a, d), (b, c), (b, d)
        expected = (1 + 1 + 0 + 0.5) / 4
        for measure in (sg.AUC(), sg.PairAccuracy()):
            assert measure([1, 1, 0, 0], [2.0, -inf, 1.0, -inf]) == expected

    @pytest.mark.parametrize("undefined", [0.0, 1.0, nan])
    def test_a_query_without_both_kinds_of_documents_is_undefined(self, undefined):
        grades, group = [1, 2, 0, 0, 1, 2, 0, 1], [2, 2, 2, 2]
        scores = [2, 1, 2, 1, 1, 2, 2, 1]
        for measure, expected, n_undefined in (
            (sg.AUC(undefined=undefined), [undefined, undefined, undefined, 0], 3),
            (sg.AUC(2, undefined=undefined), [0, undefined, 1, undefined], 2),
            (sg.PairAccuracy(undefined=undefined), [0, undefined, 1, 0], 1),
        ):
            np.testing.assert_array_equal(measure.per_query(grades, scores, group=group), expected)
            assert measure.n_undefined(grades, group=group) == n_undefined

    def test_constant_scores_of_a_long_query_give_one_half(self):
        grades = np.arange(100_000) % 7
        assert sg.PairAccuracy()(grades, np.zeros(len(grades))) == 0.5
        for threshold in (None, 1, 5):
            assert sg.AUC(threshold)(grades, np.zeros(len(grades))) == 0.5


class TestUnknownGrades:
    GRADES, SCORES, QID = [1, 2, 0, nan, nan, 1], [1, 2, 3, 4, 5, 6], [0, 1, 0, 1, 0, 1]

    @pytest.mark.parametrize(
        "measure",
        [sg.TauAP(), sg.KendallTau(), sg.SpearmanRho(), sg.GeneralizedPrecision(k=2), sg.NDCG()],
        ids=str,
    )
    def test_all_but_edrc_refuse_them_and_name_the_row(self, measure):
        judgments = sg.Judgments(self.GRADES, qid=self.QID)
        calls = [
            lambda: measure(self.GRADES, self.SCORES, qid=self.QID),
            lambda: measure.per_query(self.GRADES, self.SCORES, qid=self.QID),
            lambda: measure.n_undefined(self.GRADES, qid=self.QID),
            lambda: measure.n_undefined(judgments),
            lambda: measure(judgments, self.SCORES),
            lambda: score_queries([sg.EDRC(), measure], judgments, self.SCORES),
        ]
        for call in calls:
            with pytest.raises(ValueError, match=r"y_true must not contain NaN; got nan for row 3"):
                call()


ALL_NEW = [
    "tau_ap", "kendall_tau", "spearman_rho", "edrc", "EDRC(discount='exp2',prior=0.25)",
    "generalized_precision@5", "generalized_recall@5", "auc", "AUC(threshold=2)", "pair_accuracy",
]
NAMES = [sg.measure(text).name for text in ALL_NEW]


def learnable(seed=0):
    rng = np.random.default_rng(seed)
    X, qid = rng.normal(size=(240, 4)), np.sort(rng.integers(0, 24, 240))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=240) + 1), 0, 4)
    return X, y, qid


def trained(measures, grades, n_rounds, *callbacks):
    """A booster and its values of the measures, round by round, with other grades of its rows."""
    X, y, qid = learnable()
    group = np.unique(qid, return_counts=True)[1]
    train = lgb.Dataset(X, y, group=group, params={"verbose": -1})
    valid = lgb.Dataset(X, grades, group=group, reference=train)
    history = {}
    booster = lgb.train(
        {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1},
        train, n_rounds, valid_sets=[valid], feval=eval_metric(measures),
        callbacks=[lgb.record_evaluation(history), *callbacks],
    )
    return booster, history["valid_0"]


class TestWhereverAMeasureIs:
    def test_scorers(self):
        X, y, qid = learnable()
        X = np.column_stack([X, qid])
        found = cross_validate(
            LinearRegression(), X, y, cv=GroupKFold(3), groups=qid, error_score="raise",
            scoring=sg.make_ranking_scorer(ALL_NEW, qid=4),
            return_estimator=True, return_indices=True,
        )
        for name in NAMES:
            for fold, model in enumerate(found["estimator"]):
                rows = found["indices"]["test"][fold]
                expected = sg.measure(name)(y[rows], model.predict(X[rows]), qid=qid[rows])
                assert found[f"test_{name}"][fold] == expected and expected > 0

    def test_lightgbm(self):
        X, y, qid = learnable()
        booster, history = trained(ALL_NEW, y, 4)
        for name in NAMES:
            value = sg.measure(name)(y, booster.predict(X), qid=qid)
            assert history[name][-1] == pytest.approx(value, abs=1e-9)

    def test_a_negative_correlation_stops_early_at_its_highest(self):
        # The opposite of the truth: what is learned keeps the value below 0.
        opposite = 4 - learnable()[1]
        booster, history = trained("edrc", opposite, 30, lgb.early_stopping(5, verbose=False))
        values = history["EDRC"]
        assert max(values) < 0 and len(values) < 30
        assert booster.best_iteration == 1 + int(np.argmax(values))

    def test_rankers(self):
        X, y, qid = learnable()
        for text in ALL_NEW:
            ranker = sg.QueryRanker(LinearRegression(), measure=text).fit(X, y, qid=qid)
            value = ranker.score(X, y, qid=qid)
            assert value == sg.measure(text)(y, ranker.predict(X), qid=qid) > 0.1, text


def test_edrc_of_discounts_as_small_as_floats_can_be():
    # only the ratios of the discounts count
    grades, scores = [3, 2, 1, 0], [1, 4, 2, 3]
    tiny = sg.EDRC(discount=lambda ranks: ranks * 1e-310)
    assert tiny(grades, scores) == pytest.approx(sg.EDRC()(grades, scores), rel=1e-6)
