"""What each host receives, in a file that a person can read: `tests/wire.snapshot.txt`.

One conversation is begun at three hosts in turn and goes on at each strict host; the file holds the assistant messages
of that request as they were on the wire. After a wanted change: `WIRE=write python -m pytest -k wire_snapshot`.
"""

import os
import re
from pathlib import Path

from litellm_calls import MODES, PROVIDERS, append

SNAPSHOT = Path(__file__).parent.parent / "wire.snapshot.txt"
BEGUN = ("deepseek", "anthropic", "openrouter")
ADAPTIVE = {"thinking": {"type": "adaptive"}, "max_tokens": 4096}
WORDS = re.compile(r"CANARY-([\w.-]+?)-(\d+)-[0-9a-f]{8}")


class Host:
    """A strict host as the calls name it; Claude thinks adaptively, so that a gap costs nothing."""

    def __init__(self, host):
        self.host, self.kind, self.url = host, host.kind, host.url
        self.model = "claude-opus-5" if host.kind == "anthropic" else host.model
        self.more = ADAPTIVE if host.kind == "anthropic" else {}


def short(value):
    """A value with texts cut to who wrote them: `<deepseek 0>`, `<sealed>`."""
    if isinstance(value, dict):
        return {key: short(inner) for key, inner in value.items() if key not in ("id", "index", "function", "input")}
    if isinstance(value, list):
        return [short(inner) for inner in value]
    if isinstance(value, str) and (found := WORDS.search(value)):
        return f"<{found[1]} {found[2]}>"
    return "<sealed>" if isinstance(value, str) and len(value) > 40 else value


def lines_of(request):
    for number, message in enumerate(request.json["messages"]):
        if message["role"] == "assistant":
            yield f"  {number} " + ", ".join(
                f"{key}={short(value)}" for key, value in sorted(message.items()) if key != "role"
            )


def test_the_wire_snapshot_is_what_is_sent(strict_hosts, install):
    names = [name for name in PROVIDERS if name != "deepseek-r1"]
    hosts = {name: Host(strict_hosts(name, steps=9)) for name in names}
    install(*(host.host for host in hosts.values()))
    messages = [{"role": "user", "content": "How is the weather?"}]
    for name in (*BEGUN, *BEGUN):
        append(messages, MODES["sync"](hosts[name], messages, **hosts[name].more))
    written = []
    for name, host in hosts.items():
        append(list(messages), MODES["sync"](host, messages, **host.more))
        written += [f"{name} ({host.model})", *lines_of(host.host.last), ""]
        assert host.host.last.status == 200
    text = "\n".join(written)
    if os.environ.get("WIRE") == "write":
        SNAPSHOT.write_text(text)
    assert SNAPSHOT.read_text() == text
