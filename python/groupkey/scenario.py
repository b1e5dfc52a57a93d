"""One group in one network, as dataclasses: the tables and keys of the file that `groupkey net --scenario` reads.

What is left out has the default that `docs/scenarios.md` lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from groupkey.author import Scheme


@dataclass(kw_only=True)
class Group:
    """The group and its devices.

    Attributes:
        scheme: Id of the scheme, or a scheme of your own.
        members: Members with which the group is created.
        profile: `"sound"` or `"published"`.
        suite: Algorithms.
        protection: Of messages: `"signature"`, `"merkle"`, `"mac"` or `"none"`.
        parameters: The scheme's parameters, such as `{"degree": 4}`.
        device: The members' device.
        controller_device: The device of the controller and the broker.
        subgroup_device: The device of the subgroup controllers, in hybrid schemes.
        request_bytes: Length of a member's request to join or leave.
    """

    scheme: str | Scheme
    members: int
    profile: str | None = None
    suite: str | None = None
    protection: str | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)
    device: str | None = None
    controller_device: str | None = None
    subgroup_device: str | None = None
    request_bytes: int | None = None


@dataclass(kw_only=True)
class Mqtt:
    """The broker.

    Attributes:
        qos: Quality of service: 0, 1 or 2.
        hand_over: When a subscriber takes a QoS 2 message as delivered: `"pubrel"` or `"publish"`.
        max_in_flight: Exchanges under way at one end of a connection.
        restarts_per_hour: How often the broker restarts.
        restart_s: Mean time that it is away (s).
        keep_alive_s: MQTT's keep-alive (s).
        session: What is left of a session when its connection has ended: `"kept"` or `"clean"`.
    """

    qos: int | None = None
    hand_over: str | None = None
    max_in_flight: int | None = None
    restarts_per_hour: float | None = None
    restart_s: float | None = None
    keep_alive_s: int | None = None
    session: str | None = None


@dataclass(kw_only=True)
class Link:
    """A link to the broker: of all clients, of some, or from a time on.

    Attributes:
        members: First and last member, from 0; this or `subgroups` in `Scenario.link`.
        subgroups: First and last subgroup whose controller is meant, from 0.
        at_ms: From when on (ms of simulated time); in `Scenario.change`.
        device: The device of these members; in `Scenario.link`.
        loss_percent: Packets lost, in each direction (%).
        loss_direction: `"both"`, `"up"` or `"down"`.
        burst_ms: Mean length of bursts of loss (ms).
        delay_ms: One-way delay (ms).
        jitter_ms: Largest deviation from it (ms).
        bandwidth_kbit_s: Of each direction (kbit/s).
        outages_per_hour: How often the link fails.
        outage_s: For how long on average (s).
    """

    members: Sequence[int] | None = None
    subgroups: Sequence[int] | None = None
    at_ms: int | None = None
    device: str | None = None
    loss_percent: float | None = None
    loss_direction: str | None = None
    burst_ms: float | None = None
    delay_ms: float | None = None
    jitter_ms: float | None = None
    bandwidth_kbit_s: float | None = None
    outages_per_hour: float | None = None
    outage_s: float | None = None


@dataclass(kw_only=True)
class Scenario:
    """A scenario: `groupkey.net(scenario=...)` takes it.

    Attributes:
        description: What it is about.
        group: The group.
        operations: What happens, in this order, `"create"` first; by default what the scheme has.
        network: Every client's link.
        link: What differs for some clients.
        change: What differs from a time on.
        mqtt: The broker.
        rest_ms: Pause between two operations (ms).
        batch_ms: How long joins and leaves wait to become one change (ms).
        runs: How often all of it is run.
        seed: Seed of all randomness.
    """

    description: str
    group: Group
    operations: Sequence[str] | None = None
    network: Link = field(default_factory=Link)
    link: Sequence[Link] = ()
    change: Sequence[Link] = ()
    mqtt: Mqtt = field(default_factory=Mqtt)
    rest_ms: int | None = None
    batch_ms: int | None = None
    runs: int | None = None
    seed: int | None = None
