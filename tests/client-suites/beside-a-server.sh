#!/bin/sh
# Runs a client project's tests beside a server on Memcached's own port.
#
#   unshare -rnmp --fork --kill-child --mount-proc beside-a-server.sh CHECKOUT FRESH PROGRAMS COMMAND...
#
# Such tests know their ports (11211, 5000, 5001) and paths under /tmp. In namespaces of their own these are free
# whatever else runs on the machine, and nothing that they start outlives them. FRESH takes the place of /tmp;
# PROGRAMS has the `memcached` that the tests find; SERVER_FLAGS are for the one on Memcached's port.
set -e
checkout=$1 fresh=$2 programs=$3
shift 3
ip link set lo up
# A checkout below /tmp stays where it is.
case "$checkout" in
/tmp/*)
    mkdir -p "$fresh${checkout#/tmp}"
    mount --rbind "$checkout" "$fresh${checkout#/tmp}"
    ;;
esac
mount --rbind "$fresh" /tmp
export PATH="$programs:$PATH" MEMCACHED_HOST=localhost
# shellcheck disable=SC2086 # they are words
memcached $SERVER_FLAGS &
python3 - <<'P'
import socket, time
until = time.monotonic() + 10
while time.monotonic() < until:
    try:
        socket.create_connection(("127.0.0.1", 11211)).close()
        break
    except OSError:
        time.sleep(0.02)
else:
    raise SystemExit("memcached does not listen")
P
"$@"
