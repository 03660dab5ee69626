"""Reads traces of Perfetto's format into SQLite, in tables like those of its trace_processor.

Just enough of the format for what `pinion trace --perfetto` writes; of the published tables, `track`,
`slice`, `flow` and `counter`, and the function EXTRACT_ARG. So a query means the same here and there.
"""

import sqlite3
import struct

SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Number and value of each field of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise ValueError(f"field {number} of kind {kind}")
        yield number, value


def first(data, number, default=None):
    return next((value for field, value in fields(data) if field == number), default)


class Names:
    """Names that a sequence of packets has given numbers."""

    def __init__(self):
        self.of = {}

    def add(self, entry):
        self.of[first(entry, 1)] = first(entry, 2).decode()


def events(data):
    """Tracks, and the events of a trace in the order of their times; of the same time, of the file."""
    tracks, found, sequences = {}, [], {}
    for _, packet in fields(data):
        parts = {}
        for number, value in fields(packet):
            parts[number] = value
        sequence = sequences.setdefault(parts[10], (Names(), Names()))
        if 12 in parts:
            for number, entry in fields(parts[12]):
                sequence[0 if number == 2 else 1].add(entry)
        if 60 in parts:
            track = dict(fields(parts[60]))
            tracks[track[1]] = (track[2].decode(), track.get(5), 8 in track)
        if 11 in parts:
            found.append((parts[8], parts[11], sequence))
    found.sort(key=lambda event: event[0])
    return tracks, found


def annotation(data, names):
    note = dict(fields(data))
    value = next((note[kind] for kind in (3, 6, 7) if kind in note), None)
    return "debug." + names.of[note[1]], value.decode() if isinstance(value, bytes) else value


class Tables:
    """What a trace comes to, row by row."""

    def __init__(self):
        self.slices, self.flows, self.counters, self.args = [], [], [], {}
        self.open, self.under_way, self.stray_ends = {}, {}, 0

    def event(self, ts, data, sequence):
        one, flows, ends, notes = {}, [], [], {}
        for number, value in fields(data):
            if number == 47:
                flows.append(value)
            elif number == 48:
                ends.append(value)
            elif number == 4:
                key, value = annotation(value, sequence[1])
                notes[key] = value
            else:
                one[number] = value
        kind, track = one[9], one[11]
        if kind == COUNTER:
            self.counters.append((len(self.counters), ts, track, one[30]))
            return
        stack = self.open.setdefault(track, [])
        if kind == SLICE_END:
            number, begun = stack.pop()
            self.slices[number][2] = ts - begun
            return
        number = len(self.slices)
        parent = stack[-1][0] if stack else None
        name = sequence[0].of[one[10]]
        dur = 0 if kind == INSTANT else -1
        self.slices.append([number, ts, dur, track, name, len(stack), parent, number])
        self.args[number] = notes
        if kind == SLICE_BEGIN:
            stack.append((number, ts))
        for flow in flows:
            self.join(flow, number)
            self.under_way[flow] = number
        for flow in ends:
            self.stray_ends += not self.join(flow, number)
            self.under_way.pop(flow, None)

    def join(self, flow, number):
        out = self.under_way.get(flow)
        if out is None:
            return False
        self.flows.append((len(self.flows), out, number))
        return True


def load(data):
    """A connection whose tables hold a trace, and the number of flows that end without a beginning."""
    tracks, found = events(data)
    tables = Tables()
    for ts, event, sequence in found:
        tables.event(ts, event, sequence)
    database = sqlite3.connect(":memory:")
    database.executescript(
        "create table track (id integer primary key, name text, parent_id integer);"
        "create table slice (id integer primary key, ts, dur, track_id, name, depth, parent_id,"
        " arg_set_id);"
        "create table flow (id integer primary key, slice_out, slice_in);"
        "create table counter (id integer primary key, ts, track_id, value);"
        "create index slices on slice (track_id);"
        "create index outs on flow (slice_out);"
    )
    rows = [(uuid, name, parent) for uuid, (name, parent, _) in tracks.items()]
    database.executemany("insert into track values (?, ?, ?)", rows)
    database.executemany("insert into slice values (?, ?, ?, ?, ?, ?, ?, ?)", tables.slices)
    database.executemany("insert into flow values (?, ?, ?)", tables.flows)
    database.executemany("insert into counter values (?, ?, ?, ?)", tables.counters)
    database.create_function("EXTRACT_ARG", 2, lambda of, key: tables.args[of].get(key))
    return database, tables.stray_ends
