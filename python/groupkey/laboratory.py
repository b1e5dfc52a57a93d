"""The laboratory: which schemes there are, which one fits, and what they cost.

Each function is the command of the same name, with its options as keywords: dashes become underscores. What is left
out has the command's default. The command checks the values; `groupkey help net` and the like explain each at length.
An option that takes a list gives one row for each combination. The same arguments and seed give the same rows as the
command, with any number of threads; only `bench` measures this machine.

All functions leave other Python threads running. Ctrl-C stops them within a second. A `progress` is called with what
is done, what there is in all, and the unit; `None` shows a line in a terminal or a notebook, `False` nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from groupkey import _groupkey, _options
from groupkey._progress import Progress, heard, remark
from groupkey.author import Scheme
from groupkey.table import Table

if TYPE_CHECKING:
    from groupkey.requirements import Requirements
    from groupkey.scenario import Scenario

T = TypeVar("T")
Many: TypeAlias = T | Sequence[T]
"""One value, or several: each combination is run."""
File: TypeAlias = str | os.PathLike[str]


def schemes(*ids: str, class_: Many[str] | None = None, stand_ins: bool = False) -> Table:
    """Returns the schemes, a row each.

    Args:
        ids: Only these, by their ids.
        class_: Only these classes: `"centralized"`, `"hybrid"` or `"distributed"`.
        stand_ins: Also stand-ins, which are there for reproductions of papers.

    Returns:
        Columns such as `id`, `name`, `class`, `provenance`, `source`, `operations` (separated by spaces),
        `members_min`, `members_max`, `claims_forward_secrecy` (of the sound profile, against a passive adversary) and
        `audited_sound_forward_secrecy` (what the audit found: `holds`, `broken` or `not-applicable`).

    Raises:
        InputError: There is no such scheme or class.
    """
    return Table(_groupkey.Rows.flat(_schemes(ids, class_, stand_ins)), "schemes")


def scheme(id: str) -> dict[str, Any]:
    """Returns all that is known of a scheme: the object that `groupkey schemes ID --json` prints.

    Raises:
        InputError: There is no such scheme.
    """
    (found,) = json.loads(_schemes((id,), None, False))
    return dict(found)


def net(
    *,
    scheme: Many[str | Scheme] | None = None,
    operation: Many[str] | None = None,
    members: Many[int] | None = None,
    loss: Many[float] | None = None,
    delay: Many[float] | None = None,
    qos: Many[int] | None = None,
    jitter: float | None = None,
    bandwidth: Many[float | str] | None = None,
    burst: float | None = None,
    loss_direction: str | None = None,
    outages: float | None = None,
    outage_length: float | None = None,
    restarts: float | None = None,
    restart_length: float | None = None,
    keep_alive: int | None = None,
    session: str | None = None,
    device: File | Mapping[str, Any] | None = None,
    radio: File | Mapping[str, Any] | None = None,
    controller_device: File | Mapping[str, Any] | None = None,
    subgroup_device: File | Mapping[str, Any] | None = None,
    departed: int | None = None,
    joining: int | None = None,
    leaving: int | None = None,
    request: int | None = None,
    max_in_flight: int | None = None,
    rest: int | None = None,
    profile: str | None = None,
    suite: str | None = None,
    protection: str | None = None,
    parameters: Mapping[str, int] | None = None,
    scenario: File | Mapping[str, Any] | Scenario | None = None,
    runs: int | None = None,
    seed: int | None = None,
    out: File | None = None,
    fresh: bool = False,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Table:
    """Runs groups in a simulated network: how long until every member has the new key.

    Args:
        scheme: Ids of schemes, by default `"lkh-group"`, or schemes of your own (`groupkey.author`).
        operation: `"create"` (the default), `"add"`, `"remove"`, `"rekey"`, `"send"` or `"batch"`.
        members: Members with which the group is created.
        loss: Packets lost on each client's link, each way (%).
        delay: One-way delay of each client's link (ms).
        qos: Quality of service of MQTT: 0, 1 or 2.
        jitter: Largest deviation from the delay (ms).
        bandwidth: Of each client's link (kbit/s), or `"inf"`.
        burst: Mean length of bursts in which all packets are lost (ms).
        loss_direction: `"both"`, `"up"` or `"down"`.
        outages: Outages of each link an hour, `outage_length` s long on average.
        restarts: Restarts of the broker an hour, `restart_length` s long on average.
        keep_alive: MQTT's keep-alive (s), where connections end.
        session: What is left of a session then: `"kept"` or `"clean"`.
        device: The members' device: a built-in one, a file, or a profile as a dictionary.
        radio: In place of the device's radio.
        controller_device: The controller's and the broker's device.
        subgroup_device: The subgroup controllers', in hybrid schemes.
        departed: Members that left and were replaced before (the group's past).
        joining: Members that join in a batch.
        leaving: Members that leave in a batch.
        request: Bytes of a member's request to join or leave.
        max_in_flight: MQTT exchanges under way at one end of a connection.
        rest: Seconds between operations, in place of hours.
        profile: `"sound"` or `"published"`.
        suite: Algorithms: `"standard"`, `"constrained"`, `"pq"` and others.
        protection: Of messages: `"none"`, `"mac"`, `"signature"` or `"merkle"`.
        parameters: The schemes' own parameters, such as `{"degree": 2}`.
        scenario: A file, a dictionary or a `Scenario` that says all of this. Only `runs`, `seed`, `out`, `fresh` and
            `threads` go with it. Paths in a dictionary must be absolute.
        runs: Runs of each combination.
        seed: Seed of all randomness.
        out: Also write results.jsonl, summary.csv and report.html into this folder.
        fresh: Replace results that are in the folder.
        threads: Threads to run on, by default as many as there are cores.
        progress: See the module.

    Returns:
        A row for each combination and operation: the setting, then `mean_ms` until the last member has the key, with
        `ci95_ms` (half the width of its 95 % interval), `p50_ms` to `p99_ms`, the parts `transmission_ms` and
        `computation_ms`, and means of one run: `messages`, `payload_bytes`, `wire_bytes`, `retransmissions` and
        `member_joule`.

    Raises:
        InputError: An argument or a file is refused.
        RunError: An operation did not get through; there are no rows then.
        SchemeError: A scheme of your own does not keep to the contract.
    """
    options = dict(locals())
    return _rows("net", options, ["network"])


def bench(
    *,
    scheme: Many[str | Scheme] | None = None,
    class_: Many[str] | None = None,
    workload: File | Mapping[str, Any] | None = None,
    members: Many[int] | None = None,
    operation: Many[str] | None = None,
    repetitions: int | None = None,
    bytes: int | None = None,
    device: File | Mapping[str, Any] | None = None,
    radio: File | Mapping[str, Any] | None = None,
    profile: str | None = None,
    suite: str | None = None,
    protection: str | None = None,
    parameters: Mapping[str, int] | None = None,
    role: Many[str] | None = None,
    phase: str | None = None,
    seed: int | None = None,
    out: File | None = None,
    resume: bool = False,
    fresh: bool = False,
    progress: Progress | bool | None = None,
) -> Table:
    """Measures what each role of a scheme computes, keeps and sends, on this machine.

    Args:
        scheme: Ids of schemes, or schemes of your own. The times of these are Python's; their counts, bytes and
            modelled times are comparable.
        class_: All schemes of these classes, in place of `scheme`.
        workload: A built-in workload, a file, or a dictionary.
        members: Sizes of the group.
        operation: Operations, and `"encrypt"` or `"decrypt"` for messages of `bytes` bytes.
        repetitions: Of each operation.
        device: Whose time is modelled beside ours: a built-in one, a file, or a profile as a dictionary.
        radio: In place of the device's radio.
        profile: `"sound"` or `"published"`.
        suite: Algorithms.
        protection: Of messages.
        parameters: The schemes' own parameters, such as `{"degree": 2}`.
        role: Only these roles.
        phase: Only this phase.
        seed: Seed of everything that is drawn.
        out: Also write results into this folder.
        resume: Go on with an unfinished run in the folder.
        fresh: Replace results that are in the folder.
        progress: See the module.

    Returns:
        A row for each role, operation, phase and size. Times are processor time (ns), counts and bytes are exact.

    Raises:
        InputError: An argument or a file is refused.
        RunError: Nothing could be measured.
        SchemeError: A scheme of your own does not keep to the contract.
    """
    options = dict(locals())
    return _rows("bench", options, ["bench"])


def audit(
    *,
    scheme: Many[str | Scheme] | None = None,
    class_: Many[str] | None = None,
    profile: Many[str] | None = None,
    suite: str | None = None,
    depth: int | None = None,
    quick: bool = False,
    seed: int | None = None,
    out: File | None = None,
    fresh: bool = False,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Table:
    """Attacks schemes: what they claim, beside what an adversary gets.

    Args:
        scheme: Ids of schemes, or schemes of your own; by default the catalogue's.
        class_: All schemes of these classes, in place of `scheme`.
        profile: `"sound"`, `"published"`, or both (the default).
        suite: Algorithms of all groups. By default derivations are in `"standard"`, and a script has its profile's.
        depth: Tries all histories of up to this many events after the creation, 1 to 6.
        quick: A first look.
        seed: Seed of the longer histories and of all keys.
        out: Also write results into this folder.
        fresh: Replace results that are in the folder.
        threads: Threads to run on.
        progress: See the module.

    Returns:
        A row for each claim and attack: `scheme`, `profile`, `claim`, `claimed` and `found`. What holds was not
        broken in all that was tried, which is no proof. If a claim of a sound profile is broken, a warning says so.

    Raises:
        InputError: An argument is refused.
        SchemeError: A scheme of your own does not keep to the contract.
    """
    options = dict(locals())
    return _rows("audit", options, ["audit"], despite=True)


def choose(
    requirements: str | os.PathLike[str] | Mapping[str, Any] | Requirements | None = None,
    *,
    set: Mapping[str, object] | None = None,
    fitted: bool = False,
    audit: File | None = None,
    progress: Progress | bool | None = None,
) -> Decision:
    """Chooses the scheme that fits a group's requirements best.

    Args:
        requirements: An example's name (`"city"`, `"platoon"`, `"plant"`, `"fleet"` or `"ward"`), a file, a
            dictionary of sections, or `Requirements`. Paths in a dictionary must be absolute.
        set: Single fields in their place: `{"network.loss": 3}`.
        fitted: Answer by the fitted model, in a moment, without simulating the finalists.
        audit: Findings about schemes of your own.
        progress: See the module.

    Raises:
        InputError: A field or a file is refused, or there are no requirements at all.
    """
    fields = [f"{name}={_field(value)}" for name, value in (set or {}).items()]
    if requirements is None and not fields:
        # The command would ask.
        requirements = {}
    options = {"requirements": requirements, "set": fields, "fitted": fitted, "audit": audit}
    with _options.words(options) as words, heard(progress) as progress_of:
        decision, rows, answer, remarks = _groupkey.choose(words, progress_of)
    remark(remarks)
    return Decision(json.loads(decision), Table(rows, "choice"), answer)


class Decision:
    """What is recommended, with its evidence.

    Attributes:
        decision: The whole decision, as `groupkey choose --json` prints it.
        candidates: A row for each candidate, as `groupkey choose --out` writes them: `place`, `standing`, `scheme`,
            its form, its `cost` a day, and each figure with its interval and its ground.
        answer: The answer in words, as `groupkey choose` prints it.
    """

    decision: dict[str, Any]
    candidates: Table
    answer: str

    def __init__(self, decision: dict[str, Any], candidates: Table, answer: str) -> None:
        self.decision = decision
        self.candidates = candidates
        self.answer = answer

    @property
    def recommended(self) -> dict[str, Any] | None:
        """The recommended candidate: `scheme`, `suite`, `guard`, `qos`, and `parameters` if it has some. `None` if
        nothing meets the requirements."""
        best = self.decision.get("recommended")
        return None if best is None else dict(best["candidate"])

    def __str__(self) -> str:
        return self.answer

    def __repr__(self) -> str:
        best = self.recommended
        return f"<groupkey.Decision for {'nothing' if best is None else best['scheme']}>"


def reproduce(
    study: str,
    *,
    quick: bool = False,
    runs: int | None = None,
    repetitions: int | None = None,
    most_members: int | None = None,
    seed: int | None = None,
    out: File | None = None,
    resume: bool = False,
    fresh: bool = False,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Any:
    """Runs a published study again, and compares our values with the published ones.

    Args:
        study: `"benchmark"`, `"centralized"`, `"network-impact"`, `"nishat"`, `"tgdh"`, `"boards"` or `"all"`.
        quick: A few sizes and repetitions, for a first look.
        runs: Runs of each setting of `"network-impact"`.
        repetitions: Of each operation.
        most_members: Leaves out larger groups.
        seed: Seed of the randomness.
        out: Folder for results and report, by default `groupkey-results` and the study's name.
        resume: Go on with an interrupted run in the folder.
        fresh: Replace results that are in the folder.
        threads: Threads to run on, where the study simulates.
        progress: See the module.

    Returns:
        What `groupkey reproduce STUDY --json` prints: for most studies a dictionary with `published` values beside
        ours, `verdicts` on the findings, and the paths of the files. `read` reads the rows.

    Raises:
        InputError: An argument is refused; not every study has every option.
        RunError: Something failed while running.
    """
    options = dict(locals())
    del options["study"]
    printed = _printed(["reproduce", study], options, despite=True)
    return json.loads(printed)


def read(path: File) -> Table:
    """Reads a results file: `results.jsonl`, or what a command printed with `--json`.

    Returns:
        The rows, without repetitions and runs. `kind` says what they are about, `header` where they come from.

    Raises:
        InputError: There is no such file, or it is none of results.
    """
    kind, header, rows = _groupkey.read(path)
    return Table(rows, kind, json.loads(header))


def _schemes(ids: Sequence[str], class_: Many[str] | None, stand_ins: bool) -> str:
    with _options.words({"class": class_, "stand_ins": stand_ins}) as words:
        printed, _ = _groupkey.laboratory(["schemes", "--json", *words, "--", *ids], None, False, [])
    return printed.decode()


def _rows(command: str, options: dict[str, Any], kinds: list[str], despite: bool = False) -> Table:
    printed = _printed([command], options, despite)
    for kind in kinds:
        if (rows := _groupkey.Rows.parse(printed, kind)) is not None:
            return Table(rows, kind)
    raise AssertionError(f"{command} printed rows that nobody knows")


def _printed(command: list[str], options: dict[str, Any], despite: bool) -> bytes:
    progress = options.pop("progress")
    parameters = options.pop("parameters", None)
    options["set"] = [f"{name}={value}" for name, value in (parameters or {}).items()]
    options["class"] = options.pop("class_", None)
    own = _options.own_schemes(options)
    with _options.words(options) as words, heard(progress) as progress_of:
        printed, remarks = _groupkey.laboratory([*command, "--json", *words], progress_of, despite, own)
    remark(remarks)
    return printed


def _field(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
