"""Rule files are checked when they are read, policies when they are made; one rule decides."""

import copy
import pickle
from dataclasses import replace

import pytest

from reasoning_replay._origin import Origin
from reasoning_replay._parse import parse
from reasoning_replay._rules import (
    BadPolicy,
    Host,
    Missing,
    Policy,
    RuleError,
    Switch,
    Toggle,
    ask_to_keep,
    check,
    disable_thinking,
    find_host,
    holds_key,
    select,
    thinking_of,
    upstream_of,
)
from reasoning_replay.hosts import load_hosts

TOP = """\
id = "acme"
hosts = ["api.acme.example"]
read = ["reasoning_content"]
source = "guess"
date = 2026-11-30
confidence = "guess"
"""
RULE = """\
[[rules]]
window = "all"
"""
UNKNOWN = parse(
    'id = "unknown"\nwindow = "current_turn"\nsource = "guess"\ndate = 2026-11-30\nconfidence = "guess"\n'
    'read = ["reasoning_content"]\nwrite = ["same"]\nempty = "omit"\n'
    '[[rules]]\n[[rules]]\ndialect = "anthropic"\n',
    "unknown.toml",
)


def acme(rules=RULE, top=""):
    return parse(TOP + top + rules, "acme.toml")


def choose(host, model="m", request=None, *, dialect="chat", name="api.acme.example", **more):
    return select((host, UNKNOWN), Origin(name, dialect=dialect, model=model), request, **more)


# --- a sparse file means its documented defaults


def test_an_absent_key_is_its_documented_default():
    host = acme()
    rule = host.rules[0]
    assert (host.hints, host.router, host.holder, host.thinking, host.errors) == (("acme",), False, "host", (), ())
    assert (rule.host, rule.models, rule.dialect, rule.requirement, rule.missing) == (
        "acme",
        ("*",),
        "chat",
        "optional",
        None,
    )
    assert (rule.read, rule.write, rule.empty, rule.strict) == (
        ("reasoning_content",),
        ("reasoning_content",),
        "keep",
        False,
    )
    assert (rule.signature, rule.refuses, rule.bound, rule.guards) == ("any", frozenset(), frozenset(), ())
    assert (rule.switch, rule.upstream, rule.family, rule.can_disable) == ((), None, None, True)


def test_a_key_at_the_top_is_the_default_of_every_rule_and_a_rule_overrides_it():
    host = acme('[[rules]]\nmodels = ["a*"]\nstrict = false\n[[rules]]\n', 'window = "all"\nstrict = true\n')
    assert [rule.strict for rule in host.rules] == [False, True]
    assert [rule.window for rule in host.rules] == ["all", "all"]


def test_missing_makes_a_rule_required_unless_it_says_otherwise():
    host = acme(
        '[[rules]]\nmodels = ["a*"]\nmissing = { on = "tool_calls", fill = "" }\nwindow = "all"\n'
        '[[rules]]\nmissing = { on = "all_assistant" }\nrequirement = "recommended"\nwindow = "all"\n'
    )
    assert [rule.requirement for rule in host.rules] == ["required", "recommended"]
    assert host.rules[0].missing == Missing(on="tool_calls", fill="")
    assert host.rules[1].missing == Missing(on="all_assistant", fill=None)


def test_what_a_rule_writes_is_by_default_the_first_it_reads():
    assert acme(top="").rules[0].write == ("reasoning_content",)
    assert acme('[[rules]]\nwindow = "all"\nread = ["reasoning", "reasoning_content"]\n').rules[0].write == (
        "reasoning",
    )


def test_read_and_write_of_the_file_are_not_for_its_other_dialects():
    host = acme('[[rules]]\nwindow = "all"\n[[rules]]\nwindow = "all"\ndialect = "anthropic"\n', 'write = ["same"]\n')
    assert [(rule.read, rule.write) for rule in host.rules] == [(("reasoning_content",), ("same",)), ((), ())]


# --- every check at load, by its whole message

