#!/usr/bin/env python3
"""Records what a real Apache Cassandra answers about tables: fixtures for recorded_schema_test.cc.

record.py CQL_CLIENT_DIRECTORY HOST PORT < STATEMENTS > RECORD

CQL_CLIENT_DIRECTORY is tests/cassandra, whose cql_client.py is used. STATEMENTS is what
replicate_schema_test writes when CISTERN_SCHEMA_STATEMENTS names a file:

  case NAME            begins a case; its table has this name, in the keyspace plant
  run STATEMENT        line breaks as \\n, a backslash as \\\\
  ask                  takes down the five answers about the table

RECORD repeats these lines. Before all of them stand the columns of each answer, and behind each
`ask` its rows, a word for each cell: hex digits, '.' for an empty value, '-' for null.

  column ANSWER NAME TYPE
  row ANSWER CELL...
"""
import re
import struct
import sys

QUERIES = {
    'keyspaces': "keyspaces WHERE keyspace_name = 'plant'",
    'types': "types WHERE keyspace_name = 'plant'",
    'tables': "tables WHERE keyspace_name = 'plant' AND table_name = '{}'",
    'columns': "columns WHERE keyspace_name = 'plant' AND table_name = '{}'",
    'dropped_columns': "dropped_columns WHERE keyspace_name = 'plant' AND table_name = '{}'",
    'views': "views WHERE keyspace_name = 'plant' AND view_name = '{}'",
}
SCALARS = {0x01: 'ascii', 0x02: 'bigint', 0x03: 'blob', 0x04: 'boolean', 0x07: 'double',
           0x08: 'float', 0x09: 'int', 0x0B: 'timestamp', 0x0C: 'uuid', 0x0D: 'text'}
COLLECTIONS = {0x20: 'list', 0x21: 'map', 0x22: 'set'}
QUERY, RESULT, ROWS, GLOBAL_SPEC, CONSISTENCY_ONE = 0x07, 0x08, 2, 1, 1


def type_name(option):
    code, arguments = option
    if code in COLLECTIONS:
        return COLLECTIONS[code] + '<' + ', '.join(type_name(a) for a in arguments) + '>'
    return SCALARS[code]


def ask(client, query):
    """(columns, rows) with cells as they came."""
    text = query.encode()
    body = struct.pack('>i', len(text)) + text + struct.pack('>HB', CONSISTENCY_ONE, 0)
    opcode, reader = client.request(QUERY, body)
    if opcode != RESULT or reader.number('i') != ROWS:
        return [], []
    if reader.number('i') != GLOBAL_SPEC:
        sys.exit('more than one page, or no common table')
    count = reader.number('i')
    reader.string(), reader.string()
    columns = [(reader.string(), type_name(reader.option())) for _ in range(count)]
    rows = [[reader.bytes() for _ in columns] for _ in range(reader.number('i'))]
    return columns, rows


def cell_word(cell):
    if cell is None:
        return '-'
    return cell.hex() or '.'


def main():
    sys.path.insert(0, sys.argv[1])
    from cql_client import CqlClient
    with CqlClient(sys.argv[2], int(sys.argv[3])) as client:
        version = ask(client, 'SELECT release_version FROM system.local')[1][0][0].decode()
        print(f'# Recorded by record.py from Apache Cassandra {version}.')
        for answer, query in QUERIES.items():
            for name, kind in ask(client, 'SELECT * FROM system_schema.' + query.format(''))[0]:
                print(f'column {answer} {name} {kind}')
        client.query('DROP KEYSPACE IF EXISTS plant')
        table = None
        for line in sys.stdin:
            line = line.rstrip('\n')
            print(line)
            word, _, rest = line.partition(' ')
            if word == 'case':
                table = rest
            elif word == 'run':
                client.query(re.sub(r'\\(.)', lambda m: '\n' if m[1] == 'n' else m[1], rest))
            elif word == 'ask':
                for answer, query in QUERIES.items():
                    query = 'SELECT * FROM system_schema.' + query.format(table)
                    for row in ask(client, query)[1]:
                        print('row', answer, *map(cell_word, row))


if __name__ == '__main__':
    main()
