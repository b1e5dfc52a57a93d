"""Members and services of Python, over a broker in this process."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import pytest

import groupkey
from groupkey.live import trial_broker

PREFIX = "test/1"


class Fleet:
    """A broker and the files of a service and its members."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = trial_broker()
        self.secrets: dict[str, str] = {}

    def service(self, names: list[str]) -> Path:
        self.secrets = {name: secrets.token_hex(32) for name in names}
        devices = "".join(f'[[device]]\nname = "{name}"\nkey = "{key}"\n' for name, key in self.secrets.items())
        path = self.folder / "service.toml"
        path.write_text(f'store = "group.redb"\n{self.broker()}{devices}')
        path.chmod(0o600)
        return path

    def member(self, name: str) -> Path:
        path = self.folder / f"{name}.toml"
        path.write_text(f'name = "{name}"\nidentity = "{name}.key"\nsecret = "{self.secrets[name]}"\n{self.broker()}')
        path.chmod(0o600)
        return path

    def broker(self) -> str:
        return f'[broker]\nhost = "127.0.0.1"\nport = {self.port}\n[group]\nprefix = "{PREFIX}"\n'


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def run(work) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


def test_members_talk_and_an_evicted_one_hears_nothing(fleet):
    async def work() -> None:
        service = groupkey.serve(fleet.service(["a", "b", "c"]))
        async with service, groupkey.connect(fleet.member("a")) as a, groupkey.connect(fleet.member("b")) as b:
            assert len(service.public_key) == 64
            async with groupkey.connect(fleet.member("c")) as c:
                for member in (a, b, c):
                    await member.key()
                while len(await service.members()) < 3:
                    await asyncio.sleep(0.05)
                await a.send("slippery road")
                for member in (b, c):
                    message = await anext(member)
                    assert (message.sender, message.content) == (a.number, b"slippery road")
                    assert message.epoch == a.epoch

                changed = asyncio.create_task(b.key_changed())
                await asyncio.sleep(0)
                epoch = await service.evict("c")
                assert await changed >= epoch
                with pytest.raises(groupkey.EvictedError):
                    async for _ in c:
                        pass
                with pytest.raises(groupkey.EvictedError):
                    await c.send(b"still here?")
            assert set(await service.members()) == {"a", "b"}
            with pytest.raises(groupkey.RunError):
                await service.evict("nobody")

    run(work())


def test_members_export_the_same_key_for_another_protocol(fleet):
    async def work() -> None:
        async with (
            groupkey.serve(fleet.service(["a", "b"])) as service,
            groupkey.connect(fleet.member("a")) as a,
            groupkey.connect(fleet.member("b")) as b,
        ):
            await a.key(), await b.key()
            epoch = await service.rekey()
            while (a.epoch, b.epoch) != (epoch, epoch):
                await asyncio.sleep(0.05)
            ours, theirs = await a.export("srtp", 30), await b.export("srtp", 30)
            assert ours == theirs and ours[0] == epoch and len(ours[1]) == 30
            assert (await a.export("dtls", 30))[1] != ours[1]
            with pytest.raises(groupkey.RunError):
                await a.export("srtp", 10_000)

    run(work())


def test_refusals_have_their_remedy(fleet):
    async def work() -> None:
        path = fleet.service(["a"])
        path.write_text(path.read_text() + '[http]\nlisten = "127.0.0.1:0"\n')
        with pytest.raises(groupkey.InputError) as raised:
            async with groupkey.serve(path):
                pass
        assert "http" in str(raised.value)
        wrong = fleet.folder / "wrong.toml"
        wrong.write_text('nmae = "a"\n')
        with pytest.raises(groupkey.InputError, match="groupkey member --print-config"):
            async with groupkey.connect(wrong):
                pass

    run(work())


def test_a_broker_that_is_not_there_is_told(fleet):
    async def work() -> None:
        fleet.service(["a"])
        path = fleet.member("a")
        path.write_text(path.read_text().replace(f"port = {fleet.port}", "port = 1"))
        with pytest.raises(groupkey.RunError, match="not connected to 127.0.0.1:1"):
            async with groupkey.connect(path):
                pass

    run(work())


def test_a_closed_member_ends_the_loop_and_a_restart_changes_no_key(fleet):
    async def work() -> None:
        events: list[groupkey.Event] = []
        async with groupkey.serve(fleet.service(["a", "b"])), groupkey.connect(fleet.member("a")) as a:
            async with groupkey.connect(fleet.member("b"), on_event=events.append) as b:
                await b.key()
            assert [message async for message in b] == []
            assert {"connected", "joined", "epoch"} <= {event.what for event in events}
            epoch = await a.key()
            events.clear()
            async with groupkey.connect(fleet.member("b"), on_event=events.append) as b:
                assert await b.key() == epoch
            assert "resumed" in {event.what for event in events}

    run(work())


def test_a_service_goes_on_where_it_was_closed(fleet):
    async def work() -> None:
        path = fleet.service(["a", "b"])
        async with groupkey.serve(path) as service:
            public_key = service.public_key
            async with groupkey.connect(fleet.member("a")) as a, groupkey.connect(fleet.member("b")) as b:
                await a.key(), await b.key()
        # Its store is free at once.
        async with groupkey.serve(path) as service:
            assert service.public_key == public_key
            assert set(await service.members()) == {"a", "b"}

    run(work())