KEYS = (
    "models, when, missing, use, dialect, window, switch, requirement, read, write, empty, strict, signature, refuses, "
    "bound, cannot_open, foreign_seals, guards, upstream, family, can_disable, source, date, confidence"
)
WINDOWS = "none, current_turn, last_assistant, all, all_if_tools, all_once_tools_used"
FIRST = '[[rules]]\nmodels = ["a*"]\nwindow = "all"\n'
FAULTS = {
    "a key that is near a known one": (
        TOP + FIRST + '[[rules]]\nwindow = "all"\nrequirment = "optional"\n',
        f"acme.toml:12: unknown key 'requirment' in rule 2; did you mean 'requirement'? known keys: {KEYS}",
    ),
    "a key that is near none": (
        TOP + '[[rules]]\nwindow = "all"\nzzz = 1\n',
        f"acme.toml:9: unknown key 'zzz' in rule 1; known keys: {KEYS}",
    ),
    "a key at the top": (
        'id = "acme"\nhost = ["a.example"]\n' + RULE,
        (
            "acme.toml:2: unknown key 'host'; did you mean 'hosts'? known keys: "
            f"id, hosts, hints, router, holder, thinking, errors, rules, {KEYS.removeprefix('models, when, missing, use, ')}"
        ),
    ),
    "a window": (
        TOP + '[[rules]]\nwindow = "curent_turn"\n',
        f"acme.toml:8: unknown window 'curent_turn' in rule 1; did you mean 'current_turn'? known: {WINDOWS}",
    ),
    "a window in a switch": (
        TOP + '[[rules]]\nwindow = "none"\nswitch = [{ param = "keep", values = { x = "al" } }]\n',
        f"acme.toml:9: unknown window 'al' of 'switch' in rule 1; did you mean 'all'? known: {WINDOWS}",
    ),
    "a scope": (
        TOP + '[[rules]]\nwindow = "all"\nmissing = { on = "toolcalls" }\n',
        (
            "acme.toml:9: unknown on 'toolcalls' of 'missing' in rule 1; did you mean 'tool_calls'? "
            "known: all_assistant, tool_calls, current_turn, first_call"
        ),
    ),
    "a carrier": (
        TOP + '[[rules]]\nwindow = "all"\nwrite = ["reasoning_contents"]\n',
        (
            "acme.toml:9: unknown write 'reasoning_contents' in rule 1; did you mean 'reasoning_content'? known: "
            "reasoning_content, reasoning, reasoning_text, reasoning_opaque, reasoning_details, thinking_blocks, "
            "reasoning_items, content.thinking, content.think, tool_calls.extra_content, same"
        ),
    ),
    "a guard": (
        TOP + '[[rules]]\nwindow = "all"\nguards = ["leadblock"]\n',
        (
            "acme.toml:9: unknown guards 'leadblock' in rule 1; did you mean 'lead_block'? "
            "known: lead_block, forced_tools, budget, beside_thinking, no_empty, pair, status, cache_point"
        ),
    ),
    "a state of thinking": (
        TOP + '[[rules]]\nwindow = "all"\nwhen = { thinking = ["of"] }\n',
        "acme.toml:9: unknown thinking 'of' of 'when' in rule 1; did you mean 'off'? known: on, off, unset",
    ),
    "a dialect": (
        TOP + '[[rules]]\nwindow = "all"\ndialect = "antropic"\n',
        (
            "acme.toml:9: unknown dialect 'antropic' in rule 1; did you mean 'anthropic'? "
            "known: chat, anthropic, responses, gemini, bedrock, ollama"
        ),
    ),
    "a confidence at the top": (
        TOP.replace('confidence = "guess"', 'confidence = "guessed"') + RULE,
        "acme.toml:6: unknown confidence 'guessed'; did you mean 'guess'? known: documented, observed, reported, guess",
    ),
    "a key of a condition": (
        TOP + '[[rules]]\nwindow = "all"\nwhen = { tool = true }\n',
        "acme.toml:9: unknown key 'tool' of 'when' in rule 1; did you mean 'tools'? known keys: tools, thinking, path",
    ),
    "a fill without its scope": (
        TOP + '[[rules]]\nwindow = "all"\nmissing = { fill = "" }\n',
        "acme.toml:9: 'missing' in rule 1 has no 'on'; it is needed",
    ),
    "forbidden with a window": (
        TOP + '[[rules]]\nwindow = "all"\nrequirement = "forbidden"\n',
        "acme.toml:8: rule 1 forbids reasoning but has the window 'all'; it must be 'none'",
    ),
    "forbidden with a fill": (
        TOP + '[[rules]]\nwindow = "none"\nrequirement = "forbidden"\nmissing = { on = "tool_calls" }\n',
        "acme.toml:10: rule 1 forbids reasoning but has 'missing'; take one of the two away",
    ),
    "required without a scope": (
        TOP + '[[rules]]\nwindow = "all"\nrequirement = "required"\n',
        'acme.toml:9: rule 1 requires reasoning but has no \'missing\'; add missing = { on = "…", fill = "…" }',
    ),
    "a carrier in another dialect": (
        TOP + RULE + '[[rules]]\nwindow = "all"\ndialect = "anthropic"\nread = ["reasoning"]\n',
        "acme.toml:12: 'read' in rule 2 is for the dialect 'chat' alone; 'anthropic' has one place for it",
    ),
    "no window": (
        TOP + "[[rules]]\n",
        "acme.toml:7: rule 1 has no 'window'; write it in the rule or at the top of the file",
    ),
    "no source": (
        TOP.replace('source = "guess"\n', "") + RULE,
        "acme.toml:6: rule 1 has no 'source'; write it in the rule or at the top of the file",
    ),
    "no date": (
        TOP.replace("date = 2026-11-30\n", "") + RULE,
        "acme.toml:6: rule 1 has no 'date'; write it in the rule or at the top of the file",
    ),
    "no confidence": (
        TOP.replace('confidence = "guess"\n', "") + RULE,
        "acme.toml:6: rule 1 has no 'confidence'; write it in the rule or at the top of the file",
    ),
    "an empty source": (
        TOP.replace('source = "guess"', 'source = " "') + RULE,
        "acme.toml:4: 'source' is empty; give a URL, a package with its version, or 'guess'",
    ),
    "a date in quotes": (
        TOP.replace("2026-11-30", '"2026-11-30"') + RULE,
        "acme.toml:5: 'date' is '2026-11-30'; it must be a TOML date such as 2026-11-30, without quotes",
    ),
    "a last rule with models": (
        TOP + '[[rules]]\nwindow = "all"\n\n[[rules]]\ndialect = "anthropic"\nwindow = "all"\nmodels = ["a*"]\n',
        (
            "acme.toml:13: rule 2 is the last one for the dialect 'anthropic' but has 'models' or 'when'; "
            "the last one must take every model, by the strictest reading"
        ),
    ),
    "a last rule with a condition": (
        TOP + '[[rules]]\nwindow = "all"\nwhen = { tools = true }\n',
        (
            "acme.toml:9: rule 1 is the last one for the dialect 'chat' but has 'models' or 'when'; "
            "the last one must take every model, by the strictest reading"
        ),
    ),
    "a rule that no model name reaches": (
        TOP + FIRST + '[[rules]]\nmodels = ["vendor/a-1*", "ab"]\nwindow = "none"\n' + RULE,
        "acme.toml:11: rule 2 is never reached: earlier rules take all its models; move it up or take it away",
    ),
    "a rule that no condition reaches": (
        TOP + '[[rules]]\nwhen = { thinking = ["off", "unset"] }\nwindow = "none"\n'
        '[[rules]]\nmodels = ["b*"]\nwhen = { tools = true, thinking = ["off"] }\nwindow = "none"\n' + RULE,
        "acme.toml:11: rule 2 is never reached: earlier rules take all its models; move it up or take it away",
    ),
    "an error text that does not compile": (
        TOP + RULE + '[[errors]]\nmatch = "a("\nmeans = "lost"\n',
        "acme.toml:10: match 'a(' in error 1 does not compile: missing ), unterminated subpattern at position 1",
    ),
    "an error text without its meaning": (
        TOP + RULE + '[[errors]]\nmatch = "a"\n',
        "acme.toml:9: error 1 has no 'means'; it is needed",
    ),
    "a toggle with an unknown key": (
        TOP + 'thinking = [\n  { param = "think", on_ = ["*"] },\n]\n' + RULE,
        "acme.toml:7: unknown key 'on_' in toggle 1; did you mean 'on'? known keys: param, on, off, drop",
    ),
    "a parameter that is none": (
        TOP + RULE + 'switch = [{ param = "a..b", values = { x = "all" } }]\n',
        "acme.toml:9: param 'a..b' of 'switch' in rule 1 is no parameter; write a.b, or a.edits[type].c",
    ),
    "what stands beside a switch": (
        TOP + RULE + 'switch = [{ param = "a.b", values = { x = "all" }, beside = ["a"] }]\n',
        "acme.toml:9: 'beside' of 'switch' in rule 1 is ['a']; it must map parameters to values",
    ),
    "a switch without its values": (
        TOP + RULE + 'switch = [{ param = "a.b" }]\n',
        "acme.toml:9: 'switch' in rule 1 has no 'values'; it is needed",
    ),
    "a host with a scheme": (
        'id = "acme"\nhosts = ["https://a.example"]\n' + RULE,
        (
            "acme.toml:2: 'https://a.example' in 'hosts' is no host; "
            "write a lower-case name[:port], with * in a label or *. before all"
        ),
    ),
    "a host in capitals": (
        'id = "acme"\nhosts = ["A.example"]\n' + RULE,
        "acme.toml:2: 'A.example' in 'hosts' is no host; write a lower-case name[:port], with * in a label or *. before all",
    ),
    "a host that stands twice": (
        'id = "acme"\nhosts = ["a.example", "a.example"]\n' + RULE,
        "acme.toml:2: 'a.example' stands twice in 'hosts'; once is enough",
    ),
    "an id that is none": (
        'id = "A b"\n' + RULE,
        "acme.toml:1: id 'A b' is no id; write lower-case letters, digits, - and _",
    ),
    "no id": (RULE, "acme.toml:1: the file has no 'id'; it is needed"),
    "no rules": (TOP, "acme.toml:1: the file has no 'rules'; it is needed"),
    "rules that are no tables": (
        'id = "acme"\nrules = [1]\n',
        "acme.toml:2: 'rules' is [1]; it must be a list of tables, with one in it at least",
    ),
    "models that are no list": (
        TOP + '[[rules]]\nwindow = "all"\nmodels = "a*"\n',
        "acme.toml:9: 'models' in rule 1 is 'a*'; it must be a list of strings",
    ),
    "no models at all": (
        TOP + '[[rules]]\nwindow = "all"\nmodels = []\n',
        "acme.toml:9: 'models' in rule 1 is empty; leave the key out to mean every model",
    ),
    "a word for a truth value": (
        TOP + '[[rules]]\nwindow = "all"\nstrict = "yes"\n',
        "acme.toml:9: 'strict' in rule 1 is 'yes'; it must be true or false",
    ),
    "a key that stands twice": (
        'id = "acme"\nid = "acme"\n' + RULE,
        "acme.toml: not valid TOML: Cannot overwrite a value (at line 2, column 12)",
    ),
    "a rule that stands twice": (
        TOP + FIRST + FIRST + RULE,
        "acme.toml:11: rule 2 is never reached: earlier rules take all its models; move it up or take it away",
    ),
    "TOML that is none": (
        "id = \n",
        "acme.toml: not valid TOML: Invalid value (at line 1, column 6)",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_rule_file_is_refused_with_file_line_and_what_is_allowed(case):
    text, message = FAULTS[case]
    with pytest.raises(RuleError) as caught:
        parse(text, "acme.toml")
    assert str(caught.value) == message


def test_a_condition_that_an_earlier_rule_does_not_share_leaves_a_rule_reachable():
    acme('[[rules]]\nwhen = { path = "/a/*" }\nwindow = "none"\n[[rules]]\nmodels = ["b*"]\nwindow = "none"\n' + RULE)


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (
            'hosts = ["a.example", "b.example"]',
            'hosts = ["b.example"]',
            "two.toml: the host 'b.example' is in one.toml too; one host, one file",
        ),
        ('hints = ["groq"]', 'hints = ["Groq"]', "two.toml: the hint 'groq' is in one.toml too; one hint, one file"),
        ('id = "one"', 'id = "one"', "two.toml: the id 'one' is in one.toml too; one id, one file"),
    ],
)
def test_two_files_may_not_claim_the_same_host_hint_or_id(one, other, message):
    def file(name, line):
        head = line if line.startswith("id") else f'id = "{name}"\n{line}'
        return parse(f"{head}\nsource = 'guess'\ndate = 2026-11-30\nconfidence = 'guess'\n{RULE}", f"{name}.toml")

    with pytest.raises(RuleError) as caught:
        check((file("one", one), file("two", other)))
    assert str(caught.value) == message


