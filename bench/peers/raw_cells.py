"""Answers each number N read with the median time in seconds of N trivial cells; 0 ends it."""

import statistics
import sys
import time

from raw import RawKernel

kernel = RawKernel()
for line in sys.stdin:
    count = int(line)
    if not count:
        break
    times = []
    for _ in range(count):
        start = time.perf_counter()
        kernel.execute("pass")
        times.append(time.perf_counter() - start)
    print(statistics.median(times), flush=True)
kernel.close()
