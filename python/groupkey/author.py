"""A scheme of your own, in Python: run it on the bench, in the network and in the audit, beside the others.

A scheme is two classes, a `Controller` and a `Member`, and an entry, `Scheme`, that names them. The laboratory calls
their methods: a *step* each. A step gets a `Context` and computes with it. What it computes is counted, has a price
on every device, and can be audited. Messages are bytes on the wire, in the library's format, protected as the run has
it.

    class StarController(Controller):
        def __init__(self):
            self.keys = {}

        def enroll(self, cx, member):
            self.keys[member] = cx.random_key()
            cx.confidential(member, self.keys[member])

        def create(self, cx, members):
            group_key = cx.random_key()
            for member in members:
                cx.unicast(member, cx.wrap(self.keys[member], group_key))
            return group_key
        ...

The laboratory keeps what is the same in every scheme: who is enrolled, who is a member, the epoch, and the group key
that a step returns. It refuses commands that make no sense, and messages of another sender or epoch, before a party
sees them.

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

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from groupkey import _groupkey
from groupkey._groupkey import Context, Key, Message
from groupkey.errors import MessageError, SchemeError

__all__ = [
    "ALL_CLAIMS",
    "Context",
    "Controller",
    "Key",
    "Member",
    "Message",
    "Refused",
    "Scheme",
    "SchemeError",
    "check",
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
        """Returns the bytes of key material that this party holds between steps, besides the group key. Or two
        numbers: the second is what it holds in addition during a step, at most.

        By default each `Key` in the attributes counts 16 bytes, also in lists, tuples, sets and dictionaries.
        """
        return _KEY * len({id(key) for key in _keys(vars(self))})


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
    """A member. Its class, or a function that returns one, makes it with its number.

    Attributes:
        number: The number of the member.
    """

    number: int

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

    id: str

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
        for what, made in (("controller", controller), ("member", member)):
            if not callable(made):
                raise TypeError(f"{what} must be a class, or a function that makes one")
        self.id = id
        rekeys = callable(getattr(controller, "rekey", None))
        self._native = _groupkey.OwnScheme(
            id, name or id, source, provenance, list(claims), members, rekeys, controller, member
        )

    def __copy__(self) -> Scheme:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Scheme:
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
    return _groupkey.check(scheme._native, members, changes, seed)


def _keys(value: object) -> Iterator[Key]:
    if isinstance(value, Key):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _keys(inner)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for inner in value:
            yield from _keys(inner)


_KEY = 16