# --- rules of another file


CLAUDE = """\
id = "claude"
dialect = "anthropic"
bound = ["prefix"]
guards = ["budget"]
family = "claude"
source = "claude"
date = 2026-01-01
confidence = "documented"
[[rules]]
when = { thinking = ["off"] }
window = "none"
[[rules]]
models = ["*claude-old*"]
window = "last_assistant"
[[rules]]
window = "all"
[[rules]]
dialect = "chat"
window = "none"
"""


def test_a_rule_may_use_the_rules_of_another_file_for_its_own_models_and_dialect():
    claude = parse(CLAUDE, "claude.toml")
    text = TOP + '[[rules]]\nuse = "claude"\nmodels = ["*claude*"]\ndialect = "bedrock"\nbound = ["account"]\n'
    text += 'guards = ["no_empty", "budget"]\nupstream = "anthropic"\n[[rules]]\ndialect = "bedrock"\nwindow = "none"\n'
    host = parse(text, "acme.toml", others={"claude": claude}.get)
    assert [(rule.models, rule.window) for rule in host.rules] == [
        (("*claude*",), "none"),
        (("*claude-old*",), "last_assistant"),
        (("*claude*",), "all"),
        (("*",), "none"),
    ]
    used = host.rules[:3]
    assert {rule.host for rule in host.rules} == {"acme"}
    assert {(rule.dialect, rule.bound, rule.guards) for rule in used} == {
        ("bedrock", frozenset({"prefix", "account"}), ("budget", "no_empty"))
    }
    assert {(rule.upstream, rule.family, rule.source, rule.confidence) for rule in used} == {
        ("anthropic", "claude", ("claude",), "documented")
    }


