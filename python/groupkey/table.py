"""Rows of results, which pandas, polars, DuckDB and pyarrow read without a copy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from groupkey import _groupkey

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Table:
    """Rows with named columns, in Arrow's memory format.

    The columns are those of the command's `summary.csv`. Names end in the unit: `_ms`, `_bytes`, `_percent`. Text is
    `large_string`, whole numbers are `uint64`, other numbers `double`; what a row does not have is null.

    Anything that knows the Arrow PyCapsule interface takes a table: `pyarrow.table(t)`, `polars.DataFrame(t)`,
    `pandas.DataFrame.from_arrow(t)`, and `duckdb.sql("from t")`.

    Attributes:
        kind: What the rows are about: `"network"`, `"bench"`, `"audit"`, `"choice"`, `"trace"`
            or `"schemes"`.
        header: The first line of the results file, if the rows come from one; else `None`.
    """

    kind: str
    header: dict[str, Any] | None

    def __init__(self, rows: _groupkey.Rows, kind: str, header: dict[str, Any] | None = None) -> None:
        self._rows = rows
        self.kind = kind
        self.header = header

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in their order."""
        return self._rows.columns

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, column: str) -> list[Any]:
        """Returns a column's values, as Python objects. Raises `KeyError` if there is no such column."""
        return self._rows.column(column)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Returns the rows, each as a dictionary. For many rows, columns are far quicker."""
        names = self.columns
        values = [self._rows.column(name) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]

    def to_arrow(self) -> pyarrow.Table:
        """Returns a `pyarrow.Table` of the same memory. Needs pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a `pandas.DataFrame`. Needs pandas and pyarrow."""
        import pandas

        from_arrow = getattr(pandas.DataFrame, "from_arrow", None)
        return self.to_arrow().to_pandas() if from_arrow is None else from_arrow(self)

    def to_polars(self) -> polars.DataFrame:
        """Returns a `polars.DataFrame`. Needs polars."""
        import polars

        return polars.DataFrame(self)

    def __arrow_c_schema__(self) -> object:
        return self._rows.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<groupkey.Table of {self.kind}: {len(self)} rows, {len(self.columns)} columns>"


def concat(tables: Iterable[Table]) -> Table:
    """Puts tables of one kind one after the other, without copying rows.

    Raises:
        ValueError: There are none, or their columns differ.
    """
    parts = list(tables)
    rows = _groupkey.Rows.together([part._rows for part in parts])
    return Table(rows, parts[0].kind)
