#!/usr/bin/env python3
"""Print SQL that loads the Bloom filters of a column of Parquet files into a table.

    python3 parquet_filters.py url *.parquet | psql

The table file_filters gets a row for each file and row group.  Where a row group has no filter,
f is NULL.  The column is one of the topmost level.  Needs Python alone.
"""
import io
import os
import struct
import sys

# Parquet's physical types that have a form of their own, and what else decides on the form
PHYSICAL = {1: "int4", 2: "int8", 3: "bytea", 4: "float4", 5: "float8", 6: "bytea", 7: "bytea"}
STRING, DECIMAL, DATE, TIMESTAMP, UUID = 1, 5, 6, 8, 14
MICROSECONDS = 2


def varint(file):
    """Read an unsigned number, seven bits a byte."""
    value = shift = 0
    while True:
        byte = file.read(1)[0]
        value |= (byte & 127) << shift
        if byte < 128:
            return value
        shift += 7


def signed(file):
    value = varint(file)
    return value >> 1 ^ -(value & 1)


def thrift(file, kind=12):
    """Read a value of Thrift's compact protocol; a struct is a dictionary of its fields."""
    if kind in (1, 2):
        return kind == 1
    if kind in (4, 5, 6):
        return signed(file)
    if kind == 3:
        return file.read(1)[0]
    if kind == 7:
        return struct.unpack("<d", file.read(8))[0]
    if kind == 8:
        return file.read(varint(file))
    if kind in (9, 10):
        head = file.read(1)[0]
        size = head >> 4 if head >> 4 < 15 else varint(file)
        # in a list, a boolean has a byte of its own
        return [thrift(file, 3 if head & 15 <= 2 else head & 15) for _ in range(size)]
    if kind != 12:
        raise ValueError(f"unexpected type {kind}")
    fields, number = {}, 0
    while head := file.read(1)[0]:
        number = number + (head >> 4) if head >> 4 else signed(file)
        fields[number] = thrift(file, head & 15)
    return fields


def footer(file):
    file.seek(-8, os.SEEK_END)
    size, magic = struct.unpack("<I4s", file.read(8))
    if magic != b"PAR1":
        raise ValueError("no Parquet file")
    file.seek(-8 - size, os.SEEK_END)
    return thrift(io.BytesIO(file.read(size)))


def form(schema):
    """Return the form of a column's elements, as docs/foreign.md names them."""
    converted, logical = schema.get(6), schema.get(10, {})
    if STRING in logical or converted == 0:
        return "text"
    if UUID in logical:
        return "uuid"
    if DATE in logical or converted == 6:
        return "date"
    if DECIMAL in logical and schema[1] != 6:
        return f"numeric({logical[DECIMAL][2]},{logical[DECIMAL][1]})"
    if TIMESTAMP in logical and MICROSECONDS in logical[TIMESTAMP][2]:
        return "timestamptz" if logical[TIMESTAMP][1] else "timestamp"
    return PHYSICAL[schema[1]]


def filters(file, column):
    """Yield of each row group the filter's bytes, or None, and the form of its elements."""
    meta = footer(file)
    schemas = {s[4].decode(): s for s in meta[2]}
    for group in meta[4]:
        for chunk in (c[3] for c in group[1]):
            if b".".join(chunk[3]).decode() != column:
                continue
            schema = schemas[chunk[3][-1].decode()]
            if 14 not in chunk:
                yield None, form(schema)
                continue
            file.seek(chunk[14])
            size = chunk.get(15)
            if size is None:        # older writers: the header tells the number of bytes that follow
                size = thrift(file)[1] + file.tell() - chunk[14]
                file.seek(chunk[14])
            yield file.read(size), form(schema)


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    print("CREATE TABLE IF NOT EXISTS file_filters (file text, row_group int, f bloom, PRIMARY KEY (file, row_group));")
    for path in sys.argv[2:]:
        with open(path, "rb") as parquet:
            for number, (data, element) in enumerate(filters(parquet, sys.argv[1])):
                value = f"bloom_import('\\x{data.hex()}', 'parquet', '{element}')" if data else "NULL"
                print(f"INSERT INTO file_filters VALUES ({quoted(os.path.basename(path))}, {number}, {value});")
