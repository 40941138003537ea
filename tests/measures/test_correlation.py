"""What is particular to the correlations and the generalized measures, beside the registry's."""

import copy
import pickle
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
NEED_ALL_GRADES = [sg.TauAP(), sg.KendallTau(), sg.SpearmanRho()]

every_correlation = pytest.mark.parametrize(
    "cls", [entry.cls for entry in REGISTRY.values() if entry.lowest == -1]
)


def total_orders(seed, sizes):
    """Pairs of random orders without ties."""
    rng = np.random.default_rng(seed)
    return [(rng.permutation(n).astype(float), rng.permutation(n) - n / 2) for n in sizes]


class TestPublishedNumbers:
    """Table 2 of Ackerman and Chen: the truth rates A B C D 5 4 3 2, the system says B A C D."""

    def test_ap_correlation(self):
        value = sg.TauAP()([5, 4, 3, 2], [3, 4, 2, 1])
        assert value == pytest.approx(2 / 3 * (0 / 1 + 2 / 2 + 3 / 3) - 1) == pytest.approx(1 / 3)

    def test_ndcg(self):
        value = sg.NDCG()([5, 4, 3, 2], [3, 4, 2, 1])
        dcg = 15 / log2(2) + 31 / log2(3) + 7 / log2(4) + 3 / log2(5)
        ideal = 31 / log2(2) + 15 / log2(3) + 7 / log2(4) + 3 / log2(5)
        assert value == pytest.approx(dcg / ideal) and round(value, 3) == 0.870

    def test_a_swap_at_the_end_costs_ap_correlation_less_than_one_at_the_top(self):
        at_the_end = sg.TauAP()([5, 4, 3, 2], [4, 3, 1, 2])
        assert at_the_end == pytest.approx(2 / 3 * (1 / 1 + 2 / 2 + 2 / 3) - 1)
        assert at_the_end > sg.TauAP()([5, 4, 3, 2], [3, 4, 2, 1])

    def test_edrc_of_the_same_ratings(self):
        # R(B) = 2, R(C) = 3, R(D) = 4; B is above A in the list, and so not where it should be.
        value = sg.EDRC()([5, 4, 3, 2], [3, 4, 2, 1])
        z = 1 / 2 + 2 / 3 + 3 / 4
        assert value == pytest.approx(2 / z * (0 / 2 + 2 / 3 + 3 / 4) - 1)


class TestTauAP:
    def test_equal_grades_count_one_half(self):
        # Ranked grades 2 1 1: the second is right, of the third's two pairs one is tied.
        expected = 2 / 2 * (1 / 1 + (1 + 1 / 2) / 2) - 1
        assert sg.TauAP()([2, 1, 1], [3, 2, 1]) == pytest.approx(expected)

    def test_tied_scores_by_each_rule(self):
        # A B tied before C, grades 1 2 0: A B C or B A C.
        grades, scores = [1, 2, 0], [5, 5, 1]
        wrong, right = 2 / 2 * (0 / 1 + 2 / 2) - 1, 2 / 2 * (1 / 1 + 2 / 2) - 1
        expected = {
            "average": (wrong + right) / 2, "ordinal": wrong, "best": right, "worst": wrong
        }
        for ties, value in expected.items():
            assert sg.TauAP(ties=ties)(grades, scores) == pytest.approx(value)


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
        for grades, scores in total_orders(2, [2, 3, 5, 10, 60, 300]):
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

    def test_tied_scores_count_the_prior(self):
        # Grades 2 1 0, all tied: every pair of the truth is one that the system is silent about.
        for prior in PRIORS:
            assert sg.EDRC(prior=prior)([2, 1, 0], [7, 7, 7]) == pytest.approx(2 * prior - 1)
            assert sg.EDRC(prior=prior)([2, 0], [-inf, -inf]) == pytest.approx(2 * prior - 1)

    def test_ranks_count_the_levels_that_the_query_uses(self):
        # Levels 9 and 3 of one query have ranks 1 and 2, as 4 and 0 of another.
        first, second = ([9, 3, 9, 3], [4, 0, 4, 0])
        for discount in DISCOUNTS:
            measure = sg.EDRC(discount=discount)
            assert measure(first, [1, 2, 3, 4]) == measure(second, [1, 2, 3, 4])

    def test_a_callable_gets_an_array_of_ranks_from_2(self):
        seen = []

        def discount(ranks):
            seen.append(ranks.copy())
            return ranks

        sg.EDRC(discount=discount)([3, 2, 1, 0], [1, 2, 3, 4])
        assert seen and all(isinstance(ranks, np.ndarray) for ranks in seen)
        assert all(ranks.tolist() == [2, 3, 4] for ranks in seen)

    @pytest.mark.parametrize("undefined", [0.0, 1.0])
    def test_unknown_grades_alone_make_no_preference(self, undefined):
        measure = sg.EDRC(undefined=undefined)
        for grades in ([nan, nan, nan], [nan, 2, nan], [2, nan, 2], [nan]):
            assert measure(grades, np.arange(len(grades))) == undefined
            assert measure.n_undefined(grades) == 1
        assert measure.n_undefined([nan, 2, 1]) == 0

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


