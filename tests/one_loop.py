"""The one event loop of a test run: async clients that a vendor's package keeps, by their URL, are of that loop.

With a second loop a client was found at a port that another test had had: "bound to a different event loop".
"""

import asyncio
import atexit
import contextvars

_runner = asyncio.Runner()


def run(coroutine):
    """Runs a coroutine to its end on the one loop of the test run, in this test's context."""
    return _runner.run(coroutine, context=contextvars.copy_context())


@atexit.register
def _end():
    """The classes leave their async clients open: close what the loop still holds."""
    for transport in list(_runner.get_loop()._transports.values()):
        transport.abort()
    _runner.run(asyncio.sleep(0))
    _runner.close()
