"""A month of search logs with planted faults: what the nightly job reports, and its cost.

The script writes 28 days in Hive layout, evaluates each day as the nightly recipe does, and prints
what is reported about each fault. With --engines, Dask and Spark evaluate a day as well. It also
prints CPU time and peak memory of the same means with skgraded, polars and DuckDB.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import skgraded as sg

SYSTEMS = ["bm25", "lgbm", "dense"]
COUNTRIES = ["de", "fr", "us"]
N_DAYS = 28
N_ROWS = 10  # per query
SMALLEST = 0.01
LEVEL = 0.975
MEASURES = ["ndcg(undefined=nan)@10", "rr(undefined=nan)"]
TWICE, RENAMED, CORRUPT, EMPTY, FALL, AUDIENCE = 8, 11, 14, 17, 20, 23  # days with a fault
COLUMNS = ("grade", SYSTEMS, "query")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=600_000, help="3000000 for the README's table")
    parser.add_argument("--engines", nargs="*", default=[], choices=["dask", "spark"])
    parser.add_argument("--folder", type=Path, help="a new folder for the data, which is kept")
    parser.add_argument("--cost", choices=["skgraded", "polars", "duckdb"], help="used internally")
    args = parser.parse_args()
    if args.cost:
        return print_cost(args.cost, args.folder)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary, "log")
        n_files = write_month(folder, args.rows)
        print(f"{n_files} files, {args.rows} rows\n\n| fault | what is reported |\n| --- | --- |")
        for fault, report in [*faults_of_files(folder), *faults_of_means(folder)]:
            print(f"| {fault} | {' '.join(str(report).split())} |", flush=True)
        for engine in args.engines:
            print(f"| equal bits on {engine} | {is_equal(engine, folder)} |", flush=True)
        print("\n| means of all intact days | CPU time (s) | peak memory (MB) | NDCG@10 of bm25 |")
        print("| --- | ---: | ---: | ---: |", flush=True)
        for tool in ("skgraded", "polars", "duckdb"):
            subprocess.run(
                [sys.executable, __file__, "--cost", tool, "--folder", folder], check=True
            )


# Data --------------------------------------------------------------------------------------------


def day_name(day):
    return str(date(2026, 11, 1) + timedelta(day))


def write_month(folder, n_rows):
    """Write the files of all days; return their number."""
    n_queries = n_rows // N_ROWS // N_DAYS
    for day in range(N_DAYS):
        write_day(folder / f"day={day_name(day)}", day, n_queries)
    return sum(1 for _ in folder.rglob("*.parquet"))


def write_day(folder, day, n_queries):
    rng = np.random.default_rng(day)
    share = 0.41 if day == AUDIENCE else 0.31  # of the queries without a positive document
    country = rng.integers(0, 3, n_queries)
    has_positive = rng.random(n_queries) >= share
    grades = rng.choice(4, (n_queries, N_ROWS), p=[0.7, 0.15, 0.1, 0.05])
    grades[:, 0] = rng.integers(1, 4, n_queries)
    grades *= has_positive[:, None]
    signal = np.where((day == FALL) & (country == 0), 0.5, 0.8)[:, None]
    scores = {
        name: (signal + 0.1 * i) * grades + rng.normal(0, 1, grades.shape)
        for i, name in enumerate(SYSTEMS)
    }
    ids = np.array([f"{day_name(day)}-{i:07d}" for i in range(n_queries)], dtype=object)
    for code, name in enumerate(COUNTRIES):
        n_parts = 3 if code else 2
        for part in range(n_parts):
            mine = (country == code) & (np.arange(n_queries) % n_parts == part) & (day != EMPTY)
            columns = {
                "query": np.repeat(ids[mine], N_ROWS),
                "grade": grades[mine].ravel(),
                "doc": np.tile(np.arange(N_ROWS), mine.sum()),
                **{system: values[mine].ravel() for system, values in scores.items()},
            }
            write_file(folder / f"country={name}", f"{part}.parquet", columns, day)


def write_file(folder, name, columns, day):
    folder.mkdir(parents=True, exist_ok=True)
    if day == RENAMED and name == "1.parquet":
        columns["relevance"] = columns.pop("grade")
    table = pa.table(columns)
    if day == EMPTY:
        table = table.slice(0, 0)
    pq.write_table(table, folder / name)
    if day == TWICE:
        pq.write_table(table, folder / f"again-{name}")
    if day == CORRUPT and folder.name == "country=fr" and name == "1.parquet":
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])


# Faults ------------------------------------------------------------------------------------------


def evaluate(folder, day, **settings):
    """Evaluate one day as the nightly recipe does."""
    return sg.evaluate_batches(
        folder / f"day={day_name(day)}",
        *COLUMNS,
        measures=MEASURES,
        by="country",
        label=day_name(day),
        **settings,
    )


def message_of(call, *args, **settings):
    """Return the messages of a call's warnings and its error, or "nothing"."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        messages = []
        try:
            call(*args, **settings)
        except (ValueError, TypeError, OSError) as error:
            messages = [f"{type(error).__name__}: {error}"]
    messages = [*(f"warning: {warning.message}" for warning in caught), *messages]
    return "; ".join(messages) or "nothing"


