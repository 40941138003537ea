"""The displays of judges and of p-values draw the numbers of their reports."""

import numpy as np
import pytest

import skgraded as sg

CONFUSION, MEANS, P_VALUES = sg.JudgeConfusionDisplay, sg.JudgeMeansDisplay, sg.PValueDisplay


@pytest.fixture(scope="module")
def data():
    X, y, qid = sg.datasets.make_ranking(40, 8, n_levels=4, random_state=0)
    rng = np.random.default_rng(0)
    judges = {"human": y, "strict": np.maximum(y - 1, 0), "high": y + 10 * (y == 3)}
    systems = {f"system {i}": y + (1 + i) * rng.normal(size=len(y)) for i in range(4)}
    return judges, systems, qid


@pytest.fixture(scope="module")
def report(data):
    judges, systems, qid = data
    with pytest.warns(UserWarning, match="high gives"):
        return sg.compare_judges(judges, systems, qid=qid, measures=["ap", "rr"], rng=0)


def test_the_confusion_is_that_of_the_report(report, ax):
    display = CONFUSION.from_report(report, "strict", ax=ax)
    frame = report.confusion("strict")
    numbers = [int(text.get_text().replace(",", "")) for text in display.texts_]
    assert numbers == frame.to_numpy().ravel().tolist()
    shares = frame.to_numpy() / np.maximum(frame.sum(axis=1).to_numpy(), 1)[:, None]
    np.testing.assert_allclose(display.image_.get_array(), shares)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0", "1", "2", "3"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("grade by strict", "grade by human")


def test_the_first_judge_and_grades_outside_the_scale(report, ax):
    assert CONFUSION.from_report(report, ax=ax).judge == "strict"
    display = CONFUSION.from_report(report, "high", ax=ax)
    assert display.grades.tolist() == [0, 1, 2, 3, 13]


def test_the_means_are_those_of_the_report(report, ax):
    display = MEANS.from_report(report, "strict", measure="rr", ax=ax)
    frame = report.means().query("judge == 'strict' and measure == 'RR'")
    for side in ("truth", "judge"):
        columns = [f"{side}_mean", f"{side}_low", f"{side}_high"]
        np.testing.assert_array_equal(getattr(display, f"{side}_means"), frame[columns])
    drawn = [points.lines[0].get_xydata()[0].tolist() for points in display.points_]
    assert drawn == frame[["truth_mean", "judge_mean"]].values.tolist()
    assert [points.get_label() for points in display.points_] == report.systems
    board = report.leaderboards().query("judge == 'strict' and measure == 'RR'")
    assert ax.get_title() == f"RR of 4 systems, τ = {board['tau_b'].item():.2f}"


def test_many_systems_have_no_names(ax):
    means = np.tile(np.linspace(0.2, 0.8, 13)[:, None], 3)
    display = MEANS(
        means, means, name=[f"s{i}" for i in range(13)], measure="AP", truth="a", judge="b"
    ).plot(ax)
    assert len(display.points_) == 13 and ax.get_legend() is None


@pytest.mark.parametrize("test", ["randomization", "t"])
def test_the_p_values_are_those_of_the_comparison(data, ax, test):
    _, systems, qid = data
    y = data[0]["human"]
    comparison = sg.compare({
        name: sg.evaluate(y, scores, qid=qid, measures=["ap", "rr"])
        for name, scores in systems.items()
    }, test=test, rng=0)
    display = P_VALUES.from_comparison(comparison, ax=ax)
    frame = comparison.to_frame()
    for line, (_, rows) in zip(display.lines_, frame.groupby("measure"), strict=True):
        np.testing.assert_array_equal(
            line.get_ydata(), sorted(rows["p_adjusted"], reverse=True)
        )
    power = comparison.discriminative_power()
    for i, (_, rows) in enumerate(frame.groupby("measure")):
        found = rows["p_adjusted"] <= 0.05
        assert power["n_pairs"][i] == 6 and power["n_significant"][i] == found.sum()
        assert power["share"][i] == found.mean()
        assert power["smallest_difference"][i] == pytest.approx(
            rows["difference"].abs()[found].min(), nan_ok=True
        )


def test_discriminative_power_has_one_row_per_segment_and_measure(data):
    judges, systems, qid = data
    evaluations = {
        name: sg.evaluate(judges["human"], scores, qid=qid, measures=["ap", "rr"])
        for name, scores in systems.items()
    }
    by = np.where(np.arange(40) < 20, "head", "tail")
    power = sg.compare(evaluations, by=by, rng=0).discriminative_power()
    assert power[["segment", "measure"]].values.tolist() == [
        ["head", "AP"], ["tail", "AP"], ["head", "RR"], ["tail", "RR"],
    ]
    with pytest.raises(ValueError, match="The comparison has no test"):
        sg.compare(evaluations, test=None).discriminative_power()


def test_bad_input_is_one_error(report, data, ax):
    judges, systems, qid = data
    for cls in (CONFUSION, MEANS):
        with pytest.raises(TypeError, match="of type JudgeComparison, as returned by"):
            cls.from_report({"human": 1}, ax=ax)
        with pytest.raises(ValueError, match="judge must be one of .* Did you mean 'strict'"):
            cls.from_report(report, "strikt", ax=ax)
    labels = sg.compare_judges({"a": judges["human"], "b": judges["strict"]}, qid=qid)
    with pytest.raises(ValueError, match="contains no systems: pass y_scores"):
        MEANS.from_report(labels, ax=ax)
    real = sg.compare_judges({"a": judges["human"] * 1.5, "b": judges["strict"]}, qid=qid)
    with pytest.raises(ValueError, match="no confusion table"):
        CONFUSION.from_report(real, ax=ax)
    by = sg.compare_judges(
        {"a": judges["human"], "b": judges["strict"]}, systems, qid=qid, rng=0,
        by=["x", "y"] * 20,
    )
    with pytest.raises(ValueError, match="must not have segments"):
        MEANS.from_report(by, ax=ax)
    with pytest.raises(ValueError, match="counts must have .*shape"):
        CONFUSION(np.zeros((2, 3)), [0, 1], truth="a", judge="b")
    with pytest.raises(ValueError, match=r"\(n_systems, 3\)"):
        MEANS(np.zeros((2, 2)), np.zeros((2, 2)), name=["a", "b"], measure="AP", truth="a",
              judge="b")
    with pytest.raises(ValueError, match="n_measures"):
        P_VALUES([0.1, 0.2], measures=["AP"], level=0.95)