USES = TOP + FIRST + '[[rules]]\nuse = "claud"\n'


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({}.get, "acme.toml:11: 'use' in rule 2 is 'claud'; there is no such file"),
        (None, "acme.toml:11: 'use' in rule 2 is 'claud'; a file that others use must write its rules out"),
    ],
)
def test_a_rule_that_uses_no_file_or_one_that_uses_another_is_refused(others, message):
    with pytest.raises(RuleError) as caught:
        parse(USES, "acme.toml", others=others)
    assert str(caught.value) == message


def test_load_hosts_finds_a_used_file_beside_it_and_among_the_built_in_ones(tmp_path):
    (tmp_path / "b.toml").write_text(TOP + '[[rules]]\nuse = "claude"\ndialect = "anthropic"\n')
    (tmp_path / "claude.toml").write_text(CLAUDE)
    assert [rule.window for rule in load_hosts(tmp_path)[0].rules] == ["none", "last_assistant", "all"]
    (tmp_path / "claude.toml").unlink()
    (tmp_path / "b.toml").write_text(TOP + '[[rules]]\nuse = "deepseek"\nmodels = ["deepseek*"]\n' + RULE)
    rules = load_hosts(tmp_path)[0].rules
    assert [(rule.models[0], rule.host) for rule in rules[:2]] == [("deepseek-r1*", "acme"), ("deepseek*", "acme")]


def test_a_file_that_is_used_may_not_use_another(tmp_path):
    (tmp_path / "a.toml").write_text(TOP + '[[rules]]\nuse = "b"\n')
    (tmp_path / "b.toml").write_text('id = "b"\n[[rules]]\nuse = "deepseek"\n')
    with pytest.raises(RuleError, match=r"b\.toml:3: 'use' in rule 1 is 'deepseek'; a file that others use must write"):
        load_hosts(tmp_path)


# --- files on disk


def test_load_hosts_takes_a_file_or_a_folder(tmp_path):
    (tmp_path / "b.toml").write_text(TOP + RULE)
    (tmp_path / "a.toml").write_text('id = "other"\nsource = "guess"\ndate = 2026-11-30\nconfidence = "guess"\n' + RULE)
    (tmp_path / "note.txt").write_text("no rule file")
    assert [host.id for host in load_hosts(tmp_path)] == ["other", "acme"]
    assert [host.id for host in load_hosts(str(tmp_path / "b.toml"))] == ["acme"]


def test_load_hosts_says_what_is_missing(tmp_path):
    with pytest.raises(RuleError) as caught:
        load_hosts(tmp_path)
    assert str(caught.value) == f"{tmp_path}: no rule file; a folder must hold at least one *.toml"
    with pytest.raises(RuleError) as caught:
        load_hosts(tmp_path / "x.toml")
    assert (
        str(caught.value)
        == f"{tmp_path}/x.toml: cannot be read (FileNotFoundError); give a TOML file or a folder of them"
    )


def test_load_hosts_names_the_file_that_is_wrong(tmp_path):
    (tmp_path / "a.toml").write_text(TOP + "[[rules]]\n")
    with pytest.raises(RuleError, match=r"a\.toml:7: rule 1 has no 'window'"):
        load_hosts(tmp_path)


