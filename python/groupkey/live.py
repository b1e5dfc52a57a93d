"""Live groups over an MQTT broker, for asyncio: members, peers and services.

The files are those of `groupkey member` and `groupkey serve`, which print one with comments by `--print-config`.
Members and services run on threads of their own, so the group's key changes also while the program computes.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

from groupkey import _groupkey
from groupkey.errors import EvictedError, RunError

T = TypeVar("T")
L = TypeVar("L", _groupkey.LiveMember, _groupkey.LiveService)


@dataclass(frozen=True)
class Message:
    """A message of another member, decrypted and checked.

    Attributes:
        sender: The sender's number in the group.
        epoch: The epoch of the key under which it came.
        content: At most 65,355 bytes.
    """

    sender: int
    epoch: int
    content: bytes


@dataclass(frozen=True)
class Event:
    """What happened to a member or a service.

    Attributes:
        what: `"connected"`, `"status"` (see `text`), `"epoch"` (a new key), `"active"` (members send under it) and
            `"ended"`; of a member `"joined"`, `"resumed"`, `"outside"` (not admitted, with advice), `"behind"`,
            `"joins again"`, `"unproven"`, `"proven"`, `"changed"` (another scheme), `"unkept"` and `"evicted"`; of a
            service `"founding"`, `"admitted"`, `"resumed"`, `"left"`, `"silent"`, `"refused"`, `"waits"`,
            `"unconfirmed"`, `"change begun"`, `"change failed"` and `"changed"`.
        epoch: The epoch, where it is one's.
        member: The member's number, where it is one's.
        text: A name, or words for people.
    """

    what: str
    epoch: int | None = None
    member: int | None = None
    text: str | None = None


class _Live(Generic[L]):
    """What members and services have in common: they run, and what happens comes to this loop."""

    _native: L

    def __init__(self, start: Callable[[Any], L]) -> None:
        self._start: Callable[[Any], L] = start
        self._waiting: set[asyncio.Future[None]] = set()
        self._ended: str | None = None
        self._is_connected = False
        # What was taken before the native part was there to be told.
        self._owed = 0

    async def __aenter__(self: S) -> S:
        self._loop = asyncio.get_running_loop()
        self._problem: str | None = None
        self._native = await asyncio.to_thread(self._start, self._heard)
        self._native.taken(self._owed)
        try:
            await self._until(lambda: self._is_connected or self._problem is not None)
            if not self._is_connected:
                raise RunError(self._problem or "no connection")
        except BaseException:
            self._native.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Disconnects, and waits until everything is stored, for 5 s at most."""
        self._native.close()
        try:
            await asyncio.wait_for(self._until(lambda: self._ended is not None), 5)
        except asyncio.TimeoutError:
            # What waits for a program that takes nothing is in the way of the word that it has ended.
            self._ended = "it is closed"
        self._wake()

    def _heard(self, *happening: Any) -> None:
        # Called on a thread of the native part. A loop that is closed hears nothing any more.
        try:
            self._loop.call_soon_threadsafe(self._took, *happening)
        except RuntimeError:
            pass

    def _took(
        self, what: str, epoch: int | None, member: int | None, content: bytes | None, text: str | None
    ) -> None:
        if what == "connected":
            self._is_connected = True
        elif what == "status":
            self._problem = text
        elif what == "ended":
            self._ended = text or self._ended or "it has ended"
            self._problem = self._ended
        self._note(what, epoch, member, content, text)
        self._wake()

    def _note(
        self, what: str, epoch: int | None, member: int | None, content: bytes | None, text: str | None
    ) -> None:
        raise NotImplementedError

    def _taken(self) -> None:
        if hasattr(self, "_native"):
            self._native.taken(1)
        else:
            self._owed += 1

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(turn)
            try:
                await turn
            finally:
                self._waiting.discard(turn)

    def _wake(self) -> None:
        for turn in self._waiting:
            if not turn.done():
                turn.set_result(None)

    async def _call(self, call: Callable[..., None], *arguments: object) -> Any:
        """Awaits what a native call gives."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Any] = loop.create_future()

        def settle(value: object, problem: str | None) -> None:
            if result.done():
                return
            if problem is None:
                result.set_result(value)
            else:
                result.set_exception(RunError(problem))

        def done(value: object, problem: str | None) -> None:
            try:
                loop.call_soon_threadsafe(settle, value, problem)
            except RuntimeError:
                pass

        call(*arguments, done)
        return await result


S = TypeVar("S", bound=_Live[Any])


class Member(_Live[_groupkey.LiveMember]):
    """A member of a live group, or a peer of one without a controller. Made by `connect`.

    Iterating over it yields the messages of others. It ends when the member is closed, and raises `EvictedError` after
    an eviction. Up to 1,024 messages and events wait for the program, and 4,096 events more in the driver; what comes
    then is lost, and an event says so.

    Attributes:
        number: This device's number in the group; `None` before it is a member.
        epoch: The epoch of its key; `None` before it has one.
    """

    number: int | None
    epoch: int | None

    def __init__(self, config: str | os.PathLike[str], on_event: Callable[[Event], object] | None) -> None:
        super().__init__(lambda hear: _groupkey.LiveMember(config, hear))
        self._messages: deque[Message] = deque()
        self._on_event = on_event
        self._has_key = False
        self._is_evicted = False
        self._advice: str | None = None
        self.number = None
        self.epoch = None

    async def key(self) -> int:
        """Waits until this device has the group's key, and returns its epoch.

        Raises:
            EvictedError: The device was evicted.
            RunError: The service has not admitted it for some 14 s, with advice; or the member has ended. The
                device keeps asking.
        """
        self._advice = None
        await self._until(lambda: self._has_key or self._is_over() or self._advice is not None)
        if not self._has_key:
            self._refuse()
            raise RunError(self._advice or "no key")
        assert self.epoch is not None
        return self.epoch

    async def key_changed(self) -> int:
        """Waits until the group has another key than now, and returns its epoch.

        Raises:
            EvictedError: The device was evicted.
            RunError: The member has ended.
        """
        before = self.epoch
        await self._until(lambda: (self._has_key and self.epoch != before) or self._is_over())
        self._refuse()
        assert self.epoch is not None
        return self.epoch

    async def send(self, content: bytes | bytearray | memoryview | str) -> None:
        """Encrypts a message to the group, at most 65,355 bytes; text as UTF-8. Waits for a key first.

        The message is published in the background, and again after a reconnection, until the broker acknowledges it.

        Raises:
            EvictedError: The device was evicted.
            RunError: The message is too long, the device is not admitted, or the member has ended.
        """
        await self.key()
        await self._call(self._native.say, content.encode() if isinstance(content, str) else bytes(content))

    async def close(self) -> None:
        """Waits until the broker has acknowledged all messages, for 5 s at most, and disconnects."""
        if not self._is_over():
            try:
                await asyncio.wait_for(self._call(self._native.settle), 5)
            except (asyncio.TimeoutError, RunError):
                pass
        await super().close()

    async def export(self, label: str, length: int, context: bytes = b"") -> tuple[int, bytes]:
        """Returns the epoch, and a key of `length` bytes (at most 8,160) for another protocol, such as SRTP. It
        follows from the group's key and changes with it.

        Raises:
            EvictedError: The device was evicted.
            RunError: There is no such key, or the member has ended.
        """
        await self.key()
        epoch, key = await self._call(self._native.export, label, context, length)
        return epoch, key

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        await self._until(lambda: bool(self._messages) or self._is_over())
        if self._messages:
            self._taken()
            return self._messages.popleft()
        if self._is_evicted:
            self._refuse()
        raise StopAsyncIteration

    def _note(
        self, what: str, epoch: int | None, member: int | None, content: bytes | None, text: str | None
    ) -> None:
        if what == "message":
            assert member is not None and epoch is not None and content is not None
            self._messages.append(Message(member, epoch, content))
            return
        if what in ("epoch", "proven"):
            self._has_key = True
            self.epoch = epoch if what == "epoch" else self.epoch
        elif what in ("behind", "joins again", "unproven", "evicted"):
            self._has_key = False
            self._is_evicted = what == "evicted"
        elif what in ("joined", "resumed"):
            self.number = member
        elif what == "outside":
            self._advice = text
        self._taken()
        if self._on_event is not None:
            self._on_event(Event(what, epoch, member, text))

    def _is_over(self) -> bool:
        return self._is_evicted or self._ended is not None

    def _refuse(self) -> None:
        if self._is_evicted:
            raise EvictedError(
                "the service evicted this device", "have its operator readmit it, and connect again"
            )
        if self._ended is not None:
            raise RunError(self._ended)


class Service(_Live[_groupkey.LiveService]):
    """A service: it admits members, and manages the group's key. Made by `serve`.

    Iterating over it yields what happens, as `Event`s. It ends when the service is closed.
    """

    def __init__(self, config: str | os.PathLike[str]) -> None:
        super().__init__(lambda hear: _groupkey.LiveService(config, hear))
        self._events: deque[Event] = deque()

    @property
    def public_key(self) -> str:
        """The service's public key, which members' files name: 64 hexadecimal digits."""
        return self._native.public_key

    async def members(self) -> dict[str, int]:
        """Returns the members' names and numbers."""
        return dict(await self._call(self._native.members))

    async def evict(self, name: str) -> int:
        """Evicts a member, and returns the epoch of the key that it does not get.

        Raises:
            RunError: There is no such member, too few would remain, or the service has ended.
        """
        return int(await self._call(self._native.evict, name))

    async def readmit(self, name: str) -> None:
        """Lets an evicted device join again.

        Raises:
            RunError: It was not evicted, or the service has ended.
        """
        await self._call(self._native.readmit, name)

    async def rekey(self) -> int:
        """Changes the key, and returns its epoch.

        Raises:
            RunError: There is no group yet, or the service has ended.
        """
        return int(await self._call(self._native.rekey))

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        await self._until(lambda: bool(self._events) or self._ended is not None)
        if not self._events:
            raise StopAsyncIteration
        self._taken()
        return self._events.popleft()

    def _note(
        self, what: str, epoch: int | None, member: int | None, content: bytes | None, text: str | None
    ) -> None:
        self._events.append(Event(what, epoch, member, text))


def connect(config: str | os.PathLike[str], *, on_event: Callable[[Event], object] | None = None) -> Member:
    """Makes a device a member of a group, by the file of `groupkey member`.

    Use it as `async with groupkey.connect("member.toml") as member`. A member keeps its membership beside its
    identity, so a restart changes no key. With `[[peer]]`s in the file there is no service.

    Args:
        config: The file. Paths in it are relative to its folder. The identity is made if it is missing.
        on_event: Called in the loop with what happens besides messages.

    Raises (on entering):
        InputError: The file is refused.
        RunError: The broker cannot be reached.
    """
    return Member(config, on_event)


def trial_broker() -> int:
    """Starts an MQTT broker in this process, on 127.0.0.1, and returns its port. It is for trials and tests: it keeps
    nothing, asks nobody who they are, and ends with the process."""
    return _groupkey.broker()


def serve(config: str | os.PathLike[str]) -> Service:
    """Runs a service, by the file of `groupkey serve`, without its section `[http]`.

    Use it as `async with groupkey.serve("service.toml") as service`.

    Raises (on entering):
        InputError: The file, or its store, is refused.
        RunError: The broker cannot be reached.
    """
    return Service(config)
