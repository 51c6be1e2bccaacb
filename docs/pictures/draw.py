#!/usr/bin/env python3
"""Draws the pictures of the documentation as SVG files beside this script.

    docs/pictures/draw.py [--dark] [FOLDER]

Python's standard library is enough. Each file follows the reader's colour scheme. With --dark the dark colours are the
default, for renderers that do not know colour schemes. The script ends with an error if a text is wider than its box,
or would be smaller than 11 pixels in a picture that is shown 400 pixels wide.
"""

import sys
from html import escape
from pathlib import Path

LIGHT = {
    "paper": "#ffffff", "ink": "#1b1f24", "faint": "#59636e", "line": "#8c959f", "arrow": "#424a53",
    "band": "#f6f8fa", "plain": "#ffffff", "memory": "#dff3e4", "disk": "#fdebd0", "app": "#dbeafe",
}
DARK = {
    "paper": "#0d1117", "ink": "#f0f3f6", "faint": "#a6afb9", "line": "#6e7681", "arrow": "#c3cad2",
    "band": "#161b22", "plain": "#21262d", "memory": "#12391f", "disk": "#4a2f0b", "app": "#14305c",
}
WIDTH = 720
SMALLEST = 11 * WIDTH / 400
FONT = "-apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"


def width(text, size, bold=False):
    """An upper estimate: DejaVu Sans is among the widest fonts that a reader may have."""
    narrow, wide = "iljt.,:;'|!()[] fr", "mwMW@%"
    em = sum(0.38 if c in narrow else 0.95 if c in wide else 0.66 if c.isupper() else 0.60 for c in text)
    return em * size * (1.08 if bold else 1)


class Picture:
    def __init__(self, title, description):
        self.title, self.description = title, description
        self.parts, self.height = [], 0

    def text(self, x, y, text, size=21, anchor="middle", color="ink", bold=False, room=None):
        assert size >= SMALLEST, f"{self.title}: {text!r} is too small"
        if room is not None:
            assert width(text, size, bold) <= room, f"{self.title}: {text!r} needs {width(text, size, bold):.0f}"
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" class="{color}"{weight}>'
            f"{escape(text)}</text>")
        self.height = max(self.height, y)

    def box(self, x, y, w, h, kind="plain"):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="8" class="box {kind}"/>')
        self.height = max(self.height, y + h)

    def card(self, x, y, w, title, lines=(), kind="plain"):
        """A box with a bold line and others below it. Returns its height."""
        h = 44 + 28 * len(lines)
        self.box(x, y, w, h, kind)
        self.text(x + w / 2, y + 30, title, 22, bold=True, room=w - 16)
        for number, line in enumerate(lines):
            self.text(x + w / 2, y + 58 + 28 * number, line, 20.5, room=w - 16)
        return h

    def arrow(self, *points, dashed=False):
        path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        dash = ' stroke-dasharray="7 6"' if dashed else ""
        self.parts.append(f'<path d="{path}" class="arrow" marker-end="url(#head)"{dash}/>')

    def rule(self, x1, y1, x2, y2):
        self.parts.append(f'<path d="M{x1:g} {y1:g} L{x2:g} {y2:g}" class="rule"/>')

    def save(self, file, dark):
        def style(colors):
            return (
                f".paper{{fill:{colors['paper']}}}.ink{{fill:{colors['ink']}}}.faint{{fill:{colors['faint']}}}"
                f".box{{stroke:{colors['line']};stroke-width:1.5}}"
                f".arrow{{stroke:{colors['arrow']};stroke-width:2.5;fill:none}}.head{{fill:{colors['arrow']}}}"
                f".rule{{stroke:{colors['line']};stroke-width:2;fill:none}}"
                + "".join(f".{kind}{{fill:{colors[kind]}}}" for kind in ("band", "plain", "memory", "disk", "app")))
        height = self.height + 20
        first, second = (DARK, DARK) if dark else (LIGHT, DARK)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}"'
            f' role="img" font-family="{FONT}">',
            f"<title>{escape(self.title)}</title>", f"<desc>{escape(self.description)}</desc>",
            f"<style>{style(first)}@media (prefers-color-scheme:dark){{{style(second)}}}</style>",
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="5" markerHeight="5"'
            ' orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z" class="head"/></marker></defs>',
            f'<rect width="{WIDTH}" height="{height:g}" rx="10" class="paper"/>', *self.parts, "</svg>", ""]
        file.write_text("\n".join(lines), encoding="utf-8")


