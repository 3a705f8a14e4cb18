"""The servers that python-binary-memcached's tests expect. Its source package brings the tests without theirs.

A server listens on port 11211 already; these are the others. SASL's passwords are given in each of the two
ways that servers know: as text by an environment variable, and as Cyrus SASL's own database.
"""

import os
import subprocess
import socket
import time

import pytest

IPV6_PORT = 11211
SASL_PORT, SASL_USER, SASL_PASSWORD = 5002, "user", "the-password"


def reachable(family, address):
    with socket.socket(family) as sock:
        return sock.connect_ex(address) == 0


def serve(words, family, address, **environment):
    process = subprocess.Popen(["memcached", *words], env={**os.environ, **environment})
    until = time.monotonic() + 10
    while not reachable(family, address):
        assert process.poll() is None and time.monotonic() < until, f"memcached {words} does not listen"
        time.sleep(0.02)
    yield process
    process.kill()
    process.wait()


@pytest.fixture(scope="session", autouse=True)
def memcached_other_port():
    yield from serve(["-p", "5000"], socket.AF_INET, ("127.0.0.1", 5000))


@pytest.fixture(scope="session", autouse=True)
def memcached_socket():
    yield from serve(["-s", "/tmp/memcached.sock"], socket.AF_UNIX, "/tmp/memcached.sock")


@pytest.fixture(scope="session")
def memcached_ipv6():
    assert reachable(socket.AF_INET6, ("::1", IPV6_PORT))


@pytest.fixture(scope="session")
def memcached_sasl(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sasl")
    passwords = folder / "passwords"
    passwords.write_text(f"{SASL_USER}:{SASL_PASSWORD}\n")
    settings = folder / "memcached.conf"
    settings.write_text("mech_list: plain\n")
    words = ["-S", "-p", str(SASL_PORT)]
    environment = {"MEMCACHED_SASL_PWDB": str(passwords), "SASL_CONF_PATH": str(settings)}
    for _ in serve(words, socket.AF_INET, ("127.0.0.1", SASL_PORT), **environment):
        yield SASL_PORT, SASL_USER, SASL_PASSWORD
