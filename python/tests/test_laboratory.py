"""What the laboratory gives to Python is what the command prints."""

from __future__ import annotations

import dataclasses
import json
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import groupkey
from groupkey import _groupkey, requirements
from groupkey.requirements import Devices, Members, Network, Requirements, Security
from groupkey.scenario import Group, Link, Scenario

SMALL = {"scheme": "skdc", "members": 5, "runs": 2, "progress": False}


def printed(command: list[str]) -> list[dict]:
    """Returns the rows that the command prints."""
    ran = subprocess.run([sys.executable, "-m", "groupkey", *command], capture_output=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_net_gives_the_rows_of_the_command():
    rows = groupkey.net(scheme=["skdc", "lkh-group"], members=[5, 9], loss=[0, 10], runs=2, progress=False)
    line = "net --json --scheme skdc,lkh-group --members 5,9 --loss 0,10 --runs 2".split()
    expected = printed(line)
    assert len(rows) == len(expected) == 8
    for row, other in zip(rows.to_dicts(), expected, strict=True):
        assert {name: row[name] for name in other} == other


def test_options_reach_the_command():
    rows = groupkey.net(
        **SMALL,
        operation=("create", "add"),
        delay=20,
        bandwidth="inf",
        parameters={},
        device="esp32",
        suite="published",
        profile="published",
        seed=3,
    )
    assert rows["operation"] == ["create", "add"]
    assert rows["device"] == ["esp32", "esp32"] and rows["suite"] == ["published", "published"]
    assert groupkey.net(scheme="lkh-group", members=8, runs=1, parameters={"degree": 2})["parameters"] == ["degree=2"]


@pytest.mark.parametrize(
    ("options", "message", "help"),
    [
        ({"scheme": "skcd"}, "invalid value 'skcd' for '--scheme <ID>'", "skdc"),
        ({"loss": 200}, "invalid value '200' for '--loss <PERCENT>'", ""),
        ({"subgroup_device": "host"}, "--subgroup-device takes a scheme with subgroups", "hybrid"),
        ({"scenario": {"description": "x"}}, "scenario.toml:1:1: ", "docs/scenarios.md"),
    ],
)
def test_refusals_are_exceptions_with_their_remedy(options, message, help):
    with pytest.raises(groupkey.InputError) as raised:
        groupkey.net(**options)
    assert isinstance(raised.value, ValueError)
    assert raised.value.message.startswith(message), raised.value.message
    assert help in (raised.value.help or "")
    again = pickle.loads(pickle.dumps(raised.value))
    assert (again.message, again.help) == (raised.value.message, raised.value.help)


def test_a_value_of_another_type_is_refused_before_the_command():
    with pytest.raises(TypeError, match="members cannot be"):
        groupkey.net(members=object())


def test_a_scenario_may_be_a_dataclass_a_dictionary_or_a_file(tmp_path: Path):
    scenario = Scenario(
        description="a tunnel",
        group=Group(scheme="skdc", members=4, protection="mac"),
        operations=["create", "add"],
        network=Link(delay_ms=20),
        link=[Link(members=[0, 1], loss_percent=5)],
        change=[Link(at_ms=50, delay_ms=80)],
        runs=2,
    )
    rows = groupkey.net(scenario=scenario, progress=False)
    assert rows["operation"] == ["create", "add"] and "80" in rows["variations"][0]
    assert groupkey.net(scenario=dataclasses.asdict(scenario)).to_dicts() == rows.to_dicts()
    path = tmp_path / "tunnel.toml"
    table = {name: value for name, value in dataclasses.asdict(scenario).items() if value}
    path.write_text(_groupkey.toml(json.dumps(_without_none(table))))
    assert groupkey.net(scenario=path).to_dicts() == rows.to_dicts()


def _without_none(value):
    if isinstance(value, dict):
        return {name: _without_none(one) for name, one in value.items() if one is not None}
    return [_without_none(one) for one in value] if isinstance(value, (list, tuple)) else value


def test_requirements_have_the_fields_of_the_file():
    known = [name for name, _ in _groupkey.requirement_fields()]
    ours = [
        f"{section.name}.{field.name}"
        for section in dataclasses.fields(Requirements)
        for field in dataclasses.fields(getattr(requirements, section.name.capitalize()))
    ]
    assert ours == [name.replace("-", "_") for name in known]


def test_a_choice_is_a_decision_with_its_candidates_and_its_words():
    needed = Requirements(
        members=Members(now=300, joins=20),
        devices=Devices(member="cortex-m4"),
        network=Network(loss=2, delay=40),
        security=Security(post_quantum=False),
    )
    choice = groupkey.choose(needed, fitted=True)
    best = choice.recommended
    assert best is not None and str(choice).startswith(f"Take {best['scheme']} ")
    assert choice.candidates["scheme"][0] == best["scheme"]
    as_table = {"members": {"now": 300, "joins": 20}, "network": {"loss": 2, "delay": 40}}
    assert groupkey.choose(as_table, fitted=True).recommended == best
    fields = {"members.now": 300, "members.joins": 20, "network.loss": 2, "network.delay": 40}
    assert groupkey.choose(set=fields, fitted=True).recommended == best
    with pytest.raises(groupkey.InputError, match=r"requirements.toml:2:1: "):
        groupkey.choose({"members": {"nwo": 3}}, fitted=True)


def test_the_finalists_are_simulated():
    choice = groupkey.choose("platoon", progress=False)
    grounds = [ground for ground in choice.candidates["completion_ms_ground"] if ground]
    assert "simulated" in grounds


def test_schemes_are_rows_and_objects():
    all_of_them = groupkey.schemes()
    assert "treekem" in all_of_them["id"]
    hybrid = groupkey.schemes(class_="hybrid")
    assert set(hybrid["class"]) == {"hybrid"} and 0 < len(hybrid) < len(all_of_them)
    skdc = groupkey.scheme("skdc")
    assert skdc["claims"]["forward_secrecy"] is True
    assert groupkey.schemes("skdc")["claims_forward_secrecy"] == [True]


# A clock can be too coarse for so few operations.
@pytest.mark.filterwarnings("ignore::groupkey.RemarkWarning")
def test_audit_and_bench_give_rows():
    findings = groupkey.audit(scheme="skdc", profile="sound", quick=True, progress=False)
    assert "forward-secrecy" in findings["claim"] and set(findings["scheme"]) == {"skdc"}
    measured = groupkey.bench(scheme="skdc", members=10, operation="add", repetitions=5, progress=False)
    assert {"controller", "member"} <= set(measured["role"])


def test_a_folder_of_results_is_read_again(tmp_path: Path):
    rows = groupkey.net(**SMALL, out=tmp_path)
    again = groupkey.read(tmp_path / "results.jsonl")
    assert (again.kind, again.header["study"]) == ("network", "network")
    assert again.to_dicts() == rows.to_dicts()
    with pytest.raises(groupkey.InputError):
        groupkey.read(tmp_path / "summary.csv")


def test_progress_is_heard_and_may_stop_the_work():
    heard = []
    groupkey.net(scheme="skdc", members=200, runs=40, loss=10, progress=lambda *news: heard.append(news))
    assert heard[-1] == (40, 40, "runs")

    def enough(done: int, total: int, unit: str) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        groupkey.net(scheme="skdc", members=1000, runs=1000, loss=10, progress=enough)


def test_ctrl_c_stops_within_a_second_and_other_threads_run_meanwhile():
    ticks = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.01):
            ticks.append(time.monotonic())

    def interrupt() -> None:
        time.sleep(0.7)
        signal.raise_signal(signal.SIGINT)

    # A shell has what it starts in the background ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threads = [threading.Thread(target=tick), threading.Thread(target=interrupt)]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            groupkey.net(scheme="skdc", members=2000, runs=10_000, loss=10, progress=False)
    finally:
        stop.set()
        signal.signal(signal.SIGINT, before)
    took = time.monotonic() - began
    for thread in threads:
        thread.join()
    assert took < 5.0
    # The first second's ticks would be missing if the interpreter were held.
    assert len([tick for tick in ticks if tick < began + 0.7]) > 10
    assert len(groupkey.net(**SMALL)) == 1, "it can be called again"
