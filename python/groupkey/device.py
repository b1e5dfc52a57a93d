"""One party of a group on a transport of your own: CoAP, LoRa, CAN or a serial line.

A device has no I/O. Three calls are the whole loop of a program: `receive` takes the bytes of a message and says what
happened, `outgoing` gives the messages to transmit, and `group_key` is the key that the group has now. The transport
may lose, repeat and reorder messages. A message that a device cannot use raises `MessageError`, and changes nothing.

Deployment: before a member joins, the controller gives it an individual key, over a channel that is confidential and
authentic: `confidential` gives that message, and `receive_confidential` takes it. Schemes without a controller have no
such step; their members must get commands in one order.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groupkey import _groupkey
from groupkey.live import Message


@dataclass(frozen=True)
class Recipient:
    """Who gets a message.

    Attributes:
        kind: `"group"` (all members), `"member"`, `"controller"`, `"subgroup controller"`, or `"subset"`: those
            that an event told to subscribe to it.
        number: The member's, the subgroup's or the subset's.
    """

    kind: str
    number: int | None = None


@dataclass(frozen=True)
class DeviceEvent:
    """What happened to a device.

    Attributes:
        what: `"epoch"` (it has the group key of this epoch), `"removed"`, `"subscribed"`, `"unsubscribed"` or
            `"message key"`.
        epoch: The epoch.
        subset: The subset whose messages it must receive from now on, or need not.
    """

    what: str
    epoch: int | None = None
    subset: int | None = None


class Device:
    """A party with everything that it needs between two messages. See the module.

    Args:
        me: The member's number; `None` makes the controller.
        scheme: Id of the scheme, in its sound profile.
        instance: 16 random bytes, drawn whenever the group is founded, not secret. All devices have the same.
        mac_key: 32 bytes that all devices share: any of them can speak for any other.
        identity: In place of `mac_key`: this device's Ed25519 secret, 32 bytes (`secrets.token_bytes(32)`).
        directory: With `identity`: the public keys of the parties that this device believes, by their numbers, the
            controller's under `None`.
        group: The group's number.
        suite: Algorithms.
        parameters: The scheme's parameters, such as `{"degree": 2}`.
        messages: Whether members exchange messages under the group key.

    Raises:
        InputError: There is no such scheme, suite or parameter; the scheme has no controller; or keys are missing.
    """

    def __init__(
        self,
        me: int | None,
        *,
        scheme: str,
        instance: bytes,
        mac_key: bytes | None = None,
        identity: bytes | None = None,
        directory: Mapping[int | None, bytes] | None = None,
        group: int = 1,
        suite: str = "standard",
        parameters: Mapping[str, int] | None = None,
        messages: bool = True,
    ) -> None:
        self.me = me
        self._native = _groupkey.NativeDevice(
            scheme,
            dict(parameters or {}),
            suite,
            group,
            instance,
            me,
            mac_key,
            identity,
            dict(directory or {}),
            messages,
        )

    @staticmethod
    def public_key(identity: bytes) -> bytes:
        """Returns the public key of an identity: 32 bytes."""
        return _groupkey.NativeDevice.public_key(identity)

    def enroll(self, members: Sequence[int], *, now: int | None = None) -> list[DeviceEvent | Message]:
        """Gives these members individual keys: `confidential` has the messages. For controllers."""
        return self._command("enroll", members, now=now)

    def create(self, members: Sequence[int], *, now: int | None = None) -> list[DeviceEvent | Message]:
        """Makes a group of these members, at least two, in this order."""
        return self._command("create", members, now=now)

    def add(self, member: int, *, now: int | None = None) -> list[DeviceEvent | Message]:
        """Adds a member, which must be enrolled if there is a controller."""
        return self._command("add", [member], now=now)

    def remove(self, member: int, *, now: int | None = None) -> list[DeviceEvent | Message]:
        """Evicts a member."""
        return self._command("remove", [member], now=now)

    def batch(
        self, joining: Sequence[int], leaving: Sequence[int], *, now: int | None = None
    ) -> list[DeviceEvent | Message]:
        """Adds members and evicts others, in one change of the key."""
        return self._command("batch", joining, leaving, now=now)

    def rekey(self, *, now: int | None = None) -> list[DeviceEvent | Message]:
        """Changes the key."""
        return self._command("rekey", now=now)

    def catch_up(self, *, now: int | None = None) -> list[DeviceEvent | Message]:
        """Asks for missed changes, after a `MessageError` whose reason is `"SkippedEpoch"`."""
        return self._command("catch_up", now=now)

    def receive(self, message: bytes, *, now: int | None = None) -> list[DeviceEvent | Message]:
        """Processes a message as it came over the transport, at the time `now`: ns since an origin of your choice, by
        default `time.monotonic_ns()`. It must not go back.

        Raises:
            MessageError: The message is malformed, forged, stale or out of place. Nothing has changed.
            InputError: It is a member's message, and the device has no group key yet.
        """
        return _told(self._native.receive(message, _at(now)))

    def receive_confidential(self, message: bytes, *, now: int | None = None) -> list[DeviceEvent | Message]:
        """Processes a message that came over the confidential channel.

        Raises:
            MessageError: As `receive`.
        """
        return _told(self._native.receive_confidential(message, _at(now)))

    def send(self, content: bytes, *, now: int | None = None) -> None:
        """Encrypts at most 65,355 bytes to the group. `outgoing` has the message.

        Raises:
            InputError: The device has no key, or no messages, or the content is too long.
        """
        self._native.send(content, _at(now))

    def forget(self, party: int | None) -> None:
        """Refuses all that a party says from now on: for all devices, when a member is evicted from a group without a
        controller.

        Raises:
            InputError: A MAC protects the group.
        """
        self._native.forget(party)

    def outgoing(self) -> list[tuple[Recipient, bytes]]:
        """Takes the messages to transmit, oldest first. Each is given once."""
        return [(Recipient(kind, number), message) for kind, number, message in self._native.outgoing()]

    def confidential(self) -> list[tuple[Recipient, bytes]]:
        """Takes the messages that need a confidential and authentic channel, oldest first. Each is given once."""
        return [(Recipient(kind, number), message) for kind, number, message in self._native.confidential()]

    @property
    def epoch(self) -> int | None:
        """The epoch of the group key; `None` before the device has one."""
        key = self._native.group_key()
        return None if key is None else key[0]

    def group_key(self) -> bytes | None:
        """Returns the group key: 32 bytes, or `None`. Use `export` for other protocols, and wipe nothing: Python keeps
        copies."""
        key = self._native.group_key()
        return None if key is None else key[1]

    def export(self, label: str, length: int, context: bytes = b"") -> tuple[int, bytes]:
        """Returns the epoch, and a key of `length` bytes (at most 8,160) for another protocol.

        Raises:
            InputError: The device has no key, or there is none of this length.
        """
        return self._native.export(label, context, length)

    def _command(
        self, name: str, members: Sequence[int] = (), leaving: Sequence[int] = (), *, now: int | None
    ) -> list[DeviceEvent | Message]:
        return _told(self._native.command(name, list(members), list(leaving), _at(now)))


def _at(now: int | None) -> int:
    return time.monotonic_ns() if now is None else now


def _told(happened: list[tuple[str, int | None, int | None, bytes | None]]) -> list[DeviceEvent | Message]:
    told: list[DeviceEvent | Message] = []
    for what, epoch, number, content in happened:
        if content is not None and epoch is not None and number is not None:
            told.append(Message(number, epoch, content))
        else:
            told.append(DeviceEvent(what, epoch, number))
    return told
