"""A scheme of your own, in Python: run it on the bench, in the network and in the audit, beside the others.

A scheme is two classes, a `Controller` and a `Member`, and an entry, `Scheme`, that names them. The laboratory calls
their methods: a *step* each. A step gets a `Context` and computes with it. So what it computes is counted, has a price
on every device, and can be audited. docs/python.md has a scheme in 40 lines.

The laboratory keeps who is enrolled, who is a member, the epoch, and the group key that a step returns. It refuses
commands that make no sense, and messages of another sender or epoch, before a party sees them.

A `Key` is something to compute with, and shows no bytes. A scheme that sends one and reads it as `bytes` can compute
with them beside the context; then nothing is counted, and an audit sees nothing of it.

Three rules:

- A step that raises has changed nothing.
- Randomness and keys come from the context and from nowhere else, and nothing depends on the order of a set. So the
  same seed gives the same rows.
- `Refused` refuses a message. Any other exception is a mistake in the scheme; it ends the work and is the
  `__cause__` of a `SchemeError`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Sequence

from groupkey import _groupkey
from groupkey._groupkey import Context, Key, Message
from groupkey.errors import InputError, MessageError, SchemeError

__all__ = [
    "ALL_CLAIMS", "Context", "Controller", "Key", "Member", "Message", "Refused", "Scheme", "SchemeError", "check",
]

ALL_CLAIMS = ("forward-secrecy", "backward-secrecy", "collusion-resistance", "key-independence", "agreement")
"""All that a scheme can claim. An audit shows whether it holds."""

_REASONS = {
    "InvalidRoster": "its list of members is not valid",
    "Malformed": "it is not a well-formed message",
    "NothingForUs": "it carries no key for this member",
    "UnexpectedMessage": "it is not expected in the current state",
    "WrongKey": "a wrapped key does not open",
}


class Refused(MessageError):
    """A member refuses a message, and is as before.

    Args:
        reason: `"InvalidRoster"`, `"Malformed"`, `"NothingForUs"`, `"UnexpectedMessage"` or `"WrongKey"`.
    """

    def __init__(self, reason: str = "UnexpectedMessage") -> None:
        if reason not in _REASONS:
            raise ValueError(f"reason is one of {', '.join(_REASONS)}, not {reason!r}")
        super().__init__(f"message refused: {_REASONS[reason]}", reason)

    def __reduce__(self) -> tuple[type[Refused], tuple[str]]:  # type: ignore[override]
        return type(self), (self.reason,)


class _Party:
    def storage(self) -> int | tuple[int, int]:
        """Returns the bytes of key material that this party holds between steps, besides the group key; or two
        numbers, the second of what a step holds in addition. By default each `Key` in the attributes counts 16, also
        in lists, tuples, sets and dictionaries."""
        return 16 * len({id(key) for key in _keys(vars(self))})


class Controller(_Party):
    """The controller of a centralized scheme. Its class, or a function that returns one, makes it without arguments.

    Each method but `enroll` and `storage` changes the group key: it sends what members need and returns the new key.
    If the class also has `rekey(self, cx)`, the scheme can change the key with the same members.
    """

    def enroll(self, cx: Context, member: int) -> None:
        """Gives a member its first secrets, by `cx.confidential`. It becomes a member later, or never. Who was
        removed is enrolled again before it comes back."""
        raise NotImplementedError

    def create(self, cx: Context, members: list[int]) -> Key:
        """Makes a group of these members, all of them enrolled."""
        raise NotImplementedError

    def add(self, cx: Context, member: int) -> Key:
        """Adds an enrolled member."""
        raise NotImplementedError

    def remove(self, cx: Context, member: int) -> Key:
        """Evicts a member. It hears what is broadcast."""
        raise NotImplementedError


class Member(_Party):
    """A member. Its class, or a function that returns one, makes it with its number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def enrolled(self, cx: Context, message: Message) -> None:
        """Takes what the controller's `enroll` sent."""
        raise NotImplementedError

    def receive(self, cx: Context, message: Message) -> Key | None:
        """Takes a message of the controller that leads to the next epoch. Returns the group key, or `None` if
        further messages are needed for it.

        A member hears what is broadcast before it joins (`cx.group_key` is `None` then) and after it left, too.

        Raises:
            Refused: The message has no key for this member, or is not what it should be.
        """
        raise NotImplementedError


