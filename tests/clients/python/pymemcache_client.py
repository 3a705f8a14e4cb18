"""pymemcache, unmodified: storage, cas, arithmetic, touch, flush, statistics, reconnecting."""

import sys
import time

from pymemcache.client.base import Client

from checks import check, restart, until_answered

address = ("127.0.0.1", int(sys.argv[1]))
client = Client(address, default_noreply=False)
client.flush_all()

check("set and get", lambda: (client.set("k", "v"), client.get("k")), (True, b"v"))
check("missing key", lambda: client.get("none"), None)
check("add", lambda: (client.add("k", "w"), client.add("new", "w")), (False, True))
check("replace", lambda: (client.replace("k", "w"), client.replace("none", "w")), (True, False))
check("append and prepend", lambda: (client.append("k", "2"), client.prepend("k", "1"), client.get("k")), (True, True, b"1w2"))
check("many", lambda: (client.set_many({"a": "1", "b": "2"}), client.get_many(["a", "b", "none"])), ([], {"a": b"1", "b": b"2"}))
check("incr and decr", lambda: (client.set("n", "10"), client.incr("n", 5), client.decr("n", 100)), (True, 15, 0))
check("incr of a missing key", lambda: client.incr("none", 1), None)


def compare_and_swap():
    value, unique = client.gets("k")
    first = client.cas("k", "new", unique)
    second = client.cas("k", "newer", unique)
    return value, first, second, client.cas("none", "x", unique)


check("cas", compare_and_swap, (b"1w2", True, False, None))
check("flags", lambda: (client.set("f", "x", flags=77), client.get("f")), (True, b"x"))
check("touch and delete", lambda: (client.touch("k", 100), client.delete("k"), client.delete("k")), (True, True, False))
check("expiry", lambda: (client.set("short", "x", expire=1), time.sleep(2.1), client.get("short")), (True, None, None))
check("noreply", lambda: (client.set("q", "1", noreply=True), client.get("q")), (True, b"1"))
check("large value", lambda: (client.set("big", b"x" * 1_000_000), len(client.get("big"))), (True, 1_000_000))
check("version", lambda: len(client.version()) > 0)
check("stats", lambda: b"curr_items" in client.stats())
check("flush_all", lambda: (client.flush_all(), client.get("a")), (True, None))
restart()
check("reconnects", lambda: until_answered(lambda: client.set("again", "1")))
check("works after the restart", lambda: client.get("again"), b"1")
