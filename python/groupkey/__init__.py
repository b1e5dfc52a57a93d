"""groupkey: choose a group key scheme with evidence, and run the code that was measured.

**Nobody has reviewed the cryptography.** Do not use it to protect anything that matters.

The laboratory says which schemes there are and what they cost: `schemes`, `choose`, `net`, `bench`, `audit`,
`reproduce`. Its rows are Arrow: pandas, polars, DuckDB and pyarrow read them without a copy. `groupkey.campaign`
runs many scenarios on threads or on a Ray cluster. `groupkey.author` is for schemes of your own. Live, `connect` makes
this process a member of a group over MQTT, and `serve` runs a service.
"""

from groupkey import campaign
from groupkey._progress import Progress, RemarkWarning
from groupkey.author import Scheme, check
from groupkey.device import Device, DeviceEvent, Recipient
from groupkey.errors import EvictedError, GroupkeyError, InputError, MessageError, RunError, SchemeError
from groupkey.laboratory import (
    Decision,
    audit,
    bench,
    choose,
    net,
    read,
    reproduce,
    scheme,
    schemes,
)
from groupkey.live import Event, Member, Message, Service, connect, serve
from groupkey.requirements import Requirements
from groupkey.scenario import Scenario
from groupkey.table import Table, concat

__all__ = [
    "Decision",
    "Device",
    "DeviceEvent",
    "Event",
    "EvictedError",
    "GroupkeyError",
    "InputError",
    "Member",
    "Message",
    "MessageError",
    "Progress",
    "Recipient",
    "RemarkWarning",
    "Requirements",
    "RunError",
    "Scenario",
    "Scheme",
    "SchemeError",
    "Service",
    "Table",
    "audit",
    "bench",
    "campaign",
    "check",
    "choose",
    "concat",
    "connect",
    "net",
    "read",
    "reproduce",
    "scheme",
    "schemes",
    "serve",
]

__version__ = "0.1.0"
