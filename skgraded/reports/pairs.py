"""Mean differences of all pairs of systems, as matrices."""

from typing import Any

import numpy as np

from skgraded.measures import mean_over_queries


def pairwise(
    rows: list[dict[str, Any]], systems: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Mean differences of the pairs of a comparison, and which are told apart.

    Parameters
    ----------
    rows : list of dict
        Those of a comparison's table by one measure, by column name, which say what is
        "told_apart".
    systems : list of str
        Their names, in the order of the matrices.

    Returns
    -------
    differences : ndarray of shape (n_systems, n_systems)
        Mean of the row's system less that of the column's; nan where the pair is not compared.
    told_apart : ndarray of shape (n_systems, n_systems)
        1 or 0; nan where there is no test.
    """
    places = {name: i for i, name in enumerate(systems)}
    differences, told_apart = np.full((2, len(systems), len(systems)), np.nan)
    np.fill_diagonal(differences, 0.0)
    for row in rows:
        i, j = places[row["system"]], places[row["baseline"]]
        differences[i, j], differences[j, i] = row["difference"], -row["difference"]
        if row["told_apart"] is not None:
            told_apart[i, j] = told_apart[j, i] = bool(row["told_apart"])
    return differences, told_apart


def fill_pairs(
    differences: np.ndarray, values: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """Fill the pairs that are not compared with their mean differences, of the queries of both.

    `values` are of shape (n_systems, n_queries), in the order of the matrix.
    """
    filled = differences.copy()
    for i, j in np.argwhere(np.isnan(differences) & np.tri(len(differences), dtype=bool)):
        both = values[i] - values[j]
        filled[i, j] = mean_over_queries(both, weights)
        filled[j, i] = -filled[i, j]
    return filled