def test_kendall_and_spearman_written_out():
    # The document of grade 2 is right twice, that of grade 3 wrong three times; the two of
    # grade 1 are tied in both.
    concordant, discordant, untied = 2, 3, 5
    value = sg.KendallTau()([3, 2, 1, 1], [1, 3, 2, 2])
    assert value == pytest.approx((concordant - discordant) / untied)
    # Ranks 1 2 3.5 3.5 and 4 1 2.5 2.5, both of mean 2.5.
    of_grades, of_scores = np.array([-1.5, -0.5, 1, 1]), np.array([1.5, -1.5, 0, 0])
    expected = of_grades @ of_scores / np.sqrt((of_grades @ of_grades) * (of_scores @ of_scores))
    assert sg.SpearmanRho()([3, 2, 1, 1], [1, 3, 2, 2]) == pytest.approx(expected)


@every_correlation
class TestEveryCorrelation:
    @pytest.mark.parametrize("undefined", [0.0, 1.0, nan])
    def test_one_document_or_no_preference_is_undefined(self, cls, undefined):
        measure = cls(undefined=undefined)
        y_true, y_score = [3, 1, 1, 1, 0, 0, 2, 1], [1, 3, 2, 1, 5, 6, 2, 1]
        qid = ["one", "equal", "equal", "equal", "zero", "zero", "good", "good"]
        values = measure.per_query(y_true, y_score, qid=qid)
        np.testing.assert_allclose(values, [undefined, undefined, undefined, 1.0])
        assert measure.n_undefined(y_true, qid=qid) == 3
        mean = 1.0 if np.isnan(undefined) else (3 * undefined + 1) / 4
        assert measure(y_true, y_score, qid=qid) == pytest.approx(mean)
        weight = [1, 1, 1, 1, 1, 1, 0, 0]
        alone = measure(y_true, y_score, qid=qid, sample_weight=weight)
        np.testing.assert_allclose(alone, undefined)

    def test_two_different_grades_are_a_preference_whatever_the_scores(self, cls):
        # Unlike in the measures of relevance, a grade above 0 is no condition.
        assert cls().n_undefined([2, 2]) == 1 and cls().n_undefined([2, 1]) == 0
        assert cls(undefined=nan).n_undefined([0, 1]) == 0
        assert not np.isnan(cls(undefined=nan)([0, 1], [-inf, -inf]))

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

    def test_random_orders_average_to_nearly_0(self, cls):
        rng = np.random.default_rng(3)
        scores = np.concatenate([rng.permutation(10) for _ in range(200)])
        values = cls().per_query(np.tile(np.arange(10), 200), scores, group=[10] * 200)
        assert abs(values.mean()) < 4 * values.std() / np.sqrt(200)
        assert values.std() > 0.2

    def test_only_the_order_of_the_grades_counts(self, cls):
        queries = random_queries(seed=8, n_queries=40, sizes=(1, 12), grades=(0, 0.5, 1, 2, 4))
        expected = cls().per_query(queries.y_true, queries.y_score, qid=queries.qid)
        for transform in (np.sqrt, np.expm1, np.arctan, lambda grades: grades + 7, np.exp2):
            grades = transform(queries.y_true)
            values = cls().per_query(grades, queries.y_score, qid=queries.qid)
            np.testing.assert_allclose(values, expected, **CLOSE)

    def test_there_is_no_cut_off(self, cls):
        with pytest.raises(TypeError, match="k"):
            cls(k=10)
        with pytest.raises(ValueError, match="k"):
            sg.measure(f"{cls.__name__}@10")
        if cls is not sg.TauAP:
            with pytest.raises(TypeError, match="ties"):
                cls(ties="best")
            with pytest.raises(ValueError, match="ties"):
                sg.measure(f"{cls.__name__}(ties='best')")

    def test_a_nan_score_is_refused(self, cls):
        with pytest.raises(ValueError, match=r"y_score.*row 1\b"):
            cls()([0, 1, 2], [1, nan, 2])


