"""trec_eval's own output, and what we call its measures."""

NAMES = {"map": "AP", "ndcg": "NDCG(gain='linear')", "recip_rank": "RR", "P_5": "Precision@5",
         "recall_10": "Recall@10"}


def expected_values(path):
    """{query: {measure: text with 4 decimals}} of trec_eval's output."""
    values = {}
    for line in path.read_text().splitlines():
        measure, query, value = line.split(None, 2)
        if measure in NAMES:
            values.setdefault(query, {})[measure] = value
    return values