# --- which file


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("api.acme.example", "api.acme.example", True),
        ("api.acme.example", "api.acme.example.evil.io", False),
        ("api.acme.example", "xapi.acme.example", False),
        ("api.acme.example", "apiXacme.example", False),
        ("api.acme.example", "api.acme.example:8443", False),
        ("api.acme.example:8443", "api.acme.example:8443", True),
        ("api.acme.example:8443", "api.acme.example", False),
        ("*.acme.example", "eu.acme.example", True),
        ("*.acme.example", "a.b.acme.example", True),
        ("*.acme.example", "acme.example", False),
        ("*.acme.example", "evilacme.example", False),
        ("*.acme.example", "eu.acme.example:8080", False),
        ("bedrock.*.acme.example", "bedrock.us-1.acme.example", True),
        ("bedrock.*.acme.example", "bedrock.a.b.acme.example", False),
        ("bedrock.*.acme.example", "bedrock..acme.example", False),
        ("*platform.acme.example", "us-1-platform.acme.example", True),
        ("*platform.acme.example", "platform.acme.example", True),
        ("*platform.acme.example", "evil.io.platform.acme.example", False),
        ("[::1]:11434", "[::1]:11434", True),
        ("localhost:11434", "localhost", False),
    ],
)
def test_a_host_pattern_takes_its_names_and_no_look_alike(pattern, host, expected):
    assert Host(id="acme", hosts=(pattern,)).matches(host) is expected


def test_the_file_is_found_by_alias_then_pattern_then_hint_then_unknown():
    host, other = acme(), parse(TOP.replace("acme", "other") + RULE, "other.toml")
    hosts = (host, other, UNKNOWN)
    aliased = Policy(aliases={"https://API.acme.example/v1": "other"})
    assert find_host(hosts, "api.acme.example", policy=aliased, hint="acme") is other
    assert find_host(hosts, "api.acme.example", hint="other") is host
    assert find_host(hosts, "gw.example", hint="Other") is other
    assert find_host(hosts, "gw.example", hint="nobody") is UNKNOWN
    assert find_host(hosts, "gw.example") is UNKNOWN


def test_files_of_the_policy_are_asked_before_the_built_in_ones():
    mine = parse(TOP.replace('id = "acme"', 'id = "mine"') + '[[rules]]\nwindow = "none"\n', "mine.toml")
    policy = Policy(rules=(mine,))
    assert find_host((acme(), UNKNOWN), "api.acme.example", policy=policy) is mine
    assert choose(acme(), policy=policy).rule.host == "mine"


def test_an_alias_to_no_file_names_the_nearest_one():
    with pytest.raises(BadPolicy) as caught:
        find_host((acme(), UNKNOWN), "gw.example", policy=Policy(aliases={"gw.example": "acne"}))
    assert str(caught.value) == (
        "Policy(aliases={'gw.example': 'acne'}): there is no rule file 'acne'; did you mean 'acme'? known ids: acme, unknown"
    )


def test_without_a_file_for_unknown_hosts_the_error_says_so():
    with pytest.raises(RuleError) as caught:
        find_host((acme(),), "gw.example")
    assert str(caught.value) == (
        "hosts: no file has the id 'unknown'; it is needed for hosts without a file; add builtin()"
    )


def test_a_dialect_that_the_file_does_not_know_is_under_the_rules_of_unknown():
    choice = choose(acme(), dialect="anthropic")
    assert (choice.host.id, choice.rule.host, choice.rule.dialect) == ("acme", "unknown", "anthropic")


# --- which rule


@pytest.mark.parametrize(
    ("glob", "model", "expected"),
    [
        ("deepseek-v4*", "DeepSeek-V4-Pro", True),
        ("deepseek-v4*", "deepseek/deepseek-v4-pro", True),
        ("deepseek-v4*", "accounts/fireworks/models/deepseek-v4-pro", True),
        ("deepseek-v4*", "not-deepseek-v4", False),
        ("deepseek/deepseek-v4*", "deepseek/deepseek-v4-pro", True),
        ("deepseek/deepseek-v4*", "acme/deepseek/deepseek-v4-pro", True),
        ("deepseek/deepseek-v4*", "other/deepseek/deepseek-v4-pro", False),
        ("deepseek/deepseek-v4*", "deepseek-v4-pro", False),
        ("*claude-*[a-z]-5", "claude-opus-5", True),
        ("*claude-*[a-z]-5", "claude-opus-5-5", False),
        ("kimi-k?", "kimi-k3", True),
        ("kimi-k?", None, False),
        ("*", None, True),
    ],
)
def test_a_model_glob_knows_the_names_that_litellm_and_routers_write(glob, model, expected):
    rules = RULE if glob == "*" else f'[[rules]]\nmodels = ["{glob}"]\nwindow = "all"\n[[rules]]\nwindow = "none"\n'
    assert (choose(acme(rules), model).rule.window == "all") is expected


