"""The LiteLLM Proxy as it is started by people, clients in front of it, strict hosts behind it."""

import json

TOOL = {"city": {"type": "string"}}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "get_weather", "description": "", "parameters": {"type": "object", "properties": TOOL}},
    }
]


def said(reply):
    return json.loads(reply)["choices"][0]["message"]


def test_a_loop_in_which_the_client_keeps_everything(proxy):
    key = proxy.fresh_key()
    messages = [{"role": "user", "content": "weather?"}]
    for kept in range(3):
        status, headers, reply = proxy.post(
            "/v1/chat/completions", {"model": "deepseek", "messages": messages, "tools": TOOLS}, key
        )
        assert 200 == status, reply
        assert f"kept={kept};dropped=0;restored=0" == headers["x-reasoning-replay"]
        messages.append(said(reply))
        for call in messages[-1].get("tool_calls") or ():
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "3C"})
    assert [] == proxy.hosts["deepseek"].lost()
