"""A group over a transport of the program's own."""

from __future__ import annotations

import pickle
import secrets
from dataclasses import dataclass, field

import pytest

import groupkey
from groupkey import Device, Message, Recipient

KEYS = {"scheme": "lkh-group", "instance": bytes(16), "mac_key": bytes([7]) * 32}


def carry(devices: dict[int | None, Device], asleep: frozenset[int] = frozenset()) -> Carried:
    """Carries all messages to those that they are for, but their senders."""
    carried = Carried()
    subscribed: dict[int | None, set[int | None]] = {me: set() for me in devices}
    waiting = [(me, *item) for me, device in devices.items() for item in device.outgoing()]
    while waiting:
        sender, to, message = waiting.pop(0)
        for me, device in devices.items():
            is_for = {
                "group": me is not None,
                "controller": me is None,
                "member": to.number == me,
                "subset": to.number in subscribed[me],
            }
            if not is_for[to.kind] or me in asleep or me == sender:
                continue
            try:
                happened = device.receive(message)
            except groupkey.GroupkeyError as error:
                carried.refused[me] = error
                continue
            for one in happened:
                if isinstance(one, Message):
                    carried.heard.append((me, one.sender, one.content))
                elif one.what == "subscribed":
                    subscribed[me].add(one.subset)
            waiting += [(me, *item) for item in device.outgoing()]
    return carried


@dataclass
class Carried:
    """Who heard what, and who could not use the last message that it refused."""

    heard: list[tuple[int | None, int, bytes]] = field(default_factory=list)
    refused: dict[int | None, groupkey.GroupkeyError] = field(default_factory=dict)


def group(count: int, **options: object) -> dict[int | None, Device]:
    """Makes a controller and members, and enrols them over a cable."""
    devices = {me: Device(me, **{**KEYS, **options}) for me in [None, *range(count)]}
    devices[None].enroll(range(count))
    for to, message in devices[None].confidential():
        assert to.kind == "member"
        devices[to.number].receive_confidential(message)
    return devices


def test_a_group_is_made_talks_and_evicts():
    devices = group(4)
    devices[None].create([0, 1, 2])
    carry(devices)
    assert {devices[me].group_key() for me in (0, 1, 2)} == {devices[None].group_key()}
    assert devices[3].group_key() is None and devices[0].epoch == 1

    devices[1].send(b"slippery road")
    assert carry(devices).heard == [(0, 1, b"slippery road"), (2, 1, b"slippery road")]

    devices[None].add(3)
    carry(devices)
    before = devices[1].group_key()
    devices[None].remove(1)
    assert list(carry(devices).refused) == [1], "it carries no key for the evicted one"
    assert devices[1].group_key() == before
    assert devices[0].group_key() == devices[3].group_key() != before
    assert devices[0].export("srtp", 30) == devices[3].export("srtp", 30)


def test_who_missed_a_change_catches_up():
    devices = group(3)
    devices[None].create([0, 1, 2])
    carry(devices)
    devices[None].rekey()
    carry(devices, asleep=frozenset({2}))
    devices[None].rekey()
    refused = carry(devices).refused
    assert list(refused) == [2] and isinstance(refused[2], groupkey.MessageError)
    assert refused[2].reason == "SkippedEpoch"
    assert pickle.loads(pickle.dumps(refused[2])).reason == "SkippedEpoch"
    devices[2].catch_up()
    carry(devices)
    assert devices[2].group_key() == devices[None].group_key()


def test_signatures_and_a_scheme_without_a_controller():
    identities = {me: secrets.token_bytes(32) for me in range(3)}
    directory = {me: Device.public_key(identity) for me, identity in identities.items()}
    devices: dict[int | None, Device] = {
        me: Device(me, scheme="tgdh", instance=bytes(16), identity=identity, directory=directory)
        for me, identity in identities.items()
    }
    for device in devices.values():
        device.create([0, 1, 2])
    carry(devices)
    assert len({device.group_key() for device in devices.values()}) == 1
    devices[0].forget(2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scheme": "lkh"}, "there is no scheme"),
        ({"suite": "strong"}, "there is no suite"),
        ({"parameters": {"degree": 1_000_000}}, "parameter degree"),
        ({"mac_key": None}, "give mac_key"),
        ({"scheme": "tgdh"}, "tgdh has no controller"),
    ],
)
def test_wrong_settings_are_refused(options, message):
    with pytest.raises(groupkey.InputError, match=message):
        Device(None, **{**KEYS, **options})


def test_bad_messages_change_nothing():
    devices = group(3)
    devices[None].create([0, 1])
    (_, message), *_ = [item for item in devices[None].outgoing()]
    for bad in (b"", b"\x00" * 40, message[:-1], message[:-1] + bytes([message[-1] ^ 1])):
        with pytest.raises(groupkey.MessageError):
            devices[0].receive(bad)
    assert devices[0].group_key() is None
    with pytest.raises(groupkey.InputError):
        devices[0].send(b"no key yet")
    assert Recipient("group").number is None