CONDITIONS = """\
thinking = [{ param = "thinking.type", on = ["enabled"], off = ["disabled"] }, { param = "effort", on = ["*"], off = ["none"] }]
window = "all"
[[rules]]
when = { tools = true, thinking = ["off"] }
upstream = "tools, off"
[[rules]]
when = { tools = true }
upstream = "tools"
[[rules]]
when = { thinking = ["on", "unset"] }
upstream = "on or unset"
[[rules]]
upstream = "the rest"
"""


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"tools": [{}], "thinking": {"type": "disabled"}}, "tools, off"),
        ({"tools": [{}], "effort": "none"}, "tools, off"),
        ({"extra_body": {"tools": [{}], "effort": "none"}}, "tools, off"),
        ({"tools": [{}], "thinking": {"type": "enabled"}, "effort": "none"}, "tools"),
        ({"tools": [{}], "thinking": None, "effort": "none"}, "tools, off"),
        ({"functions": [{}]}, "tools"),
        ({"tools": []}, "on or unset"),
        ({}, "on or unset"),
        ({"effort": "high"}, "on or unset"),
        ({"thinking": {"type": "disabled"}}, "the rest"),
        ({"extra_body": {"thinking": {"type": "disabled"}}}, "the rest"),
    ],
)
def test_the_first_rule_whose_condition_holds_decides(request_, expected):
    assert choose(acme(CONDITIONS), request=request_).rule.upstream == expected


@pytest.mark.parametrize(("used", "expected"), [(True, "tools"), (False, "on or unset")])
def test_without_a_request_the_history_says_whether_there_are_tools(used, expected):
    choice = choose(acme(CONDITIONS), request=None, used_tools=used)
    assert (choice.rule.upstream, choice.tools, choice.thinking) == (expected, used, "unset")


def test_without_a_request_the_model_is_taken_to_think():
    rules = '[[rules]]\nwhen = { thinking = ["off", "unset"] }\nwindow = "none"\n' + RULE
    assert choose(acme(rules), request=None).rule.window == "all"
    assert choose(acme(rules), request={}).rule.window == "none"


def test_a_rule_for_a_path_needs_the_path():
    rules = '[[rules]]\nwhen = { path = "/api/coding/*" }\nwindow = "all"\n[[rules]]\nwindow = "none"\n'
    windows = [choose(acme(rules), path=path).rule.window for path in ("/api/coding/v4", "/api/v4", None)]
    assert windows == ["all", "none", "none"]


# --- which window


@pytest.mark.parametrize(
    ("window", "request_", "used", "expected"),
    [
        ("all_if_tools", {"tools": [1]}, False, "all"),
        ("all_if_tools", {}, True, "current_turn"),
        ("all_if_tools", None, True, "all"),
        ("all_if_tools", None, False, "current_turn"),
        ("all_once_tools_used", {}, True, "all"),
        ("all_once_tools_used", {"tools": [1]}, False, "current_turn"),
        ("last_assistant", {}, False, "last_assistant"),
    ],
)
def test_a_chosen_rule_has_a_settled_window(window, request_, used, expected):
    host = acme(f'[[rules]]\nwindow = "{window}"\n')
    assert choose(host, request=request_, used_tools=used).rule.window == expected


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, "current_turn"),
        ({"thinking": {"keep": "all"}}, "all"),
        ({"extra_body": {"thinking": {"keep": "all"}}}, "all"),
        ({"thinking": {"keep": None}}, "current_turn"),
        ({"thinking": {"keep": "some"}}, "current_turn"),
        ({"clear": False}, "all"),
        ({"clear": True}, "none"),
        ({"thinking": {"keep": "all"}, "clear": True}, "all"),
        ({"management": {"edits": [{"type": "other"}, {"type": "clear_1", "keep": "all"}]}}, "last_assistant"),
        ({"management": {"edits": [{"type": "other"}]}}, "current_turn"),
        ({"management": {"edits": "no list"}}, "current_turn"),
        ({"thinking": "no table"}, "current_turn"),
    ],
)
def test_a_switch_of_the_caller_changes_the_window_and_the_first_one_present_decides(request_, expected):
    host = acme("""\
[[rules]]
window = "current_turn"
switch = [
  { param = "thinking.keep", values = { all = "all" } },
  { param = "clear", values = { "false" = "all", "*" = "none" } },
  { param = "management.edits[clear_1]", values = { "*" = "last_assistant" } },
]
""")
    assert choose(host, request=request_).rule.window == expected


def test_the_window_of_the_policy_stands_above_rule_and_switch():
    host = acme('[[rules]]\nwindow = "none"\nswitch = [{ param = "keep", values = { "*" = "none" } }]\n')
    assert choose(host, request={"keep": "x"}, policy=Policy(window="all")).rule.window == "all"
    assert choose(host, request={}, policy=Policy(window="all_if_tools")).rule.window == "current_turn"


KEEPS = """\
thinking = [{ param = "thinking.type", on = ["enabled"], off = ["disabled"] }]
[[rules]]
window = "current_turn"
switch = [
  { param = "edits[clear]", values = { "*" = "all" } },
  { param = "thinking.keep", values = { "*" = "all", none = "none", all = "all" }, beside = { "thinking.type" = "enabled" } },
]
"""


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (None, {"thinking": {"type": "enabled", "keep": "all"}}),
        ({}, {"thinking": {"type": "enabled", "keep": "all"}}),
        ({"thinking": None, "n": 1}, {"thinking": {"type": "enabled", "keep": "all"}, "n": 1}),
        ({"thinking": {"type": "auto"}}, {"thinking": {"type": "auto", "keep": "all"}}),
        ({"extra_body": {"thinking": {}}}, {"extra_body": {"thinking": {"type": "enabled", "keep": "all"}}}),
        ({"extra_body": {"a": 1}}, {"extra_body": {"a": 1}, "thinking": {"type": "enabled", "keep": "all"}}),
        # the caller's own value wins, whatever it is
        ({"thinking": {"keep": "none"}}, None),
        ({"extra_body": {"thinking": {"keep": "some"}}}, None),
        ({"edits": [{"type": "clear"}]}, None),
        ({"thinking": True}, None),
        ({"thinking": {"type": "disabled"}}, None),
    ],
)
def test_the_policys_window_asks_the_host_by_the_first_switch_that_can_be_written(request_, expected):
    policy = Policy(window="all")
    before = copy.deepcopy(request_)
    asked = ask_to_keep(choose(acme(KEEPS), request=request_, policy=policy), request_, policy)
    assert (asked is request_) if expected is None else (asked == expected)
    assert request_ == before


