"""Campaigns: the same rows on any workers, and nothing lost but what was under way."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import need

import groupkey
from groupkey import campaign

need("fsspec")
# Ray's own warnings are not ours.
pytestmark = pytest.mark.filterwarnings("default")


def scenario(scheme: str = "skdc", loss: float = 0, seed: int = 1, **further: object) -> dict[str, object]:
    group = {"scheme": scheme, "members": 3}
    return {
        "description": "small", "group": group, "network": {"loss_percent": loss}, "seed": seed,
        "operations": ["create", "add"], "runs": 2,
    } | further


EIGHT = [scenario(scheme, loss, seed) for scheme in ["skdc", "tgdh"] for loss in [0, 20] for seed in [7, 8]]
"""Of two rows each."""

BROKEN = scenario("skdc", operations=["create", "batch"])
"""SKDC has no batch."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of one worker."""
    folder = tmp_path_factory.mktemp("whole")
    campaign.run(EIGHT, folder, workers=1)
    return contents(folder)


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    """Two workers of Ray on this machine. They import the package that is tested, and nobody else may use them."""
    (ray,) = need("ray")
    paths = [str(Path(groupkey.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_any_number_of_workers_gives_the_same_files(whole: dict[str, bytes], tmp_path: Path) -> None:
    rows = campaign.run(EIGHT, tmp_path, workers=3)
    assert contents(tmp_path) == whole
    alone = [row for one in EIGHT for row in groupkey.net(scenario=one, progress=False).to_dicts()]
    assert rows.to_dicts() == alone
    path = next(tmp_path.iterdir())
    assert len(groupkey.read(path)) == 2, "each file is one of results"


def test_what_is_there_does_not_run_again(tmp_path: Path) -> None:
    campaign.run(EIGHT[:3], tmp_path)
    changed = next(tmp_path.iterdir())
    changed.write_bytes(changed.read_bytes().replace(b'"members":3', b'"members":9'))
    told: list[tuple[object, ...]] = []
    rows = campaign.run([*EIGHT, EIGHT[0]], tmp_path, progress=lambda *news: told.append(news))
    assert told[-1] == (5, 5, "scenarios") and len(rows) == 18
    assert rows["members"].count(9) in (2, 4) and rows["seed"][-2:] == rows["seed"][:2]
    # Their order is the caller's, and none are none.
    assert campaign.run(EIGHT[::-1], tmp_path)["scheme"] == ["tgdh"] * 8 + ["skdc"] * 8
    assert len(campaign.run([], tmp_path)) == 0


@pytest.mark.parametrize("kind", ["memory", "s3"])
def test_rows_are_kept_in_an_object_store(
    kind: str, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    (fsspec,) = need("fsspec")
    options = {}
    if kind == "s3":
        server, s3fs = need("moto.server", "s3fs")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anybody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
        store = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        store.start()
        request.addfinalizer(store.stop)
        host, port = store.get_host_and_port()
        options = {"endpoint_url": f"http://{host}:{port}"}
        s3fs.S3FileSystem(**options).mkdir("bucket")
    place = f"{kind}://bucket/results"
    campaign.run(EIGHT[:5], place, storage_options=options)
    assert len(campaign.run(EIGHT, place, storage_options=options)) == 16
    system, root = fsspec.core.url_to_fs(place, **options)
    assert {name.rpartition("/")[2]: system.cat_file(name) for name in system.find(root)} == whole


def test_a_scenario_that_fails_keeps_nobody(tmp_path: Path) -> None:
    with pytest.raises(campaign.CampaignError, match="1 scenarios failed.*batch") as raised:
        campaign.run([EIGHT[0], BROKEN, EIGHT[1]], tmp_path)
    assert [one.scenario for one in raised.value.failed] == [BROKEN]
    assert len(contents(tmp_path)) == 2


def test_an_interruption_leaves_what_is_done(tmp_path: Path, whole: dict[str, bytes]) -> None:
    # It would take hours.
    forever = scenario(group={"scheme": "skdc", "members": 2000}, runs=100_000)

    def interrupt(done: int, total: int, unit: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        campaign.run([EIGHT[0], EIGHT[1], forever], tmp_path, workers=2, progress=interrupt)
    assert len(contents(tmp_path)) == 2
    campaign.run(EIGHT, tmp_path)
    assert contents(tmp_path) == whole


def test_what_is_wrong_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(groupkey.InputError, match="nothing://here cannot be opened"):
        campaign.run(EIGHT, "nothing://here")
    mine = groupkey.Scheme("py-campaign", groupkey.author.Controller, groupkey.author.Member)
    with pytest.raises(TypeError, match="py-campaign"):
        campaign.run([scenario(group={"scheme": mine, "members": 3})], tmp_path)
    monkeypatch.setattr("groupkey.campaign._address", lambda text: secrets.token_hex())
    with pytest.raises(campaign.CampaignError, match="a worker has another groupkey"):
        campaign.run(EIGHT[:1], tmp_path)
    for package, where, options in [("ray", tmp_path, {"ray": True}), ("fsspec", "s3://bucket", {})]:
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(groupkey.InputError, match=f"pip install {package}"):
            campaign.run(EIGHT, where, **options)


@pytest.mark.usefixtures("ray")
def test_ray_gives_the_same_files_though_a_worker_is_killed(whole: dict[str, bytes], tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(done: int, total: int, unit: str) -> None:
        # Some scenarios are at work, and one is done.
        for worker in workers() if done and not killed else []:
            os.kill(worker, signal.SIGKILL)
            killed.append(worker)

    longer = [one | {"runs": 200} for one in EIGHT]
    rows = campaign.run(longer, tmp_path / "ray", ray=True, progress=kill)
    assert killed and rows.to_dicts() == campaign.run(longer, tmp_path / "threads").to_dicts()
    assert contents(tmp_path / "ray") == contents(tmp_path / "threads")
    campaign.run(EIGHT, tmp_path / "short", ray=True)
    assert contents(tmp_path / "short") == whole
    with pytest.raises(campaign.CampaignError, match="batch"):
        campaign.run([BROKEN], tmp_path, ray=True)


def workers() -> list[int]:
    """Our Ray's workers, which are at a scenario."""
    def parent(process: int) -> int:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])

    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::_cell") and parent(parent(int(path.parent.name))) == os.getpid():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found
