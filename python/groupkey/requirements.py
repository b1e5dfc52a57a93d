"""What a group needs, as dataclasses: the sections and fields of the file that `groupkey choose` reads.

What is left out has the default that `docs/choose.md` lists. Names are those of the file, with underscores.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Members:
    """How many members there are, and how they come and go.

    Attributes:
        now: Members now; costs are those of a group of this size.
        most: Members at most; limits hold up to this size; 0: as many as now.
        joins: Joins an hour.
        leaves: Leaves and evictions an hour.
        burst: Members that join or leave at once, on average.
        batch: How long joins and evictions wait to become one change (ms); 0: not.
        rekeys: Changes of the key an hour without a join or leave.
        trace: Trace (CSV) from which the fields above are taken.
        lifetime: Days until the group ends or is created anew; see cs, sd and lsd.
    """

    now: int | None = None
    most: int | None = None
    joins: float | None = None
    leaves: float | None = None
    burst: float | None = None
    batch: float | None = None
    rekeys: float | None = None
    trace: str | os.PathLike[str] | None = None
    lifetime: float | None = None


@dataclass(kw_only=True)
class Trust:
    """Who may know the key.

    Attributes:
        controller: True if there is a server that may draw all keys.
        gateways: Gateways that could each lead a part of the group; 0: none.
        gateways_know_the_key: True if a gateway may know the group key.
    """

    controller: bool | None = None
    gateways: int | None = None
    gateways_know_the_key: bool | None = None


@dataclass(kw_only=True)
class Devices:
    """What the parties run on.

    Attributes:
        member: Device of a member: built in, or a file; a board limits memory.
        radio: Radio of a member, in place of its device's: built in, or a file.
        gateway: Device of a gateway.
        controller: Device of the controller.
    """

    member: str | None = None
    radio: str | None = None
    gateway: str | None = None
    controller: str | None = None


@dataclass(kw_only=True)
class Network:
    """The links to the broker.

    Attributes:
        loss: Packets lost on each link, in each direction (%).
        burst: Mean length of bursts in which every packet is lost (ms).
        delay: One-way delay of each link (ms).
        jitter: Jitter (ms): each delay is within the delay ± this value.
        bandwidth: Bandwidth of each link (kbit/s).
        outages: Outages of each link an hour, in which it loses everything.
        outage_length: Mean length of these outages (s).
        multicast: True if one message can reach many members.
        qos: Quality of service of MQTT: 0, 1 or 2; none: 1 or 2, the better one.
        scenario: Scenario (TOML) from which devices, members and links are taken.
    """

    loss: float | None = None
    burst: float | None = None
    delay: float | None = None
    jitter: float | None = None
    bandwidth: float | None = None
    outages: float | None = None
    outage_length: float | None = None
    multicast: bool | None = None
    qos: int | None = None
    scenario: str | os.PathLike[str] | None = None


@dataclass(kw_only=True)
class Security:
    """What must hold.

    Attributes:
        passive: Claims that must hold against one who listens.
        active: Claims that must hold against one who sends, too.
        guard: Protection of messages, if it is given: mac, signature or merkle.
        bits: Security level (bits).
        post_quantum: True if a quantum computer must not break it.
        stand_ins: True if schemes count whose publication could not be identified.
    """

    passive: Sequence[str] | None = None
    active: Sequence[str] | None = None
    guard: str | None = None
    bits: int | None = None
    post_quantum: bool | None = None
    stand_ins: bool | None = None


@dataclass(kw_only=True)
class Limits:
    """What a member can afford.

    Attributes:
        complete: Time until 99 % of changes are complete (ms).
        sent: Bytes that a member sends a day.
        received: Bytes that a member receives a day.
        energy: Energy of a member a day, for group keys alone (J).
        battery: Battery of a member (J), which group keys may use up.
        battery_days: Days that this battery must last.
        keys: Key material that a member keeps (bytes).
        flash: Program memory of a member without its network (bytes).
        memory: Working memory of a member without its network (bytes).
        message: Largest message (bytes).
    """

    complete: float | None = None
    sent: float | None = None
    received: float | None = None
    energy: float | None = None
    battery: float | None = None
    battery_days: float | None = None
    keys: float | None = None
    flash: float | None = None
    memory: float | None = None
    message: float | None = None


@dataclass(kw_only=True)
class Presence:
    """Members that are away.

    Attributes:
        sleep: What a member needs that slept: rejoin, catch-up or heal.
        splits: True if the group falls into parts that go on, and merges again.
    """

    sleep: str | None = None
    splits: bool | None = None


@dataclass(kw_only=True)
class Weights:
    """What is dear.

    Attributes:
        joule: Cost of a joule of a member.
        second: Cost of a second until a change is complete.
        kilobyte: Cost of 1,000 bytes that a member sends or receives.
    """

    joule: float | None = None
    second: float | None = None
    kilobyte: float | None = None


@dataclass(kw_only=True)
class Requirements:
    """What a group needs: `groupkey.choose` takes it.

    Example:
        `Requirements(members=Members(now=300, joins=20), network=Network(loss=2, delay=40))`
    """

    members: Members = field(default_factory=Members)
    trust: Trust = field(default_factory=Trust)
    devices: Devices = field(default_factory=Devices)
    network: Network = field(default_factory=Network)
    security: Security = field(default_factory=Security)
    limits: Limits = field(default_factory=Limits)
    presence: Presence = field(default_factory=Presence)
    weights: Weights = field(default_factory=Weights)
