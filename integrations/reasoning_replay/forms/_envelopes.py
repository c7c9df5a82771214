"""LiteLLM's envelopes around what a host sealed: opened only to find out what is inside, never on the way back.

A blob is wrapped as `litellm_enc:{base64};{blob}` and as `litellm_encrypted_reasoning:{blob}`, an item's id as
`encitem_{base64}`, a response's as `resp_{base64}`. Shapes: litellm 1.110.2 `responses/utils.py` and
`litellm_core_utils/prompt_templates/reasoning_utils.py`.
"""

from __future__ import annotations

import base64

_CARRIED = "litellm_encrypted_reasoning:"
"""A blob of the Responses API in a signature or in `data` (Anthropic's form)."""
_ROUTED = "litellm_enc:"
"""A blob with the deployment that it came from in front, up to the first semicolon."""
_NAMED = {"encitem": ";item_id:", "resp": ";response_id:"}
"""Prefix of an id that holds another one → what stands before that one."""


def inside(word: str) -> str:
    """The sealed word in its envelopes; the word as it is where it has none."""
    while True:
        if word.startswith(_CARRIED):
            word = word.removeprefix(_CARRIED)
        elif word.startswith(_ROUTED) and ";" in word:
            word = word.partition(";")[2]
        else:
            return word


def id_inside(identity: str) -> str:
    """The host's own id in LiteLLM's; the id as it is where it holds none."""
    prefix, _, packed = identity.partition("_")
    if prefix not in _NAMED:
        return identity
    try:
        told = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True).decode()
    except ValueError:  # not base64, or not text: an id of the host's own
        return identity
    return told.partition(_NAMED[prefix])[2] or identity


def name_payload(identity: str) -> str:
    """What the digest of a name is made of under which a host keeps something: an item, a response, a conversation."""
    return f"\0{id_inside(identity)}"
