"""Runs the notebook named first with nbclient, past cells that fail, and writes it to the file named second."""

import os
import sys

import nbformat
from nbclient import NotebookClient

source, target = sys.argv[1:3]
notebook = nbformat.read(source, as_version=4)
where = {"metadata": {"path": os.path.dirname(os.path.abspath(source))}}
client = NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True, resources=where)
client.execute()
nbformat.write(notebook, target)