@pytest.mark.parametrize("policy", [Policy(), Policy(window="current_turn"), Policy(window="none")])
def test_nothing_is_asked_where_the_policy_sends_no_more(policy):
    assert ask_to_keep(choose(acme(KEEPS), policy=policy), {}, policy) == {}


def test_a_window_that_depends_on_tools_asks_where_it_comes_out_as_all():
    policy = Policy(window="all_if_tools")
    for request in ({"tools": [1]}, {}):
        asked = ask_to_keep(choose(acme(KEEPS), request=request, policy=policy), request, policy)
        assert ("thinking" in asked) is ("tools" in request)


def test_no_policy_and_no_switch_may_send_what_the_host_refuses():
    host = acme(
        '[[rules]]\nwindow = "none"\nrequirement = "forbidden"\nswitch = [{ param = "keep", values = { "*" = "all" } }]\n'
    )
    assert choose(host, request={"keep": "all"}, policy=Policy(window="all")).rule.window == "none"


def test_equal_questions_get_the_very_same_rule():
    host = acme('[[rules]]\nwindow = "all_if_tools"\n')
    assert choose(host, request={"tools": [1]}).rule is choose(host, request={"tools": [1]}).rule


# --- thinking off


TOGGLES = (
    'thinking = [{ param = "thinking.type", on = ["*"], off = ["disabled"], drop = ["thinking.budget", "edits"] }, '
    '{ param = "effort", on = ["*"], off = ["none"] }]\n'
)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"model": "m"}, {"model": "m", "thinking": {"type": "disabled"}}),
        ({"thinking": {"type": "enabled", "budget": 9, "x": 1}}, {"thinking": {"type": "disabled", "x": 1}}),
        ({"effort": "high", "edits": []}, {"thinking": {"type": "disabled"}}),
        (
            {"extra_body": {"thinking": {"type": "enabled"}, "effort": "low", "y": 2}},
            {"extra_body": {"thinking": {"type": "disabled"}, "y": 2}},
        ),
    ],
)
def test_thinking_is_switched_off_by_the_first_toggle_and_the_request_is_not_changed(request_, expected):
    before = copy.deepcopy(request_)
    choice = choose(acme(RULE, TOGGLES), request=request_)
    after = disable_thinking(choice, request_)
    assert after == expected
    assert request_ == before
    assert thinking_of(choice.host, after) == "off"


def test_a_truth_value_goes_out_as_one():
    choice = choose(acme(RULE, 'thinking = [{ param = "kwargs.think", on = ["true"], off = ["false"] }]\n'))
    assert disable_thinking(choice, {"kwargs": {"a": 1}}) == {"kwargs": {"a": 1, "think": False}}


def test_where_thinking_cannot_be_switched_off_the_request_stays_the_same_object():
    request = {"model": "m"}
    assert disable_thinking(choose(acme(), request=request), request) is request
    always = acme('[[rules]]\nwindow = "all"\ncan_disable = false\n', TOGGLES)
    assert disable_thinking(choose(always, request=request), request) is request
    off = {"thinking": {"type": "disabled"}}
    assert disable_thinking(choose(acme(RULE, TOGGLES), request=off), off) is off


@pytest.mark.parametrize(("value", "expected"), [("enabled", "on"), ("disabled", "off"), ("other", "unset")])
def test_a_value_that_no_toggle_lists_says_nothing(value, expected):
    assert Toggle(param="p", on=("enabled",), off=("disabled",)).says(value) == expected


def test_an_exact_value_of_a_switch_comes_before_the_star():
    switch = Switch(param="p", values=(("*", "none"), ("all", "all")))
    assert [switch.window(value, "current_turn") for value in ("all", "x")] == ["all", "none"]


# --- upstream, keys


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("deepseek/deepseek-v4", "deepseek"),
        ("acme/deepseek/deepseek-v4", "deepseek"),
        ("Other/DeepSeek/deepseek-v4", "other/deepseek"),
        ("acme/auto", "auto"),
        ("deepseek-v4", "deepseek-v4"),
        (None, None),
    ],
)
def test_the_upstream_is_what_stands_before_the_last_slash_of_the_model(model, expected):
    assert upstream_of(acme(), None, model) == expected


def test_a_rule_that_names_the_upstream_is_believed():
    host = acme('[[rules]]\nwindow = "all"\nupstream = "anthropic"\n')
    assert upstream_of(host, host.rules[0], "anything") == "anthropic"


def test_a_rule_that_names_the_upstream_speaks_for_its_own_models_alone():
    text = '[[rules]]\nmodels = ["*claude*"]\nwindow = "all"\nupstream = "anthropic"\n[[rules]]\nwindow = "all"\n'
    host = acme(text)
    assert upstream_of(host, host.rules[0], "Claude-9") == "anthropic"
    assert upstream_of(host, host.rules[0], "gemini-9") == "gemini-9"


