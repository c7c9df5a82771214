"""The Responses dialect as a plain client speaks it: a reply is `{"role": "assistant", "items": [...]}` in its history."""

from itertools import chain

from wire_chat import CITY, events

RESPONSES_TOOLS = [{"type": "function", "name": "get_weather", "description": "", "parameters": CITY}]


def body_for(history):
    """A request with tools; the replies of the history as the items that they are. Azure takes no `status` on a message."""
    items = chain.from_iterable(row.get("items", [row]) for row in history)
    return {"input": [_without_status(item) for item in items], "tools": RESPONSES_TOOLS}


def _without_status(item):
    return {key: value for key, value in item.items() if key != "status" or item.get("type") != "message"}


def message_of(response):
    """The items of a whole reply, or those that its stream ends with."""
    if response.headers["content-type"].startswith("text/event-stream"):
        items = [e["item"] for e in events(response.text) if e["type"] == "response.output_item.done"]
    else:
        items = response.json()["output"]
    return {"role": "assistant", "items": items}


def sent(reply):
    """The items of a reply as the host kept it."""
    return {"role": "assistant", "items": reply["output"]}


def forget(message):
    """Items without reasoning, and without the ids that are tied to it."""
    kept = [item for item in message["items"] if item["type"] != "reasoning"]
    return {**message, "items": [{k: v for k, v in item.items() if k != "id"} for item in kept]}


def results_of(message, answer):
    """The outputs that answer the calls."""
    ids = [item["call_id"] for item in message["items"] if item["type"] == "function_call"]
    return [{"type": "function_call_output", "call_id": i, "output": answer} for i in ids]
