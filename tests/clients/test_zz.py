import json, httpx
def test_zz(proxy):
    key = proxy.fresh_key()
    body={"model":"deepseek","input":[{"role":"user","content":"How is the weather?"}],"stream":True,"tools":[{"type":"function","name":"get_weather","description":"","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]}
    import re
    names=[m for m in proxy.hosts]
    print(names)
    with httpx.stream("POST", proxy.url+"/v1/responses", json=body, headers={"authorization":"Bearer "+key}, timeout=60) as r:
        print(r.status_code, r.headers.get("x-reasoning-replay"))
        for line in r.iter_lines():
            if "item.done" in line or "completed" in line: print(line[:1500])
    print(open(proxy.log).read()[-3000:] if hasattr(proxy,"log") else "")
