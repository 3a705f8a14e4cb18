"""Prints one line per check, as xtask's clients suite reads them."""

import sys
import time


def check(name, action, expected=True):
    try:
        found = action()
    except Exception as why:  # Any exception of a client is a failed check, never a crash.
        print(f"not ok {name}: {type(why).__name__} {why}".replace("\n", " "), flush=True)
        return
    if found == expected:
        print(f"ok {name}", flush=True)
    else:
        print(f"not ok {name}: {found!r} is not {expected!r}", flush=True)


def restart():
    print("restart", flush=True)
    sys.stdin.readline()


def until_answered(action, seconds=10):
    """Repeats an action until the client has found the server again."""
    limit = time.monotonic() + seconds
    while True:
        try:
            return action()
        except Exception:
            if time.monotonic() > limit:
                raise
            time.sleep(0.05)
