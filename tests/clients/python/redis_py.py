"""redis-py, unmodified: RESP2 and RESP3, strings, pipelines, transactions, SCAN, reconnecting."""

import sys

import redis

from checks import check, restart, until_answered

port = int(sys.argv[1])


def session(protocol):
    client = redis.Redis(port=port, protocol=protocol, decode_responses=True)
    tag = f"RESP{protocol}"
    check(f"{tag} ping", client.ping)
    client.flushall()
    check(f"{tag} set and get", lambda: (client.set("k", "v"), client.get("k")), (True, "v"))
    check(f"{tag} missing key", lambda: client.get("none"), None)
    check(f"{tag} set nx on a present key", lambda: client.set("k", "w", nx=True), None)
    check(f"{tag} set get", lambda: client.set("k", "w", get=True), "v")
    check(f"{tag} expiry", lambda: (client.set("t", "1", ex=100), 95 < client.ttl("t") <= 100), (True, True))
    check(f"{tag} counters", lambda: (client.incr("n"), client.incrby("n", 9), client.decr("n")), (1, 10, 9))
    check(f"{tag} incrbyfloat", lambda: client.incrbyfloat("f", 0.5), 0.5)
    check(f"{tag} mset and mget", lambda: (client.mset({"a": 1, "b": 2}), client.mget("a", "b", "none")), (True, ["1", "2", None]))
    check(f"{tag} append and ranges", lambda: (client.append("s", "hello"), client.getrange("s", 1, 3), client.setrange("s", 0, "J")), (5, "ell", 5))
    check(f"{tag} getdel", lambda: (client.getdel("s"), client.exists("s")), ("Jello", 0))
    check(f"{tag} type and encoding", lambda: (client.type("n"), client.object("encoding", "n")), ("string", "int"))
    check(f"{tag} rename and copy", lambda: (client.rename("a", "c"), client.copy("c", "d"), client.get("d")), (True, True, "1"))

    def pipeline():
        with client.pipeline(transaction=False) as pipe:
            for number in range(1000):
                pipe.set(f"p:{number}", number)
            pipe.get("p:999")
            return pipe.execute()[-1]

    def transaction():
        with client.pipeline(transaction=True) as pipe:
            return pipe.set("x", 1).incr("x").get("x").execute()

    def watched():
        with client.pipeline() as pipe:
            pipe.watch("x")
            client.set("x", "changed")
            pipe.multi()
            pipe.get("x")
            try:
                pipe.execute()
            except redis.WatchError:
                return True
        return False

    check(f"{tag} pipeline", pipeline, "999")
    check(f"{tag} transaction", transaction, [True, 2, "2"])
    check(f"{tag} watch", watched)
    check(f"{tag} scan", lambda: len(set(client.scan_iter("p:*", count=100))), 1000)
    check(f"{tag} wrong arguments are an error", lambda: refused(client, "GET"))
    check(f"{tag} large value", lambda: (client.set("big", "x" * 5_000_000), len(client.get("big"))), (True, 5_000_000))
    check(f"{tag} info", lambda: "used_memory" in client.info("memory"))
    check(f"{tag} client name", lambda: (client.client_setname("me"), client.client_getname()), (True, "me"))
    check(f"{tag} databases", lambda: redis.Redis(port=port, db=3, protocol=protocol).dbsize(), 0)
    return client


def refused(client, *words):
    try:
        client.execute_command(*words)
    except redis.ResponseError:
        return True
    return False


session(2)
client = session(3)
binary = redis.Redis(port=port)
everything = bytes(range(256))
check("binary key and value", lambda: (binary.set(everything, everything), binary.get(everything)), (True, everything))
restart()
check("reconnects", lambda: until_answered(client.ping))
check("works after the restart", lambda: (client.set("again", "1"), client.get("again")), (True, "1"))
