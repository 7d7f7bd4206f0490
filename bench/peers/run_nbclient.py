"""Runs a notebook in place with nbclient."""

import sys

import nbformat
from nbclient import NotebookClient

path = sys.argv[1]
notebook = nbformat.read(path, as_version=4)
NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
nbformat.write(notebook, path)
