"""Answers each number N read with the median time in seconds of N trivial cells; 0 ends it.

The cells run in a child that reads lines of JSON, runs them, and answers with a line of JSON: the least that a runner
in a process of its own can do.
"""

import json
import statistics
import subprocess
import sys
import time

CHILD = """
import json, sys
names = {}
for line in sys.stdin:
    exec(compile(json.loads(line)["code"], "cell", "exec"), names)
    print(json.dumps({"done": True}), flush=True)
"""

child = subprocess.Popen(
    [sys.executable, "-u", "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
)
request = (json.dumps({"code": "pass"}) + "\n").encode()
answers = child.stdout
for line in sys.stdin:
    count = int(line)
    if not count:
        break
    times = []
    for _ in range(count):
        start = time.perf_counter()
        child.stdin.write(request)
        answers.readline()
        times.append(time.perf_counter() - start)
    print(statistics.median(times), flush=True)
child.stdin.close()
child.wait()
