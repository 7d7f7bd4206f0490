"""Changes the source of one cell and saves, as a script with nbformat does it."""

import sys

import nbformat

path, cell_id, source = sys.argv[1:]
notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
for cell in notebook.cells:
    if cell["id"] == cell_id:
        cell["source"] = source
nbformat.write(notebook, path)
