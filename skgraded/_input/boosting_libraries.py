"""Errors for a data set of a boosting library, and for a measure passed to one as a metric."""

from functools import cache

from skgraded._input.needs import is_installed
from skgraded._input.user_warnings import PACKAGE, find_calling_frame

ADVICE = (
    "With {0}, use a metric from skgraded.{0} to evaluate, or skgraded.QueryRanker(…, measure=…, "
    "early_stopping=True)."
)


def refuse_data_set(values: object, name: str) -> None:
    """Raise a TypeError for a LazyFrame, or for an object of a boosting library."""
    if type(values).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a polars LazyFrame, which has no rows yet: call collect().")
    modules = (cls.__module__.partition(".")[0] for cls in type(values).__mro__)
    library = next(filter(has_metrics, modules), None)
    if library is not None:
        raise TypeError(
            f"{name} must be an array; got a {type(values).__name__} from {library}. "
            f"{ADVICE.format(library)}"
        )


@cache
def has_metrics(library: str) -> bool:
    """Return whether the package has metrics, and a public module, for a library."""
    return is_installed(f"skgraded.boosting.{library}", f"skgraded.{library}")


def refuse_library(measure: object) -> None:
    """Raise a TypeError if a boosting library calls the measure as a metric.

    XGBoost's estimators call a measure for each query or for all rows, and minimize it. LightGBM
    and CatBoost first copy their settings, which are dicts and lists that may contain the measure.
    A measure inside another object, such as a user's metric, is not a setting.
    """
    frame = find_calling_frame(PACKAGE)
    while frame.f_back and frame.f_globals.get("__name__") == "copy":
        if frame.f_code.co_name == "_reconstruct":
            return
        frame = frame.f_back
    library = str(frame.f_globals.get("__name__")).partition(".")[0]
    # CatBoost's get_params copies settings only to show them.
    if has_metrics(library) and frame.f_code.co_name != "get_params":
        raise TypeError(
            f"{measure} must not be passed to {library}, which passes no queries to score "
            f"functions. {ADVICE.format(library)}"
        )
