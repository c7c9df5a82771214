"""The suite-wide checks themselves."""

import logging
import socket

import pytest


@pytest.mark.dials_out(reason="shows the guard")
@pytest.mark.parametrize("host", ["192.0.2.1", "api.deepseek.com", "2001:db8::1"])
def test_a_call_beyond_loopback_is_refused_with_the_name_in_the_message(host):
    with pytest.raises(RuntimeError, match=f"tests talk to loopback only, and this one asked for '{host}'"):
        socket.create_connection((host, 443), timeout=1)


@pytest.mark.dials_out(reason="shows the guard")
def test_the_guard_covers_a_bare_socket_too():
    with socket.socket() as bare, pytest.raises(RuntimeError, match=r"192\.0\.2\.1"):
        bare.connect(("192.0.2.1", 80))


def test_our_log_is_heard_below_the_level_that_pytest_shows():
    logging.getLogger("reasoning_replay").debug("counts only")
