"""Sums of all numbers in rows.jsonl and rows.csv of a folder, as pandas and DuckDB see them.

Argument: the folder, which has the JSON Schema of a line, too. Before anything else, every line must be as the schema
says, and no line with a field too many, too few or of another type may be.
"""

import json
import sys
from pathlib import Path

import duckdb
import jsonschema
import pandas

folder = Path(sys.argv[1])


def validate(lines):
    schema = json.loads((folder / "schema.json").read_text())
    validator = jsonschema.Draft202012Validator
    validator.check_schema(schema)
    header, row = json.loads(lines[0]), json.loads(lines[1])
    kinds = {"groupkey-bench": ("BenchHeader", "BenchRow"), "groupkey-results": ("ResultsHeader", "NetworkRow")}
    of_header, of_row = (
        validator({"$ref": f"#/$defs/{kind}", "$defs": schema["$defs"]}) for kind in kinds[header["format"]]
    )
    of_any = validator(schema)
    of_header.validate(header)
    for line in lines:
        of_any.validate(json.loads(line))
    for line in lines[1:]:
        of_row.validate(json.loads(line))
    assert not of_header.is_valid({**header, "version": header["version"] + 1}), "another version passes"
    assert not of_header.is_valid(row) and not of_row.is_valid(header), "one kind passes for the other"
    for field in ("scheme", "members", "wire_bytes"):
        assert not of_row.is_valid({k: v for k, v in row.items() if k != field}), f"{field} may be missing"
        assert not of_row.is_valid({**row, field: [row[field]]}), f"{field} may be a list"
    known = {**schema["$defs"][kinds[header["format"]][1]]["properties"]}
    assert set(row) <= set(known), f"not in the schema: {set(row) - set(known)}"


def sums(frame):
    numbers = frame.select_dtypes("number")
    return {"rows": len(frame), **{name: float(numbers[name].sum()) for name in numbers}}


def flat(rows):
    frame = pandas.json_normalize(rows, sep="_")
    return frame.rename(columns=lambda name: name.replace("-", "_"))


def duckdb_sums(relation):
    """Sums in SQL: structs are unnested into columns named as in the CSV."""
    columns = []
    for name, kind in zip(relation.columns, relation.types):
        columns += paths([name], kind)
    picked = [f"sum({path})::DOUBLE AS \"{name}\"" for name, path in columns]
    row = relation.aggregate("count(*)::DOUBLE AS rows, " + ", ".join(picked))
    return dict(zip(row.columns, row.fetchall()[0]))


def paths(names, kind):
    if kind.id == "struct":
        return [pair for name, child in kind.children for pair in paths([*names, name], child)]
    if kind.id in ("bigint", "ubigint", "hugeint", "double", "integer", "uinteger"):
        return [("_".join(names).replace("-", "_"), ".".join(f'"{name}"' for name in names))]
    return []


lines = (folder / "rows.jsonl").read_text().splitlines()
validate(lines)
files = {kind: str(folder / f"rows.{kind}") for kind in ("jsonl", "csv")}
scheme = "scheme IS NOT NULL"  # the header is a line of other fields
json.dump(
    {
        "pandas": {
            "jsonl": sums(flat([json.loads(line) for line in lines[1:]])),
            "csv": sums(pandas.read_csv(files["csv"])),
        },
        "duckdb": {
            "jsonl": duckdb_sums(duckdb.read_json(files["jsonl"], format="newline_delimited").filter(scheme)),
            "csv": duckdb_sums(duckdb.read_csv(files["csv"])),
        },
    },
    sys.stdout,
)
