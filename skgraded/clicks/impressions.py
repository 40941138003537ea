"""Checked columns of a log of impressions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skgraded._input.door import column, to_plain_list
from skgraded._input.queries import query_codes
from skgraded._kernels import layout
from skgraded.datasets.entries import find_repeated_keys

MAX_POSITION = 10**7  # larger numbers are probably ids or times
MAX_KEY = 2**62
IDS = ("session", "qid", "item")


def read_positions(position: ArrayLike) -> np.ndarray:
    """Return the checked positions as integers from 0."""
    places = column(position, "position")
    refuse_invalid(
        places,
        (places >= 1) & (places <= MAX_POSITION) & (places == np.floor(places)),
        f"position must contain integers from 1 to {MAX_POSITION:,}",
        " If positions start at 0, pass position + 1." if places.min() == 0 else "",
    )
    return places.astype(np.int64) - 1


def refuse_invalid(values: np.ndarray, is_valid: np.ndarray, rule: str, advice: str = "") -> None:
    """Raise a ValueError that states `rule` and the first invalid value, unless all are valid."""
    if not is_valid.all():
        row = int(np.argmin(is_valid))
        raise ValueError(f"{rule}; got {values[row]:g} in row {row}.{advice}")


def combine_codes(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return a nonnegative key per row; rows with equal codes in all columns have equal keys."""
    keys, *others = columns
    for codes in others:
        n = int(codes.max()) + 1
        if (int(keys.max()) + 1) * n > MAX_KEY:
            keys, *_ = layout.number_by_appearance(keys)
        keys = keys * n + codes
    return keys


@dataclass(frozen=True)
class Impressions:
    """Validated columns of a log; a row is one impression or, if `is_counted` is true, several."""

    clicks: np.ndarray  # impressions with a click in each row
    impressions: np.ndarray  # number of impressions in each row
    is_counted: bool
    places: np.ndarray  # positions, from 0
    n_positions: int
    codes: dict[str, np.ndarray]  # integer codes of the ids in each column
    ids: dict[str, np.ndarray]  # distinct ids of each column, in order of first appearance

    @classmethod
    def read(cls, columns: Mapping[str, Any], names: Mapping[str, str]) -> Self:
        """Check the columns of a log; `columns` and `names` are keyed by argument name.

        `names` contains the column names for error messages.
        """
        places = read_positions(columns["position"])
        n, is_counted = len(places), columns["n_impressions"] is not None
        values = column(columns["clicked"], "clicked", n, "position")
        refuse_invalid(
            values, (values >= 0) & (values < np.inf), "clicked must contain numbers ≥ 0"
        )
        refuse_invalid(
            values,
            (values == 0) | (values == 1) | (values.max() > 1),
            "clicked contains rates: all values are from 0 to 1",
            " Pass one row per impression or, for a counted log, the number of impressions with a "
            "click as clicked, and n_impressions. For dwell times, pass clicked > 0.",
        )
        clicks, impressions = (values > 0).astype(float), np.ones(n)
        if is_counted:
            clicks = values
            impressions = column(columns["n_impressions"], "n_impressions", n, "clicked")
            refuse_invalid(
                impressions,
                (impressions >= 1)
                & (impressions < np.inf)
                & (impressions == np.floor(impressions)),
                "n_impressions must contain integers ≥ 1",
            )
            refuse_invalid(
                clicks,
                (clicks <= impressions) & (clicks == np.floor(clicks)),
                "With n_impressions, clicked must contain the number of impressions with a click, "
                "an integer ≤ n_impressions",
                " Count them with count_if(clicks > 0), not with sum(clicks).",
            )
            if (clicks == impressions).all():
                raise ValueError(
                    "clicked equals n_impressions in every row, so impressions without a click are "
                    "missing: count all impressions with count(*)."
                )
        codes, ids = {}, {}
        for name in IDS:
            if columns[name] is not None:
                codes[name], ids[name] = query_codes(columns[name], n, "clicked", name=name)
        rows = cls(clicks, impressions, is_counted, places, int(places.max()) + 1, codes, ids)
        if not is_counted:
            rows._refuse_other_logs(values, names)
        return rows

    def _refuse_other_logs(self, values: np.ndarray, names: Mapping[str, str]) -> None:
        """Raise a ValueError if the rows are not impressions."""
        later, first = find_repeated_keys(combine_codes([*self.codes.values(), self.places]))
        refuse_invalid(
            values,
            (values <= 1) | ("session" in self.codes) | (len(later) > 0),
            "clicked contains numbers above 1, but no document is repeated at a position, as in a "
            "log that a database counted",
            " Pass the number of impressions of each row as n_impressions. If each row is one "
            "impression, for example with its dwell time, pass clicked > 0.",
        )
        if self.clicks.all():
            raise ValueError(
                "Every row has a click, so impressions without a click are missing: pass a "
                "row for each document that was shown, with clicked = 0 if it was not clicked."
            )
        differs = self.clicks[later] != self.clicks[first]
        if "session" in self.codes and differs.any():
            i, keys = int(np.argmax(differs)), [names[key] for key in (*self.codes, "position")]
            clicked, listed = names["clicked"], ", ".join(keys)
            raise ValueError(
                f"Rows {first[i]} and {later[i]} are the same impression ({listed}), with and "
                "without a click. If impressions and clicks are separate events, take the maximum: "
                f"log.groupby({keys}, as_index=False)[{clicked!r}].max() in pandas, or SELECT "
                f"{listed}, max({clicked}) AS {clicked} FROM log GROUP BY {listed} in SQL. If a "
                "query is repeated in a session, pass a different session id for each result list."
            )

    def require(self, purpose: str, *names: str) -> None:
        """Raise a ValueError if the log lacks a column that a method requires."""
        for name in names:
            if name not in self.codes:
                raise ValueError(f"{purpose} requires {name}: pass {name}= to ClickLog.")

    def check_sessions(self, *columns: str) -> None:
        """Raise a ValueError if a session has several queries, or repeats a value in `columns`."""
        codes = {"position": self.places} | self.codes
        values = {"position": 1 + np.arange(self.n_positions)} | self.ids
        session, faults = codes["session"], []
        if "qid" in codes:
            query = codes["qid"]
            first = query[layout.number_by_appearance(session)[1]][session]
            for row in np.flatnonzero(query != first)[:1]:
                pair = to_plain_list(values["qid"][[first[row], query[row]]])
                faults.append((row, f"the queries {pair[0]!r} and {pair[1]!r} (in row {row})"))
        for name in columns:
            for row in find_repeated_keys(combine_codes([session, codes[name]]))[0][:1]:
                (value,) = to_plain_list(values[name][[codes[name][row]]])
                faults.append((row, f"{name} {value!r} twice (again in row {row})"))
        for row, fault in faults:
            raise ValueError(
                f"Session {to_plain_list(values['session'][[session[row]]])[0]!r} contains {fault}: a "
                "session is one list of results for one query, with one row per item."
            )
