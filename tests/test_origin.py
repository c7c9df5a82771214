"""Hosts, marks, and who may have reasoning back."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress

import pytest

from reasoning_replay import Origin, OriginError, _origin
from reasoning_replay._origin import Reach, accepts, from_mark, host_of, to_mark

SAME = [
    ("https://api.deepseek.com/v1/chat/completions?x=1#y", "api.deepseek.com"),
    ("api.deepseek.com", "api.deepseek.com"),
    ("API.DeepSeek.COM", "api.deepseek.com"),
    ("https://api.deepseek.com.", "api.deepseek.com"),
    ("https://api.deepseek.com:443/v1", "api.deepseek.com"),
    ("api.deepseek.com:443", "api.deepseek.com"),
    ("http://api.deepseek.com:80", "api.deepseek.com"),
    ("http://api.deepseek.com:443", "api.deepseek.com:443"),
    ("https://api.deepseek.com:80", "api.deepseek.com:80"),
    ("https://user:secret@api.deepseek.com/v1", "api.deepseek.com"),
    ("https://api.deepseek.com@evil.io/v1", "evil.io"),
    ("api.deepseek.com@evil.io", "evil.io"),
    ("https://x@api.deepseek.com@evil.io", "evil.io"),
    ("wss://api.deepseek.com:443", "api.deepseek.com"),
    ("ws://api.deepseek.com:80", "api.deepseek.com"),
    ("https://evil.io/api.deepseek.com", "evil.io"),
    ("https://evil.io\\@api.deepseek.com", "evil.io"),
    ("https://evil.io?@api.deepseek.com", "evil.io"),
    ("https://evil.io#@api.deepseek.com", "evil.io"),
    ("//api.deepseek.com/v1", "api.deepseek.com"),
    ("http://127.0.0.1:8000/v1", "127.0.0.1:8000"),
    ("localhost:11434", "localhost:11434"),
    ("http://my_vllm:8000/v1", "my_vllm:8000"),
    ("http://[::1]:8080/v1", "[::1]:8080"),
    ("[::1]", "[::1]"),
    ("https://bücher.example", "xn--bcher-kva.example"),
    ("https://BÜCHER.example:443", "xn--bcher-kva.example"),
    ("custom:my_llm", "custom:my_llm"),
    ("custom:8000", "custom:8000"),
]


@pytest.mark.parametrize(("url", "host"), SAME)
def test_a_host_is_the_name_and_port_that_would_be_called(url, host):
    assert host_of(url) == host
    assert Origin.from_url(url).host == host


LOOK_ALIKES = [
    "https://api.deepseek.com.evil.io",
    "https://api-deepseek.com",
    "https://api.deepseek.co",
    "https://xapi.deepseek.com",
    "https://api.deepseek.com:8443",
    "https://\u0430pi.deepseek.com",  # Cyrillic a
    "https://api.deepseek.com%2eevil.io",
    "https://api.deepseek.com\u3002evil.io",
]


@pytest.mark.parametrize("url", LOOK_ALIKES)
def test_a_look_alike_is_another_host_or_none(url):
    with suppress(OriginError):
        assert host_of(url) != "api.deepseek.com"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "api. deepseek.com",
            "host 'api. deepseek.com': contains white space or control characters; give 'name', 'name:port' or a URL",
        ),
        ("", "host '': '' is no host name; give 'name', 'name:port' or a URL"),
        ("https://", "host 'https://': '' is no host name; give 'name', 'name:port' or a URL"),
        ("https://x:99999", "host 'https://x:99999': '99999' is no port; a port is a number from 1 to 65535"),
        ("https://x:8a", "host 'https://x:8a': '8a' is no port; a port is a number from 1 to 65535"),
        ("a..b", "host 'a..b': 'a..b' is no host name; give 'name', 'name:port' or a URL"),
    ],
)
def test_what_is_no_host_is_refused_with_what_to_give(url, message):
    with pytest.raises(OriginError) as caught:
        host_of(url)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "url", ["https://\uff41pi.deepseek.com", "https://api.deepseek\uff0ecom", "https://api\u3002deepseek.com"]
)
def test_full_width_letters_and_dots_are_refused_and_never_folded_into_the_real_name(url):
    with pytest.raises(OriginError):
        host_of(url)


def test_an_unknown_dialect_is_refused_with_the_known_ones():
    with pytest.raises(OriginError) as caught:
        Origin("x", dialect="klingon")
    assert str(caught.value) == (
        "dialect 'klingon': not known; allowed: chat, anthropic, responses, gemini, bedrock, ollama"
    )


FULL = Origin("gw.example:8000", dialect="anthropic", model="a|b/c%d é", upstream="up|x", account="org-1")


@pytest.mark.parametrize(
    "origin",
    [
        FULL,
        Origin("http://x:443"),
        Origin("x"),
        Origin("x", model=""),
        Origin("custom:mine", model="m"),
        Origin("[::1]:80"),
    ],
)
def test_a_mark_names_its_origin_and_survives_json_and_pickle(origin):
    mark = json.loads(json.dumps(to_mark(origin)))
    assert set(mark) == {"id", "v"}
    assert from_mark(mark) == origin
    assert pickle.loads(pickle.dumps(origin)) == origin


def test_a_mark_that_was_merged_cut_or_edited_is_broken():
    mark = to_mark(FULL)
    whole = mark["id"]
    for broken in (whole * 2, whole[:-1], whole.replace("gw", "gx"), whole + "|", "", 7, None):
        assert from_mark({"id": broken, "v": 1}) is None
    assert from_mark({**mark, "v": 2}) is None
    assert from_mark({**mark, "more": 1}) is None
    assert from_mark("text") is None
    assert from_mark(None) is None


def test_an_id_that_is_longer_than_any_name_is_broken_and_is_not_remembered():
    before = _origin._from_mark_id.cache_info().currsize
    for size, read in ((3900, True), (5000, False)):
        mark = to_mark(Origin("x", model="m" * size))
        assert (from_mark(mark) is not None) is read
    assert from_mark({"id": "x|" * 500_000, "v": 1}) is None
    assert before + 1 >= _origin._from_mark_id.cache_info().currsize


HERE = Origin("a.example", model="m")


@pytest.mark.parametrize(
    ("source", "options", "readable", "sealed"),
    [
        (Origin("a.example", model="other"), {}, True, True),
        (Origin("b.example", model="m"), {}, False, False),
        (Origin("a.example:8000", model="m"), {}, False, False),
        (Origin("a.example", dialect="anthropic", model="m"), {}, True, False),
        (Origin("b.example", model="m"), {"same_host": (frozenset({"a.example", "b.example"}),)}, True, True),
        (Origin("b.example", model="m"), {"same_host": (frozenset({"b.example", "c.example"}),)}, False, False),
        (Origin("c.example", model="m"), {"same_host": (frozenset({"a.example", "b.example"}),)}, False, False),
        (Origin("b.example", model="m"), {"holds_key": lambda host: host == "b.example"}, False, True),
        (Origin("a.example", model="other"), {"bound": frozenset({"model"})}, True, False),
        (Origin("a.example", model="other"), {"router": True}, False, False),
        (Origin("a.example", model="other", upstream="m"), {"router": True}, True, True),
        (Origin("a.example", model=None), {"router": True}, False, False),
        (Origin("a.example", model="other"), {"bound": frozenset({"upstream"})}, True, False),
    ],
)
def test_reasoning_goes_back_only_to_its_own_host(source, options, readable, sealed):
    reach = Reach(**options)
    assert accepts(HERE, source, reach, sealed=False) is readable
    assert accepts(HERE, source, reach, sealed=True) is sealed


def test_the_account_is_compared_only_where_the_rule_says_so_and_both_are_known():
    mine, theirs, nobody = (Origin("a.example", account=name) for name in ("org-1", "org-2", None))
    bound = Reach(bound=frozenset({"account"}))
    assert accepts(mine, mine, bound, sealed=True)
    assert not accepts(mine, theirs, bound, sealed=True)
    assert accepts(mine, nobody, bound, sealed=True)
    assert accepts(mine, theirs, bound, sealed=False)
    assert accepts(mine, theirs, Reach(), sealed=True)


def test_a_router_whose_model_nobody_knows_gets_nothing_back():
    nameless = Origin("a.example")
    assert not accepts(nameless, nameless, Reach(router=True), sealed=False)
