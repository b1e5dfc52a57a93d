"""A scheme in Python is measured, simulated and audited as others are; what it does wrong is an error, and no more."""

from __future__ import annotations

import gc

import pytest

import groupkey
from groupkey.author import ALL_CLAIMS, Controller, Key, Member, Refused, Scheme, check
from groupkey.scenario import Group, Scenario

QUIET = {"progress": False}


class ListController(Controller):
    """One broadcast that has the new group key once for each member, as `examples/own-scheme` has it in Rust."""

    def __init__(self):
        self.enrolled = {}
        self.current = {}

    def enroll(self, cx, member):
        self.enrolled[member] = cx.random_key()
        cx.confidential(member, self.enrolled[member])

    def create(self, cx, members):
        for member in members:
            self.current[member] = self.enrolled.pop(member)
        return self.rekey(cx)

    def add(self, cx, member):
        self.current[member] = self.enrolled.pop(member)
        return self.rekey(cx)

    def remove(self, cx, member):
        del self.current[member]
        return self.rekey(cx)

    def rekey(self, cx):
        group_key = cx.random_key()
        entries = []
        for member in sorted(self.current):
            entries += [member, cx.wrap(self.current[member], group_key)]
        cx.broadcast(entries)
        return group_key


class ListMember(Member):
    individual = None

    def enrolled(self, cx, message):
        (self.individual,) = message.body(Key)

    def receive(self, cx, message):
        (entries,) = message.body([int, bytes])
        for member, wrapped in entries:
            if member == self.number:
                return cx.unwrap(self.individual, wrapped)
        raise Refused("NothingForUs")


LIST = Scheme("py-list", ListController, ListMember, claims=ALL_CLAIMS)


def test_the_scheme_follows_its_law_among_forgers():
    assert check(LIST, members=4, changes=6) > 30


def test_it_runs_in_a_network_beside_others():
    line = {"scheme": ["skdc", LIST], "members": 20, "operation": ["create", "remove"], "runs": 2, **QUIET}
    rows = groupkey.net(**line)
    messages = {(row["scheme"], row["operation"]): row["messages"] for row in rows.to_dicts()}
    assert messages["py-list", "create"] == messages["py-list", "remove"] == 1
    assert messages["skdc", "create"] == 20
    assert rows.to_dicts() == groupkey.net(**line).to_dicts()
    # The entry is there for its work alone.
    assert "py-list" not in groupkey.schemes()["id"]
    scenario = Scenario(description="one", group=Group(scheme=LIST, members=3), operations=["create"], runs=1)
    assert groupkey.net(scenario=scenario, **QUIET)["scheme"] == ["py-list"]


@pytest.mark.filterwarnings("ignore::groupkey.RemarkWarning")
def test_its_bench_has_the_counts_of_the_same_scheme_in_rust():
    rows = groupkey.bench(scheme=[LIST, "skdc"], members=10, operation="add", repetitions=2, **QUIET).to_dicts()
    counts = {
        (row["scheme"], row["role"]): (
            row["primitives_wrap_calls"] or 0,
            row["primitives_unwrap_calls"] or 0,
            row["permanent_bytes"],
        )
        for row in rows
        if row["phase"] == "operational"
    }
    assert counts["py-list", "controller"] == counts["skdc", "controller"] == (11, 0, 12 * 16)
    assert counts["py-list", "member"] == counts["skdc", "member"] == (0, 1, 2 * 16)


def test_an_audit_sees_what_it_computes():
    class Lazy(ListController):
        """Sends the new key under the old one: who is evicted reads it."""

        def remove(self, cx, member):
            del self.current[member]
            group_key = cx.random_key()
            cx.broadcast(cx.wrap(cx.group_key, group_key), kind=1)
            return group_key

    class LazyMember(ListMember):
        def receive(self, cx, message):
            if message.kind == 1 and cx.group_key:
                (wrapped,) = message.body(bytes)
                return cx.unwrap(cx.group_key, wrapped)
            if message.kind == 1:
                raise Refused("NothingForUs")
            return super().receive(cx, message)

    lazy = Scheme("py-lazy", Lazy, LazyMember, claims=ALL_CLAIMS)
    with pytest.warns(groupkey.RemarkWarning):
        rows = groupkey.audit(scheme=[LIST, lazy], profile="sound", depth=2, quick=True, **QUIET)
    found = {(row["scheme"], row["claim"]): row["found"] for row in rows.to_dicts() if row["adversary"] == "passive"}
    assert found["py-list", "forward-secrecy"] == found["py-list", "backward-secrecy"] == "holds"
    assert found["py-lazy", "forward-secrecy"] == "broken"
    with pytest.raises(groupkey.SchemeError, match="an evicted member holds the new group key"):
        check(lazy)


