"""The query column of a table, and lookups of this column in other tables."""

import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skgraded as sg
from skgraded.model_selection.query_source import QuerySource, locate_columns, remove_columns

FRAME = pd.DataFrame([[1.0, 7, 2.0], [3.0, 8, 4.0]], columns=["a", "q", "b"])
X, y, queries = sg.datasets.make_ranking(n_queries=10, n_features=3, random_state=0)
PAGES = pd.DataFrame(X, columns=["age", "links", "words"]).assign(query_id=queries)


@pytest.mark.parametrize("source", ["q", 1, -2])
def test_a_named_column_is_found_at_any_position(source):
    located = QuerySource(source)
    (column,) = locate_columns(FRAME, [located, QuerySource(None)])
    located.column = column
    for table in (FRAME, FRAME[["b", "q"]], FRAME.to_numpy()):
        assert list(located.read(table)) == [7, 8]
        assert remove_columns(table, [column]).shape == (2, table.shape[1] - 1)
    for table in (FRAME[["a", "b"]].assign(c=0), FRAME.to_numpy()[:, :2]):
        with pytest.raises(ValueError, match="^qid is (the )?column .*, but X (has|is)"):
            located.read(table)
        assert remove_columns(table, [column]) is table
    with pytest.raises(ValueError, match="no features besides the columns that are removed"):
        remove_columns(FRAME[["q"]], [column])


def test_a_column_without_a_name_is_found_by_position():
    for table in (FRAME.to_numpy(), FRAME.set_axis([0, 1, 2], axis=1)):
        located = QuerySource(2)
        located.column = located.locate(table)
        for other in (FRAME, table, FRAME.to_numpy()):
            assert list(located.read(other)) == [2, 4]
        with pytest.raises(ValueError, match="^qid is column 2, but X has"):
            located.read(FRAME[["a", "q"]])


def reduced(**settings):
    """Return a ColumnTransformer that selects two of the features."""
    output = settings.pop("output", "default")
    columns = ColumnTransformer([("scaled", StandardScaler(), ["age", "links"])], **settings)
    return columns.set_output(transform=output)


@pytest.mark.parametrize(
    "qid, settings, cause",
    [
        (
            "query_id",
            {"output": "pandas"},
            "qid is the column 'query_id', but X has only the columns .*A preceding step",
        ),
        ("query_id", {}, "qid is the column 'query_id', but X is a ndarray"),
        (3, {}, "qid is column 3, but X has only 2 columns. A preceding step"),
        (-1, {}, "qid is column -1 of X, but that column contains"),
        (
            "query_id",
            {"output": "pandas", "remainder": "passthrough"},
            "qid is the column 'query_id', but X has only the columns .*'remainder__query_id'",
        ),
    ],
)
def test_errors_name_the_transformer_that_drops_the_queries_as_the_cause(qid, settings, cause):
    with pytest.raises(ValueError, match=f"^{cause}"):
        make_pipeline(reduced(**settings), sg.QueryRanker(Ridge(), qid=qid)).fit(PAGES, y)
    with pytest.raises(ValueError, match=f"^{cause}"):
        model = make_pipeline(reduced(**settings), Ridge()).fit(PAGES, y)
        sg.make_ranking_scorer("ndcng", qid=qid)(model[-1], model[0].transform(PAGES), y)


def test_the_settings_that_the_error_recommends_keep_the_queries():
    keeping = reduced(output="pandas", remainder="passthrough", verbose_feature_names_out=False)
    model = make_pipeline(keeping, sg.QueryRanker(Ridge(), qid="query_id")).fit(PAGES, y)
    expected = sg.NDCNG()(y, model.predict(PAGES), qid=queries)
    assert sg.make_ranking_scorer("ndcng")(model, PAGES, y) == expected