def test_who_holds_the_key_is_the_host_the_file_or_the_family():
    alone = acme()
    regions = acme(top='holder = "file"\n')
    kin = acme('[[rules]]\nwindow = "all"\nfamily = "claude"\n')
    other = parse(TOP.replace("acme", "other") + '[[rules]]\nwindow = "all"\nfamily = "claude"\n', "other.toml")

    def opens(host, policy, name):
        choice = select((host, other, UNKNOWN), Origin("api.acme.example", model="m"), None, policy=policy)
        holds = holds_key(choice, policy)
        return holds is not None and holds(name)

    assert not opens(alone, Policy(), "api.acme.example")  # the host itself is compared elsewhere
    assert opens(regions, Policy(), "api.acme.example")
    assert not opens(regions, Policy(), "api.other.example")
    assert not opens(kin, Policy(), "api.other.example")
    assert opens(kin, Policy(sealed="family"), "api.other.example")
    assert not opens(alone, Policy(sealed="family"), "api.other.example")


@pytest.mark.parametrize("policy", [Policy(), Policy(sealed="family"), Policy(aliases={"gw.example": "acme"})])
def test_a_hint_or_an_alias_makes_nobody_a_holder_of_the_key(policy):
    host = acme('[[rules]]\nwindow = "all"\nfamily = "claude"\n', 'holder = "file"\n')
    choice = select((host, UNKNOWN), Origin("gw.example", model="m"), None, policy=policy, hint="acme")
    assert choice.host is host
    assert holds_key(choice, policy) is None


# --- the caller's policy

BAD = {
    "unknown_origin": (
        {"unknown_origin": "trusted"},
        "Policy(unknown_origin='trusted'): not known; did you mean 'trust'? allowed: 'drop', 'trust' or an Origin",
    ),
    "missing": (
        {"missing": "fill"},
        "Policy(missing='fill'): not known; allowed: 'host', 'leave', 'disable_thinking', 'raise'",
    ),
    "window": (
        {"window": "every"},
        (
            "Policy(window='every'): not known; allowed: 'none', 'current_turn', 'last_assistant', 'all', 'all_if_tools', "
            "'all_once_tools_used' or None"
        ),
    ),
    "sealed": ({"sealed": True}, "Policy(sealed=True): not known; allowed: 'strict', 'family'"),
    "same_host, one set": (
        {"same_host": {"a:1", "b:1"}},
        None,
    ),
    "same_host, a string": (
        {"same_host": "a:1"},
        'Policy(same_host=\'a:1\'): must be a tuple of sets of hosts; for example same_host=({"vllm-1:8000", "vllm-2:8000"},)',
    ),
    "same_host, white space": (
        {"same_host": ({"a b"},)},
        "Policy(same_host=...): host 'a b': contains white space or control characters; give 'name', 'name:port' or a URL",
    ),
    "same_host, twice": (
        {"same_host": ({"a", "b"}, {"B", "c"})},
        "Policy(same_host=...): 'b' is in two sets; put all hosts that are one in one set",
    ),
    "same_host, a number": (
        {"same_host": ({1},)},
        "Policy(same_host=...): 1 is not a host; give 'name', 'name:port' or a URL",
    ),
    "aliases, a list": (
        {"aliases": ["a"]},
        'Policy(aliases=[\'a\']): must map host names to ids of rule files; for example aliases={"gw.corp.example": "deepseek"}',
    ),
    "aliases, no id": (
        {"aliases": {"a.example": None}},
        'Policy(aliases={\'a.example\': None}): not the id of a rule file; for example aliases={"gw.corp.example": "deepseek"}',
    ),
    "rules, a path": (
        {"rules": "x.toml"},
        "Policy(rules='x.toml'): must be a tuple of Host; give what load_hosts(path) returns",
    ),
    "rules, paths": (
        {"rules": ("x.toml",)},
        "Policy(rules=...): 'x.toml' is not a Host; give what load_hosts(path) returns",
    ),
    "starts_turn": (
        {"starts_turn": "user"},
        "Policy(starts_turn='user'): not callable; give a function from a message to True, False or None",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_policy_that_cannot_be_says_what_is_allowed(case):
    values, message = BAD[case]
    with pytest.raises(BadPolicy) as caught:
        Policy(**values)
    if message is None:
        assert "is not a set of hosts; for example same_host=(" in str(caught.value)
    else:
        assert str(caught.value) == message


def test_a_policy_holds_normalised_hosts_whatever_the_caller_wrote():
    policy = Policy(same_host=[["https://VLLM-1:8000/v1", "vllm-2:8000"]], aliases={"GW.corp.example.": "deepseek"})
    assert policy.same_host == (frozenset({"vllm-1:8000", "vllm-2:8000"}),)
    assert dict(policy.aliases) == {"gw.corp.example": "deepseek"}


def test_policies_of_equal_values_are_equal_hash_alike_and_survive_copies():
    policy, twin = (
        Policy(unknown_origin=Origin("a"), aliases={"b": "c"}, same_host=({"d"},), rules=()) for _ in range(2)
    )
    assert (policy, hash(policy)) == (twin, hash(twin))
    assert policy != replace(policy, window="all")
    assert pickle.loads(pickle.dumps(policy)) == policy == copy.deepcopy(policy)


def test_a_rule_survives_pickling():
    rule = acme().rules[0]
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert pickle.loads(pickle.dumps(rule)).takes("m")
