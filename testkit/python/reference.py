"""Runs the notebook named first with nbclient and writes it to the file named second."""

import os
import sys

import nbformat
from nbclient import NotebookClient

source, target = sys.argv[1:3]
notebook = nbformat.read(source, as_version=4)
where = {"metadata": {"path": os.path.dirname(os.path.abspath(source))}}
NotebookClient(notebook, record_timing=False, resources=where).execute()
nbformat.write(notebook, target)
