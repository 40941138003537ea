"""Messages of the library in the words of the command, which has options instead of arguments."""

import re
from typing import Any

# Patterns in messages, and what the command prints instead. The patterns do not match parameters
# of measures, such as "ap(ties='best')", which are equal in the command.
WORDS: tuple[tuple[str, Any], ...] = (
    (r"^(?:evaluations|human) has (only )?(\d+ quer)", r"The first QRELS has \1\2"),
    (r"compare\(judge=…\)", "--judge"),
    (r"\b(test|correction|split|family)=(['\"])(.*?)\2", r"--\1 \3"),
    (r"\btest=None", "--test none"),
    (
        r"\bunjudged_documents=(?:(['\"])(.*?)\1|(?:\.\.\.|…))?",
        lambda match: f"--unjudged-documents {match[2] or ''}".rstrip(),
    ),
    (r"\b(?:Pass|pass) missing='count'", "use -c"),
    (r"\bset unjudged_documents to\b", "set --unjudged-documents to"),
    ("but Summaries contain only sums", "which are not computed for folders"),
    (r"(column .* must be finite; got nan.*)\.$", r"\1: use --unjudged-documents."),
    (r"^rng\b|(?<=Omit )rng\b", "--seed"),
    (r"^n_resamples\b|(?<=Omit )n_resamples\b", "--resamples"),
    (r"^(level|baseline|weights) must", r"--\1 must"),
    (r"(?<=\]) or None; got", "; got"),  # "--baseline must be one of [...] or None"
    (r"\b(?:or )?pass (?=--)", lambda match: match[0].replace("pass", "use")),
)


def in_options(message: str) -> str:
    """Return a message with the names of options instead of the arguments of functions."""
    for pattern, words in WORDS:
        message = re.sub(pattern, words, message)
    return message
