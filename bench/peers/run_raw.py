"""Runs a notebook in place with a minimal client."""

import json
import sys

from raw import RawKernel

path = sys.argv[1]
with open(path) as file:
    notebook = json.load(file)
kernel = RawKernel()
for cell in notebook["cells"]:
    cell["outputs"] = []
    for kind, content in kernel.execute("".join(cell["source"])):
        if kind == "execute_result":
            text = content["data"]["text/plain"].splitlines(True)
            cell["outputs"].append(
                {
                    "output_type": kind,
                    "data": {"text/plain": text},
                    "metadata": {},
                    "execution_count": content["execution_count"],
                }
            )
kernel.close()
with open(path, "w") as file:
    json.dump(notebook, file, indent=1)
