"""Warnings of the package."""


class TornQueryWarning(UserWarning):
    """A ranker is scored on documents of a query of which it was fitted on other documents.

    The split tore queries apart, as KFold, ``cv=5`` and train_test_split do: the score is better
    than it will be for new queries. Split by query, with GroupKFold for example.
    """
