"""What the command says below a leaderboard: a sentence a pair, or of many who beats whom."""

from skgraded._input.words import counted
from skgraded.stats.corrections import is_significant

MOST_SENTENCES = 8  # more are a wall that nobody reads
MOST_ROWS = 30  # of the table of pairs on a terminal


def of_pairs(comparison):
    """Lines, under a heading a measure: of few pairs a sentence each, of many who beats whom."""
    sentences = comparison.sentences()
    rows = comparison.to_frame().to_dict("records")
    of_measure: dict = {name: [] for name in comparison.measures}
    for row, sentence in zip(rows, sentences, strict=True):
        of_measure[row["measure"]].append((row, sentence))
    lines = []
    for measure, found in of_measure.items():
        lines += ["", f"By {measure}:"]
        if len(rows) <= MOST_SENTENCES:
            lines += [f"- {sentence}" for _, sentence in found]
        else:
            lines += _lists([row for row, _ in found], comparison)
    if len(rows) > MOST_SENTENCES:
        lines += ["", "A sentence a pair: --format html; all numbers: --format csv or json."]
    return lines


def _lists(rows, comparison):
    """Of each system than which others it is better, the best first."""
    if comparison.test is None:
        return [f"- {counted(len(rows), 'pair', 'pairs')}, not tested."]
    better: dict = {name: [] for name in comparison.leaderboard().systems}
    apart = [row for row in rows if is_significant(row["p_adjusted"], comparison.level)]
    for row in apart:
        pair = row["system"], row["baseline"]
        winner, loser = pair if row["difference"] > 0 else pair[::-1]
        if row["difference"]:  # a rank test may tell apart what has the same mean
            better[winner].append(loser)
    order = list(better)
    return [
        f"- {len(apart)} of {counted(len(rows), 'pair', 'pairs')} told apart.",
        *(
            f"- {winner} is better than {', '.join(sorted(losers, key=order.index))}."
            for winner, losers in better.items() if losers
        ),
    ]
