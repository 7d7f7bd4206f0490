"""A notebook to the percent format and back, in one process."""

import sys

import jupytext

source, target = sys.argv[1:]
text = jupytext.writes(jupytext.read(source), fmt="py:percent")
jupytext.write(jupytext.reads(text, fmt="py:percent"), target)
