"""Validates each notebook on standard input with nbformat. Ends when standard input does.

A request is a line with a length, then so many bytes; the answer is one line of JSON: null, or the complaint.
"""

import json
import sys
import warnings

import nbformat
from nbformat.reader import reads
from nbformat.warnings import DuplicateCellId, MissingIDFieldWarning

# nbformat repairs these two in passing and only warns; a file that needs a repair is not a valid file.
warnings.simplefilter("ignore")
warnings.simplefilter("error", DuplicateCellId)
warnings.simplefilter("error", MissingIDFieldWarning)


def complaint(data):
    try:
        text = data.decode("utf-8")
        # Validates the raw JSON, not the notebook that the reader makes of it.
        nbformat.validate(json.loads(text))
        reads(text)
    except Exception as error:
        # A schema error has many lines with the offending value; the first one has the reason.
        words = str(error).strip().splitlines() or [""]
        return f"{type(error).__name__}: {words[0]}"[:500]
    return None


requests, answers = sys.stdin.buffer, sys.stdout
while line := requests.readline():
    answers.write(json.dumps(complaint(requests.read(int(line)))) + "\n")
    answers.flush()
