"""Answers each line of stdin with the time of this machine: how the host learns a guest's clock."""
import sys
import time

for _ in sys.stdin:
    print(repr(time.time()), flush=True)