def faults_of_files(folder):
    """Generate each fault of the files, and what is reported about it."""
    by_document = {"document": "doc"}
    yield "day delivered twice", message_of(evaluate, folder, TWICE)
    yield "the same, `document=`", message_of(evaluate, folder, TWICE, **by_document)
    once = evaluate(folder, TWICE, **by_document, duplicates="drop")
    yield 'the same, `duplicates="drop"`', f"n_duplicates: {once.n_duplicates}"
    first = evaluate(folder, 0)
    again = sg.evaluate_batches(
        folder / f"day={day_name(0)}", *COLUMNS, measures=MEASURES, by="country", label="again"
    )
    yield "day merged under two labels", message_of(sg.Summaries.merge, [first, again])
    yield "renamed column", message_of(evaluate, folder, RENAMED)
    yield "corrupt file", message_of(evaluate, folder, CORRUPT)
    yield 'the same, `errors="skip"`', message_of(evaluate, folder, CORRUPT, errors="skip")
    yield "empty day", message_of(evaluate, folder, EMPTY)


def faults_of_means(folder):
    """Generate each change of the means or the audience, and what the nightly job reports."""
    intact = [day for day in range(N_DAYS) if day not in (RENAMED, CORRUPT, EMPTY)]
    days = {day: evaluate(folder, day, document="doc", duplicates="drop") for day in intact}
    changes = {"none": 10, "fall in one country": FALL, "change of the audience": AUDIENCE}
    for fault, day in changes.items():
        before = sg.Summaries.merge([days[earlier] for earlier in intact if earlier < day])
        yield f"{fault}: recipe", recipe(before, days[day])
    trend = sg.trend([part for day, part in days.items() if day <= AUDIENCE])
    yield "trend of all countries", days_outside(trend)
    german = sg.trend([part.segments["de"] for day, part in days.items() if day <= FALL])
    yield "trend of de", days_outside(german)
    evaluation = days[0].systems["bm25"]
    yield "cold users (undefined share)", evaluation.n_undefined


def days_outside(trend):
    """Return the days whose mean, or share of undefined queries, is outside of the limits."""
    means = sorted(set(trend[trend["is_outside"]]["label"]))
    shares = sorted(set(trend[trend["undefined_is_outside"]]["label"]))
    return f"means outside: {means}; shares of undefined queries outside: {shares}"


def recipe(before, today):
    """Return the exit code of the nightly recipe, and the systems and countries that changed."""
    falls, shares = set(), set()
    for by in (None, "country"):
        changes = sg.compare_periods(before, today, by=by, level=LEVEL)
        for row in changes.to_dict("records"):
            place = f"{row['system']} {row.get('segment', 'overall')}"
            if row["difference"] <= -SMALLEST and row["p_adjusted"] < 1 - LEVEL:
                falls.add(place)
            rise = row["undefined_after"] - row["undefined_before"]
            if abs(rise) >= SMALLEST and row["p_undefined"] * len(changes) < 1 - LEVEL:
                shares.add(place)
    code = 1 if falls else 2 if shares else 0
    return f"exit code {code}: {', '.join(sorted(falls or shares)) or 'no change'}"


