"""Programs that read Arrow get our memory."""

from __future__ import annotations

import pytest
from conftest import need

import groupkey

(pyarrow,) = need("pyarrow")


@pytest.fixture(scope="module")
def rows() -> groupkey.Table:
    return groupkey.net(scheme=["skdc", "lkh-group"], members=[5, 9], loss=[0, 10], runs=2, progress=False)


def test_pyarrow_has_the_columns_and_types(rows, tmp_path_factory):
    table = pyarrow.table(rows)
    assert (table.num_rows, table.column_names) == (8, rows.columns)
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["scheme"], types["members"], types["mean_ms"]) == ("large_string", "uint64", "double")
    assert table.to_pylist() == rows.to_dicts()
    assert table["bandwidth_kbit_s"].null_count == 8


def test_the_columns_are_those_of_the_csv_file(tmp_path):
    (csv,) = need("pyarrow.csv")
    rows = groupkey.net(scheme="skdc", members=[5, 9], runs=2, progress=False, out=tmp_path)
    written = csv.read_csv(tmp_path / "summary.csv").to_pydict()
    assert list(written) == rows.columns and written["mean_ms"] == rows["mean_ms"]


def test_the_memory_is_shared(rows):
    addresses = {pyarrow.table(rows)["mean_ms"].chunk(0).buffers()[1].address for _ in range(3)}
    assert len(addresses) == 1


def test_the_memory_outlives_the_table():
    table = pyarrow.table(groupkey.net(scheme="skdc", members=5, runs=2, progress=False))
    table.validate(full=True)
    assert table["scheme"].to_pylist() == ["skdc"]


def test_pandas_reads_it(rows):
    need("pandas")
    frame = rows.to_pandas()
    assert list(frame.columns) == rows.columns
    assert frame.groupby("scheme")["mean_ms"].count().to_dict() == {"lkh-group": 4, "skdc": 4}


def test_polars_reads_it(rows):
    need("polars")
    frame = rows.to_polars()
    assert frame.columns == rows.columns and frame.height == 8


def test_duckdb_reads_it(rows):
    (duckdb,) = need("duckdb")
    counted = duckdb.sql("select scheme, count(*) from rows group by scheme order by scheme").fetchall()
    assert counted == [("lkh-group", 4), ("skdc", 4)]


def test_tables_are_put_together_without_a_copy(rows):
    many = groupkey.concat([rows] * 3)
    assert len(many) == 24 and many["members"] == rows["members"] * 3
    table = pyarrow.table(many)
    buffers = [chunk.buffers()[1].address for chunk in table["mean_ms"].chunks]
    assert len(set(buffers)) == 1
    with pytest.raises(ValueError, match="different columns"):
        groupkey.concat([rows, groupkey.schemes()])
    with pytest.raises(ValueError, match="no rows"):
        groupkey.concat([])


def test_an_unknown_column_is_a_key_error(rows):
    with pytest.raises(KeyError, match="mean"):
        rows["mean"]