class TestUnknownGrades:
    GRADES, SCORES, QID = [1, 2, 0, nan, nan, 1], [1, 2, 3, 4, 5, 6], [0, 1, 0, 1, 0, 1]

    @pytest.mark.parametrize(
        "measure",
        [*NEED_ALL_GRADES, sg.GeneralizedPrecision(k=2), sg.GeneralizedRecall()],
        ids=str,
    )
    def test_all_but_edrc_refuse_them_and_name_the_row(self, measure):
        judgments = sg.Judgments(self.GRADES, qid=self.QID)
        calls = [
            lambda: measure(self.GRADES, self.SCORES, qid=self.QID),
            lambda: measure.per_query(self.GRADES, self.SCORES, qid=self.QID),
            lambda: measure.n_undefined(self.GRADES, qid=self.QID),
            lambda: measure(judgments, self.SCORES),
            lambda: score_queries([sg.EDRC(), measure], judgments, self.SCORES),
        ]
        for call in calls:
            with pytest.raises(ValueError, match=r"y_true must not be NaN: row 3 is nan"):
                call()

    def test_edrc_takes_them(self):
        judgments = sg.Judgments(self.GRADES, qid=self.QID)
        expected = [edrc([1, 0, nan], [1, 3, 5]), edrc([2, nan, 1], [2, 4, 6])]
        for grades in (judgments, np.array(self.GRADES)):
            qid = {} if grades is judgments else {"qid": self.QID}
            values = sg.EDRC().per_query(grades, self.SCORES, **qid)
            np.testing.assert_allclose(values, expected, **CLOSE)


class TestTexts:
    def test_the_name_of_a_callable_is_shown(self):
        measure = sg.EDRC(discount=rank_less_1)
        assert str(measure) == "EDRC(discount=rank_less_1)"
        for twin in (pickle.loads(pickle.dumps(measure)), copy.deepcopy(measure)):
            assert twin([2, 1, 0], [2, 3, 1]) == measure([2, 1, 0], [2, 3, 1])
        with pytest.raises(pickle.PicklingError, match="discount"):
            pickle.dumps(sg.EDRC(discount=lambda rank: rank))


class TestBadParameters:
    @pytest.mark.parametrize("discount", ["letor", "LINEAR", "", None, 2, ["log2"]])
    def test_discounts_that_are_none(self, discount):
        with pytest.raises(ValueError) as raised:
            sg.EDRC(discount=discount)
        for word in ("discount", "linear", "log2", "exp2", "callable", repr(discount)):
            assert word in str(raised.value)

    def test_the_discounts_of_ndcg_stay_their_own(self):
        for discount in ("linear", "exp2"):
            with pytest.raises(ValueError, match="letor"):
                sg.NDCG(discount=discount)

    @pytest.mark.parametrize("prior", [-0.1, 1.0000001, nan, inf, "0.5", None, True, [0.5], 1j])
    def test_priors_that_are_no_probabilities(self, prior):
        with pytest.raises(ValueError) as raised:
            sg.EDRC(prior=prior)
        for word in ("prior", "0", "1", repr(prior)):
            assert word in str(raised.value)

    @pytest.mark.parametrize(
        "discount",
        [
            lambda ranks: ranks[:-1],
            lambda ranks: 3.0,
            lambda ranks: ranks * nan,
            lambda ranks: -ranks,
            lambda ranks: ranks - 2,  # 0 for the rank 2
            lambda ranks: ["a"] * len(ranks),
            lambda ranks: None,
        ],
    )
    def test_callables_that_give_no_discount(self, discount):
        with pytest.raises(ValueError, match="discount must give a finite number > 0"):
            sg.EDRC(discount=discount)([2, 1, 0], [1, 2, 3])