def raising(cx):
    raise ZeroDivisionError("on purpose")


def kept(cx):
    kept.contexts.append(cx)
    kept.contexts[0].random_key()
    return cx.random_key()


kept.contexts = []  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("step", "cause"),
    [
        (raising, ZeroDivisionError),
        (lambda cx: None, TypeError),
        (lambda cx: b"sixteen bytes ...", TypeError),
        (lambda cx: cx.broadcast("text"), TypeError),
        (lambda cx: cx.broadcast([-1]), TypeError),
        (lambda cx: cx.broadcast(1, kind=256), OverflowError),
        (lambda cx: cx.confidential(0, 1), RuntimeError),
        (lambda cx: cx.derive(cx.random_key(), "x" * 65), ValueError),
        (lambda cx: cx.hash(cx.random_key(), "label", bytes(34)), ValueError),
        (lambda cx: Refused(), TypeError),
        (kept, RuntimeError),
        (lambda cx: step_again(), RecursionError),
    ],
)
def test_what_a_controller_does_wrong_is_an_error_with_its_cause(step, cause):
    class Wrong(ListController):
        def remove(self, cx, member):
            return step(cx)

        def create(self, cx, members):
            if step is kept:
                kept.contexts.append(cx)
            return super().create(cx, members)

    wrong = Scheme("py-wrong", Wrong, ListMember)
    with pytest.raises(groupkey.SchemeError, match="py-wrong: controller raised .* in remove: ") as raised:
        groupkey.net(scheme=wrong, members=5, operation="remove", runs=1, **QUIET)
    assert type(raised.value.__cause__) is cause
    gc.collect()


def step_again():
    return step_again()


DOORS = {
    "net": lambda scheme: groupkey.net(scheme=scheme, members=5, runs=1, **QUIET),
    "bench": lambda scheme: groupkey.bench(scheme=scheme, members=5, operation="create", repetitions=1, **QUIET),
    "audit": lambda scheme: groupkey.audit(scheme=scheme, profile="sound", quick=True, **QUIET),
    "check": check,
}


@pytest.mark.filterwarnings("ignore::groupkey.RemarkWarning")
@pytest.mark.parametrize(
    ("door", "fault"),
    [*((door, fault) for door in DOORS for fault in ["receive", "made"]), ("bench", "storage")],
)
def test_every_door_tells_what_a_member_did_wrong(door, fault):
    class Wrong(ListMember):
        def __init__(self, number):
            super().__init__(number)
            if fault == "made":
                raise ZeroDivisionError

        def receive(self, cx, message):
            return super().receive(cx, message) if fault != "receive" else 1 / 0

        def storage(self):
            return super().storage() if fault != "storage" else -1

    with pytest.raises(groupkey.SchemeError, match=r"py-bad: member \d+ raised"):
        DOORS[door](Scheme("py-bad", ListController, Wrong))
    assert len(groupkey.net(scheme=LIST, members=3, runs=1, **QUIET)) == 1, "others run as before"


def test_who_refuses_a_message_must_be_as_before():
    class Careless(ListMember):
        def receive(self, cx, message):
            self.heard = getattr(self, "heard", 0) + 1
            return super().receive(cx, message)

    with pytest.raises(groupkey.SchemeError, match="it refused a message, and changed"):
        check(Scheme("py-careless", ListController, Careless))


def test_an_id_names_one_scheme_in_a_run():
    again = Scheme("py-list", ListController, ListMember)
    with pytest.raises(groupkey.InputError, match="there is a scheme `py-list` already"):
        groupkey.net(scheme=[LIST, again], members=3, runs=1, **QUIET)
    assert groupkey.net(scheme=[again, again], members=3, runs=1, **QUIET)["scheme"][0] == "py-list"
    for id in ["skdc", "Upper", "", "a,b"]:
        with pytest.raises(groupkey.InputError, match=r"the catalogue has|is no id"):
            Scheme(id, ListController, ListMember)
    for wrong in [{"claims": ["perfection"]}, {"provenance": "stand-in"}, {"members": (1, 5)}]:
        with pytest.raises(groupkey.InputError):
            Scheme("py-wrong", ListController, ListMember, **wrong)


def test_python_never_sees_a_key():
    seen = []

    class Curious(ListController):
        def create(self, cx, members):
            seen.append(cx.random_key())
            return super().create(cx, members)

    groupkey.net(scheme=Scheme("py-curious", Curious, ListMember), members=2, runs=1, **QUIET)
    (key,) = seen
    assert repr(key) == "Key(..)" and key == key and key != 1
    for read in (bytes, hash, list, Key):
        with pytest.raises(TypeError):
            read(key)
