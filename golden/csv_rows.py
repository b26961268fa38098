"""Tables in CSV files beside the modules that read them, checked line by line."""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

from cyclebound.golden.user_files import lines_of, parsing

__all__ = ["read_rows"]


def read_rows(path: Path, columns: Mapping[str, Callable[[str], object]]) -> list[dict]:
    """The rows of a CSV file whose head names exactly these columns, each value converted.

    Raises `ValueError` with file and line for a column or a value that is not as it must be.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file, parsing(path):
            reader = csv.reader(lines_of(file, path), strict=True)
            head = next(reader, None)
            if head != [*columns]:
                raise ValueError(f"columns must be {', '.join(columns)}, not {head}")
            rows = []
            for cells in reader:
                if len(cells) != len(columns):
                    raise ValueError(f"line {reader.line_num}: must have {len(columns)} values, "
                                     f"not {len(cells)}")
                rows.append(_converted(columns, cells, reader.line_num))
            return rows
    except (OSError, ValueError, csv.Error) as error:
        raise ValueError(f"{path}: {error}") from error


def _converted(columns: Mapping[str, Callable[[str], object]], cells: list[str],
               line: int) -> dict[str, object]:
    row = {}
    for (name, convert), cell in zip(columns.items(), cells, strict=True):
        try:
            row[name] = convert(cell)
        except ValueError:
            raise ValueError(f"line {line}: {name} cannot be {cell[:40]!r}") from None
    return row