def layers():
    picture = Picture("The layers of Dugout", "Five bands of modules. A module imports only modules below it.")
    bands = [
        ("Programs", "the command line", [["dugout"]]),
        ("Layers", "objects and lists over Firestore",
         [["Ballcap", "Pring", "StreamBaseKit"], ["BallcapFields", "LayerKit"]]),
        ("API", "the calls of Firestore and Storage",
         [["FirebaseFirestore", "FirebaseStorage"], ["FirebaseAuth"], ["FirebaseCore"]]),
        ("Sync", "pending writes and a remote", [["OfflineSync", "ObjectSync"]]),
        ("Engine", "data that survives a crash",
         [["ObjectStore"], ["DocumentStore"], ["StoreTools"], ["ByteStore"],
          ["CLZ4, CPortableLZ4, CDigest"], ["CFileSystem, CSanitizer, Libc"]]),
    ]
    y = 20
    for name, purpose, rows in bands:
        h = 46 + 52 * len(rows)
        picture.box(20, y, 632, h, "band")
        picture.text(36, y + 30, name, 23, "start", bold=True)
        picture.text(636, y + 30, purpose, 20.5, "end", "faint", room=480)
        for number, row in enumerate(rows):
            w = (632 - 24 - 12 * (len(row) - 1)) / len(row)
            for column, module in enumerate(row):
                x = 32 + column * (w + 12)
                top = y + 44 + 52 * number
                muted = module.startswith("C")
                picture.box(x, top, w, 42, "plain")
                picture.text(x + w / 2, top + 28, module, 20.5 if muted else 21.5, color="faint" if muted else "ink",
                             room=w - 12)
        y += h + 14
    picture.arrow((686, 30), (686, y - 24))
    middle = (y + 10) / 2
    picture.parts.append(
        f'<rect x="670" y="{middle - 78:g}" width="32" height="156" class="paper"/>'
        f'<text x="0" y="0" font-size="21" text-anchor="middle" class="faint"'
        f' transform="translate(680 {middle:g}) rotate(90)">imports</text>')
    return picture


def steps(picture, items, x, w, y):
    """Cards below each other with arrows between them. Returns the middle of each card."""
    middles = []
    for number, (title, lines, kind) in enumerate(items):
        if number:
            picture.arrow((x + w / 2, y - 28), (x + w / 2, y - 2))
        h = picture.card(x, y, w, title, lines, kind)
        middles.append(y + h / 2)
        y += h + 30
    return middles


def write():
    picture = Picture(
        "The path of a write",
        "A call becomes a batch, a commit, a frame of the write-ahead log, and after the sync a published state.")
    items = [
        ("your app", ["setData, update, batch, …"], "app"),
        ("FirebaseFirestore", ["encode the values,", "queue the batch, return"], "plain"),
        ("DocumentStore", ["check limits and preconditions,", "apply the mutations,", "encode the records"], "plain"),
        ("ByteStore", ["join a commit group; the leader", "appends it to the WAL and syncs"], "plain"),
        ("publish", ["key directory and indexes change:", "readers see the commit"], "plain"),
        ("notify and acknowledge", ["listeners, then the completion", "or the await of the writer"], "app"),
    ]
    x, w = 20, 420
    middles = steps(picture, items, x, w, 20)
    right, rw = 510, 190
    wal = middles[3] - 50
    picture.card(right, wal, rw, "WAL", ["one frame per", "commit"], "disk")
    picture.arrow((x + w + 2, middles[3]), (right - 3, middles[3]))
    picture.card(right, middles[4] - 50, rw, "memtable", ["bodies of the", "frames"], "memory")
    picture.arrow((x + w + 2, middles[4]), (right - 3, middles[4]))
    legend(picture, right + 6, 52)
    return picture


def legend(picture, x, y):
    for number, (kind, name) in enumerate([("app", "your code"), ("memory", "memory"), ("disk", "disk")]):
        top = y + 36 * number
        picture.box(x, top - 18, 26, 24, kind)
        picture.text(x + 38, top + 2, name, 20.5, "start", "faint")