class Scheme:
    """A scheme's entry, as those of the catalogue. `net`, `bench`, `audit` and a scenario's group take it as `scheme`.

    An entry, and what it refers to, lives as long as the process: make one for each scheme, not one for each run.

    Args:
        id: Its id in results: small letters, digits and dashes. None of the catalogue's.
        controller: Makes the controller.
        member: Makes a member of its number.
        name: Its name in tables.
        source: Where it was published.
        provenance: `"specified"`, or `"reconstructed"` if details of a published scheme are yours.
        claims: What it claims: some of `ALL_CLAIMS`.
        members: The smallest and the largest number of members.

    Raises:
        InputError: One of these is refused.
    """

    def __init__(
        self,
        id: str,
        controller: Callable[[], Controller],
        member: Callable[[int], Member],
        *,
        name: str | None = None,
        source: str = "not published",
        provenance: str = "specified",
        claims: Sequence[str] = (),
        members: tuple[int, int] = (2, 65_536),
    ) -> None:
        if not callable(controller) or not callable(member):
            raise TypeError("controller and member are classes, or functions that make one")
        if not re.fullmatch("[a-z][a-z0-9-]{0,39}", id):
            raise InputError(f"{id!r} is no id: it has up to 40 small letters, digits and dashes, a letter first")
        if provenance not in ("specified", "reconstructed"):
            raise InputError(f"provenance is specified or reconstructed, not {provenance!r}")
        if unknown := [claim for claim in claims if claim not in ALL_CLAIMS]:
            raise InputError(f"no scheme claims {unknown[0]!r}")
        if not 2 <= members[0] <= members[1]:
            raise InputError("members are the smallest number, from 2 on, and the largest")
        self.id = id
        rekeys = callable(getattr(controller, "rekey", None))
        form = (id, name or id, source, provenance == "specified", list(claims), members, rekeys, controller)
        self._make: Callable[[Callable[[int], object]], _groupkey.OwnScheme]
        self._make = lambda member: _groupkey.OwnScheme(*form, member)
        self._member, self._native = member, self._make(member)

    def __deepcopy__(self, memo: object) -> Scheme:
        return self

    def __repr__(self) -> str:
        return f"<groupkey.Scheme {self.id}>"


def check(scheme: Scheme, *, members: int = 5, changes: int = 12, seed: int = 1) -> int:
    """Holds a scheme to its law, in groups whose members come and go, in three suites, with MACs and with signatures.

    After each operation all members hold the same key, it is new, and nobody who was evicted holds it. Altered and
    repeated messages precede and follow every genuine one: who takes one of them breaks the law, and so does who
    refuses a message and has changed. The same seed gives the same messages.

    Args:
        scheme: The scheme.
        members: Members with which each group is created.
        changes: Operations after the creation, in each group.
        seed: Seed of the histories and of all keys.

    Returns:
        How many operations were checked.

    Raises:
        SchemeError: The scheme does not follow its law, or a party raised what is no refusal.
        InputError: The scheme does not take as many members.
    """
    watched = scheme._make(lambda number: _Watched(scheme._member(number)))
    return _groupkey.check(watched, members, changes, seed)


class _Watched:
    """A member that is compared with what it was before, if it refuses a message."""

    def __init__(self, member: Member) -> None:
        self.member, self.enrolled, self.storage = member, member.enrolled, member.storage

    def receive(self, cx: Context, message: Message) -> Key | None:
        before = copy.deepcopy(vars(self.member))
        try:
            return self.member.receive(cx, message)
        except Refused:
            if vars(self.member) != before:
                raise RuntimeError("it refused a message, and changed") from None
            raise


def _keys(value: object) -> Iterator[Key]:
    if isinstance(value, Key):
        yield value
    elif isinstance(value, (dict, list, tuple, set, frozenset)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _keys(inner)
