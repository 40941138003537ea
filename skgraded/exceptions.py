"""Warnings of the package."""


class TornQueryWarning(UserWarning):
    """A fit or a score sees only a part of a query.

    Either a ranker is scored on documents of a query of which it was fitted on other documents: the
    split tore queries apart, as KFold, ``cv=5`` and train_test_split do, and the score is better
    than it will be for new queries. Or the queries, a Series that is looked up by the row index of
    X, have documents that X lacks: rows were drawn where queries should have been, as by
    HalvingGridSearchCV with ``resource="n_samples"`` and learning_curve. Split by query, with
    GroupKFold for example.

    A column of X, and queries given beside X, are cut with the rows: a fit on a part of a query
    cannot be told from one on a small query, and nothing warns. With ``n_jobs`` the workers print
    the warning, and the caller's ``warnings.catch_warnings`` does not see it.
    """
