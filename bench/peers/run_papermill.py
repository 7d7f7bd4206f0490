"""Runs a notebook in place with papermill."""

import sys

import papermill

path = sys.argv[1]
papermill.execute_notebook(path, path, kernel_name="python3", progress_bar=False)
