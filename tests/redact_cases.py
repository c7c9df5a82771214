"""Histories of every dict form, generated and recorded, for tests of what is shown of them."""

from __future__ import annotations

import native_cases
import test_forms_properties as native
from strategies import chat_histories, claude_histories

HISTORIES = {
    "chat": chat_histories(form="chat"),
    "litellm": chat_histories(form="litellm"),
    "anthropic": claude_histories(),
    **{dialect: native.histories(dialect) for dialect in native.TARGETS},
}
"""Form -> hypothesis' strategy."""
DIALECTS = {form: "chat" if form in ("chat", "litellm") else form for form in HISTORIES}
CASES = {
    f"{case.dialect} {number}": case
    for number, case in enumerate(
        each
        for value in vars(native_cases).values()
        for each in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value])
        if isinstance(each, native_cases.Case)
    )
}
"""Recorded replies by a name."""