def read():
    picture = Picture(
        "The path of a read",
        "A path or an index entry leads through the key directory to the memtable or to a segment, and to a record.")
    picture.card(20, 20, 320, "get", ["hash the key of the path"], "app")
    picture.card(380, 20, 320, "query", ["plan, then scan an index", "tree: entries have ordinals"], "app")
    picture.arrow((180, 94), (180, 158))
    picture.arrow((540, 122), (540, 158))
    picture.card(20, 160, 680, "key directory",
                 ["ordinal to location, in a snapshot that commits do not change"], "memory")
    picture.arrow((180, 234), (180, 276))
    picture.arrow((540, 234), (540, 276))
    picture.text(196, 262, "not flushed yet", 20.5, "start", "faint")
    picture.text(556, 262, "flushed", 20.5, "start", "faint")
    picture.card(20, 278, 320, "memtable", ["the record as it", "was committed"], "memory")
    picture.card(380, 278, 320, "segment", ["page from the cache or file,", "checksum verified", "when it is read"], "disk")
    picture.arrow((540, 408), (540, 438))
    picture.card(380, 440, 320, "decompress", ["one entry, against the", "segment's dictionary"], "plain")
    picture.arrow((180, 380), (180, 574))
    picture.arrow((540, 542), (540, 574))
    picture.card(20, 576, 680, "record", ["a decoder reads only the fields that the caller asks for"], "app")
    return picture


def flush():
    picture = Picture(
        "The path of a flush",
        "Live puts of the memtable and live entries of compaction inputs become new segments, then a checkpoint, then a "
        "manifest; only then old files are deleted.")
    picture.card(20, 20, 680, "1. pin a snapshot and rotate the WAL", ["later commits go to the new log file"], "plain")
    picture.arrow((180, 94), (180, 132))
    picture.arrow((540, 94), (540, 132))
    picture.card(20, 134, 320, "memtable", ["puts that are still live"], "memory")
    picture.card(380, 134, 320, "compaction inputs", ["live entries of segments", "with a high garbage ratio"], "disk")
    picture.arrow((180, 208), (180, 284))
    picture.arrow((540, 236), (540, 284))
    picture.card(20, 286, 680, "2. new segments", ["sorted by key, compressed, synced, read back"], "disk")
    picture.arrow((360, 360), (360, 392))
    picture.card(20, 394, 680, "3. new checkpoint", ["key directory and index trees, synced, read back"], "disk")
    picture.arrow((360, 468), (360, 500))
    picture.card(20, 502, 680, "4. new manifest", ["a rename replaces the old one: from here on,", "a crash finds the new state"], "disk")
    picture.arrow((360, 604), (360, 636))
    picture.card(20, 638, 680, "5. new locations in the key directory", ["a key that changed meanwhile keeps its location"], "memory")
    picture.arrow((360, 712), (360, 744))
    picture.card(20, 746, 680, "6. delete", ["old WAL files, compaction inputs, old checkpoint"], "disk")
    return picture


def sync():
    picture = Picture(
        "A sync round trip",
        "A write is visible at once as pending, goes from the outbox to the remote, and loses its pending mark when the "
        "watch stream delivers the document.")
    app, here, remote = 100, 360, 630
    for x, title, line, kind in [(app, "app", "listener", "app"), (here, "database", "view, outbox", "plain"),
                                 (remote, "remote", "authority", "plain")]:
        picture.card(x - 85, 20, 170, title, [line], kind)
    messages = [
        (app, here, ["setData"]),
        (here, app, ["new value with", "hasPendingWrites"]),
        (here, remote, ["write from", "the outbox"]),
        (remote, here, ["result: version", "or rejection"]),
        (here, app, ["completion"]),
        (remote, here, ["watch stream:", "document"]),
        (here, app, ["same value,", "no longer pending"]),
    ]
    y, top = 92, len(picture.parts)
    for start, end, lines in messages:
        y += 28 * len(lines) + 30
        for number, line in enumerate(lines):
            picture.text((start + end) / 2, y - 12 - 28 * (len(lines) - 1 - number), line, 20.5, room=abs(end - start) - 14)
        gap = 4 if end > start else -4
        picture.arrow((start, y), (end - gap, y))
    y += 34
    lifelines = [f'<path d="M{x} 92 L{x} {y:g}" class="rule" stroke-dasharray="3 5"/>' for x in (app, here, remote)]
    picture.parts[top:top] = lifelines
    picture.height = y
    y += 34
    picture.text(360, y, "Offline, the outbox keeps its writes in order and", 20.5, color="faint", room=690)
    picture.text(360, y + 28, "sends them when the remote can be reached again.", 20.5, color="faint", room=690)
    return picture


def main():
    arguments = [a for a in sys.argv[1:] if a != "--dark"]
    folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parent
    for name, picture in [("layers", layers()), ("write", write()), ("read", read()), ("flush", flush()), ("sync", sync())]:
        picture.save(folder / f"{name}.svg", "--dark" in sys.argv)


main()
