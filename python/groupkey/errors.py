"""What goes wrong, as exceptions. Each has a message, and a remedy where one is known."""

from __future__ import annotations


class GroupkeyError(Exception):
    """A failure that groupkey tells of.

    Attributes:
        message: What happened.
        help: What to do about it; `None` if there is nothing to say.
    """

    message: str
    help: str | None

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message if help is None else f"{message}\nhelp: {help}")
        self.message = message
        self.help = help

    def __reduce__(self) -> tuple[type[GroupkeyError], tuple[str, str | None]]:
        return type(self), (self.message, self.help)


class InputError(GroupkeyError, ValueError):
    """The arguments, or a file that they name, are wrong. Nothing was run."""


class RunError(GroupkeyError, RuntimeError):
    """Something failed while running."""


class SchemeError(RunError):
    """A scheme of your own does not keep to the contract: a party raised what is no refusal (`__cause__` is the
    exception), or the scheme does not follow its law."""


class MessageError(GroupkeyError):
    """A message that a device cannot use. The device has not changed.

    Attributes:
        reason: Why: `"SkippedEpoch"` calls for `Device.catch_up`; the others (`"Forged"`, `"Malformed"` and so on)
            are for logs.
    """

    reason: str

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        # The native part tells the reason with its particulars, as SkippedEpoch { got: ... }.
        self.reason = reason.partition(" ")[0].partition("(")[0]

    def __reduce__(self) -> tuple[type[MessageError], tuple[str, str]]:
        return type(self), (self.message, self.reason)


class EvictedError(GroupkeyError):
    """This device was evicted from the group. To connect again changes nothing."""
