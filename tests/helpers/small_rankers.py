"""A ranker of LightGBM of five rounds, and its fit in LightGBM's own form of groups."""

import numpy as np
from lightgbm import LGBMRanker


def lambdarank():
    return LGBMRanker(
        n_estimators=5, min_child_samples=5, verbose=-1, n_jobs=1, random_state=0,
        deterministic=True, force_row_wise=True,
    )


def fitted_by_hand(model, X, y, qid):
    """A regressor fitted on the rows, LightGBM in its own form of groups."""
    if not isinstance(model, LGBMRanker):
        return model.fit(X, y)
    ids = list(dict.fromkeys(qid.tolist()))
    order = np.concatenate([np.flatnonzero(qid == one) for one in ids])
    return model.fit(X[order], y[order], group=[int(np.sum(qid == one)) for one in ids])
