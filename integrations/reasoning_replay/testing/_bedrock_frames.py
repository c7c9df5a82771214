"""AWS's binary event stream: `application/vnd.amazon.eventstream`. One event to bytes; it knows no host and no law.

A message is a prelude (total length, header length, checksum of both), headers, payload, and a checksum of everything
before it. Numbers are big-endian, checksums CRC-32. https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import json
import struct
from binascii import crc32
from collections.abc import Mapping
from typing import Any, Final

MEDIA: Final = "application/vnd.amazon.eventstream"
STRING: Final = 7
"""The type byte of a header value that is a string."""
CHECKSUM: Final = 4


def event(kind: str, payload: Mapping[str, Any]) -> bytes:
    """One event with its payload as JSON."""
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return message(headers, json.dumps(payload).encode())


def message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message of the stream."""
    head = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack("!II", 2 * 4 + CHECKSUM + len(head) + len(payload) + CHECKSUM, len(head))
    front = prelude + _checksum(prelude) + head + payload
    return front + _checksum(front)


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack("!B", len(key)) + key + struct.pack("!BH", STRING, len(text)) + text


def _checksum(front: bytes) -> bytes:
    return struct.pack("!I", crc32(front))