class TestGeneralized:
    GRADES, SCORES = [4, 0, 2, 1], [4, 3, 2, 1]

    def test_written_out(self):
        for k, total in ((1, 4), (2, 4), (3, 6), (4, 7), (10, 7)):
            gp = sg.GeneralizedPrecision(k=k)(self.GRADES, self.SCORES)
            assert gp == pytest.approx(total / 4 / k)
            gr = sg.GeneralizedRecall(k=k)(self.GRADES, self.SCORES)
            assert gr == pytest.approx(total / 7)
        assert sg.GeneralizedPrecision()(self.GRADES, self.SCORES) == pytest.approx(7 / 4 / 4)
        assert sg.GeneralizedRecall()(self.GRADES, self.SCORES) == pytest.approx(1)

    def test_max_grade_is_the_top_of_the_scale(self):
        measure = sg.GeneralizedPrecision(k=2, max_grade=10)
        assert measure(self.GRADES, self.SCORES) == pytest.approx((4 / 10 + 0 / 10) / 2)
        own = sg.GeneralizedPrecision(k=2, max_grade=4)(self.GRADES, self.SCORES)
        assert own == sg.GeneralizedPrecision(k=2)(self.GRADES, self.SCORES)

    def test_fewer_retrieved_than_k(self):
        scores = [4, -inf, 2, -inf]
        assert sg.GeneralizedPrecision(k=3)(self.GRADES, scores) == pytest.approx(6 / 4 / 3)
        assert sg.GeneralizedPrecision(k=50)(self.GRADES, scores) == pytest.approx(6 / 4 / 50)
        assert sg.GeneralizedPrecision()(self.GRADES, scores) == pytest.approx(6 / 4 / 2)
        assert sg.GeneralizedRecall(k=3)(self.GRADES, scores) == pytest.approx(6 / 7)
        for measure in (sg.GeneralizedPrecision(undefined=1), sg.GeneralizedRecall(undefined=1)):
            assert measure(self.GRADES, [-inf] * 4) == 0


ALL_NEW = [
    "tau_ap", "kendall_tau", "spearman_rho", "edrc", "EDRC(discount='exp2',prior=0.25)",
    "generalized_precision@5", "generalized_recall@5",
]
NAMES = [sg.measure(text).name for text in ALL_NEW]


def learnable(seed=0):
    rng = np.random.default_rng(seed)
    X, qid = rng.normal(size=(240, 4)), rng.integers(0, 24, 240)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=240) + 1), 0, 4)
    return X, y, qid


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
        order = np.argsort(qid, kind="stable")
        group = np.unique(qid, return_counts=True)[1]
        train = lgb.Dataset(X[order], y[order], group=group, params={"verbose": -1})
        history = {}
        booster = lgb.train(
            {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1},
            train, 4, valid_sets=[train], valid_names=["train"], feval=eval_metric(ALL_NEW),
            callbacks=[lgb.record_evaluation(history)],
        )
        for name in NAMES:
            value = sg.measure(name)(y[order], booster.predict(X[order]), group=group)
            assert history["train"][name][-1] == pytest.approx(value, abs=1e-9)

    def test_a_negative_correlation_stops_early_at_its_highest(self):
        X, y, qid = learnable()
        order = np.argsort(qid, kind="stable")
        group = np.unique(qid, return_counts=True)[1]
        train = lgb.Dataset(X[order], y[order], group=group, params={"verbose": -1})
        # The opposite of the truth: what is learned keeps the value below 0.
        valid = lgb.Dataset(X[order], 4 - y[order], group=group, reference=train)
        history = {}
        booster = lgb.train(
            {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1},
            train, 30, valid_sets=[valid], feval=eval_metric("edrc"),
            callbacks=[
                lgb.early_stopping(5, verbose=False), lgb.record_evaluation(history)
            ],
        )
        values = history["valid_0"]["EDRC"]
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
