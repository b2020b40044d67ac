"""XML as feeds write it, cut it short and spell it oddly; a row is an element `row`."""

from __future__ import annotations

ROW = '<row id="{}"><n>{}</n><at>2026-03-01T00:00:00Z</at><who vip="true">Bob</who></row>'
A, B = ROW.format("a", 1), ROW.format("b", 2)

# Name -> the file, and how many rows it has.
WHOLE: dict[str, tuple[str, int]] = {
    "two rows": (f'<?xml version="1.0" encoding="UTF-8"?>\n<rows>\n{A}\n{B}\n</rows>\n', 2),
    "without rows": ("<rows></rows>", 0),
    "rows at several depths": (f"<rows><east>{A}</east><west>{B}</west></rows>", 2),
    "a row within a row": ('<rows><row id="a"><row id="inner"><n>2</n></row></row></rows>', 1),
    "a row as the root": (A, 1),
    "rows in comments": (f"<!-- {B} --><rows><!-- > {B} -->{A}</rows>", 1),
    "a whole row in CDATA": (
        f'<rows><row id="a"><who><![CDATA[<row id="z"></row>]]></who></row>{B}</rows>',
        2,
    ),
    "tags over lines": ('<rows><row\nid="a"\n><n\n>1</n></row><row\tid="b"\t/></rows>', 2),
    "a longer name": (f'<rows><rowx id="a"/>{B}</rows>', 1),
    "a sign within quotes": (f'<rows><row id="a>b"><n>1</n></row>{B}</rows>', 2),
    "an entity of its own": (
        f'<!DOCTYPE rows [<!ENTITY e "E">]><rows><row id="a"><who>&e;</who></row>{B}</rows>',
        2,
    ),
    "values of another type": (f"<rows>{ROW.format('a', 'many')}{B}</rows>", 2),
}
# Well-formed, and yet Spark finds other rows.
MISREAD: dict[str, tuple[str, int]] = {
    "a blank in the last tag": (f'<rows><row id="a"><n>1</n></row >{B}</rows>', 2),
    "an empty element": (f"<rows><row/>{B}</rows>", 2),
    "the last tag in CDATA": (
        f'<rows><row id="a"><who><![CDATA[</row>]]></who></row>{B}</rows>',
        2,
    ),
    "a row in an instruction": (f'<rows><?x <row id="pi"> ?>{A}</rows>', 1),
    "a sign of the end in quotes": (f'<rows><row id="a/>b"><n>2</n></row>{B}</rows>', 2),
    "CDATA between rows": (f"<rows><note><![CDATA[a[0]]]></note>{A}{B}</rows>", 2),
}
TORN: dict[str, str] = {
    "between rows": f"<rows>{A}",
    "within a row": f"<rows>{A}<row id='b'><n>2",
    "within a tag": f"<rows>{A}<ro",
    "behind a malformed row": f"<rows><row><n>1</m></row>{A}",
}
# Name -> the file, and the texts of the rows that are malformed; all others are good.
MALFORMED: dict[str, tuple[str, list[str]]] = {
    "a tag of another name": (f"<rows><row><n>1</m></row>{B}</rows>", ["<row><n>1</m></row>"]),
    "a sign without its code": (
        f"<rows><row><w>A & B</w></row>{B}</rows>",
        ["<row><w>A & B</w></row>"],
    ),
}
