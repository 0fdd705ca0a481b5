"""Reads a store into a table of pyarrow, without a copy of what Arrow lays out in the same way.

    read_arrow.py LIBRARY STORE SENSOR FROM_MS TO_MS     LIBRARY is examples/arrow.cc, built
"""

import ctypes
import sys

import pyarrow


# docs begin
def read_readings(library, store, sensor, from_ms, to_ms):
    stream = ctypes.create_string_buffer(5 * ctypes.sizeof(ctypes.c_void_p))  # ArrowArrayStream
    if library.stream_readings(store.encode(), sensor.encode(), ctypes.c_int64(from_ms),
                               ctypes.c_int64(to_ms), stream) != 0:
        raise RuntimeError("the store cannot be read")
    reader = pyarrow.RecordBatchReader._import_from_c(ctypes.addressof(stream))
    return reader.read_all()
# docs end


if __name__ == "__main__":
    path, store, sensor, from_ms, to_ms = sys.argv[1:]
    table = read_readings(ctypes.CDLL(path), store, sensor, int(from_ms), int(to_ms))
    print(table.schema.to_string(show_field_metadata=False, show_schema_metadata=False))
    for row in table.to_pylist():
        print(row)
