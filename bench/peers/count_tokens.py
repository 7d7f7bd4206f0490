"""Answers each line read, a text as JSON, with its number of tokens; the vocabulary (o200k) comes with the package."""

import json
import sys

from rs_bpe.bpe import openai

tokenizer = openai.o200k_base()
for line in sys.stdin:
    print(tokenizer.count(json.loads(line)), flush=True)
