"""A store that knows nothing: what a file does not say, a dry run does not know, and nothing is restored in it."""

from __future__ import annotations

from collections.abc import Collection

from .._origin import Origin


class Nothing:
    """Knows no payload and keeps none."""

    def note(self, digest: bytes, origin: Origin) -> None:
        """Forgotten at once."""

    def origins(self, digest: bytes) -> Collection[Origin]:
        return ()