def is_equal(engine, folder):
    """Return whether an engine's Summaries of a day equal those of evaluate_batches."""
    day = folder / f"day={day_name(0)}"
    settings = {"measures": MEASURES, "by": "country", "document": "doc"}
    expected = sg.evaluate_batches(day, *COLUMNS, **settings)
    if engine == "dask":
        import dask.dataframe as dd

        import skgraded.dask

        frame = dd.read_parquet(day)
        frame["country"] = frame["country"].astype(str)
        return skgraded.dask.evaluate(frame, *COLUMNS, **settings) == expected
    from pyspark.sql import SparkSession

    import skgraded.spark

    rows = SparkSession.builder.getOrCreate().read.parquet(str(day))
    return skgraded.spark.evaluate(rows, *COLUMNS, **settings) == expected


# Cost --------------------------------------------------------------------------------------------

SQL = """
WITH ranked AS (
  SELECT query, grade, {system} AS score,
    row_number() OVER (PARTITION BY query ORDER BY {system} DESC) AS place,
    row_number() OVER (PARTITION BY query ORDER BY grade DESC) AS ideal
  FROM read_parquet({files})
), per_query AS (
  SELECT sum(CASE WHEN place <= 10 THEN (2 ** grade - 1) / log2(place + 1) END) AS dcg,
    sum(CASE WHEN ideal <= 10 THEN (2 ** grade - 1) / log2(ideal + 1) END) AS best,
    1 / min(CASE WHEN grade > 0 THEN place END) AS rr FROM ranked GROUP BY query
) SELECT avg(dcg / best), avg(rr) FROM per_query WHERE best > 0
"""


def print_cost(tool, folder):
    """Print CPU time and peak memory of the means over all files of intact days."""
    faulty = {day_name(day) for day in (TWICE, RENAMED, CORRUPT, EMPTY)}
    files = [
        str(path)
        for path in sorted(folder.rglob("*.parquet"))
        if path.parent.parent.name.removeprefix("day=") not in faulty
    ]
    start = time.process_time()
    value = {"skgraded": by_skgraded, "polars": by_polars, "duckdb": by_duckdb}[tool](files)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {tool} | {seconds:.2f} | {peak:.0f} | {value:.12f} |", flush=True)


def by_skgraded(files):
    tables = (pq.ParquetFile(path).read() for path in files)  # also read by older versions
    summaries = sg.evaluate_batches(tables, *COLUMNS, measures=MEASURES)
    return next(iter(summaries.systems["bm25"].mean().values()))


def by_polars(files):
    import polars as pl

    rows, values = pl.scan_parquet(files, hive_partitioning=False), []
    for system in SYSTEMS:
        place = pl.col(system).rank("ordinal", descending=True).over("query")
        ideal = pl.col("grade").rank("ordinal", descending=True).over("query")
        gain = 2.0 ** pl.col("grade") - 1
        values.append(
            rows.select("query", "grade", place=place, ideal=ideal)
            .group_by("query")
            .agg(
                dcg=(gain / (pl.col("place") + 1).log(2)).filter(pl.col("place") <= 10).sum(),
                best=(gain / (pl.col("ideal") + 1).log(2)).filter(pl.col("ideal") <= 10).sum(),
                rr=1 / pl.col("place").filter(pl.col("grade") > 0).min(),
            )
            .filter(pl.col("best") > 0)
            .select((pl.col("dcg") / pl.col("best")).mean(), pl.col("rr").mean())
            .collect()
        )
    return values[0]["dcg"].item()


def by_duckdb(files):
    import duckdb

    values = [duckdb.sql(SQL.format(system=name, files=files)).fetchall()[0] for name in SYSTEMS]
    return values[0][0]


if __name__ == "__main__":
    main()
