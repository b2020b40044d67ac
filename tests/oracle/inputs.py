"""What the histories of the shipped pipelines are made of: rows, times, static tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from tests.oracle.pipeline_inputs import Kind, Minute, Rows, as_json

Values = st.SearchStrategy[Any]
DAY = 24 * 60


def among_texts(*texts: str) -> Values:
    return st.sampled_from(texts)


def minutes(span: int, pace: int = 1) -> Values:
    """Times of a round, in steps of some minutes, so that windows' ends and bounds are met."""
    return st.integers(0, span // pace).map(lambda number: Minute(number * pace))


def rows(times: Values, bad: Sequence[Any] = (), time: str = "at", **columns: Values) -> Rows:
    """Rows of some columns beside the time; one in five is torn or breaks a rule."""
    good = st.fixed_dictionaries({time: times, **columns})
    worse: Values = st.sampled_from(["{torn", {time: None}, {time: Minute(0)}, *bad])
    return lambda _: st.one_of(good, good, good, good, worse)


WORDS = among_texts("tide", "mill", "Tide  mill")
NUMBERS = st.integers(0, 3000).map(lambda number: f"{number / 100:.2f}")

LINES = Kind(rows(minutes(30), text=WORDS), ["lines"], late={"text": "late"})

REPORTS = Kind(
    rows(
        minutes(30),
        [{"at": Minute(1), "device": "a", "type": "pump", "signal": "many"}],
        device=among_texts("a", "b"),
        type=among_texts("pump", "gate"),
        signal=NUMBERS,
    ),
    ["reports"],
)
READINGS = Kind(
    rows(
        minutes(30),
        [{"at": Minute(1), "sensor": "s", "value": "hot"}],
        sensor=among_texts("s", "t"),
        value=NUMBERS,
        error_code=st.none() | among_texts("E1", "E2"),
    ),
    ["readings"],
    late={"sensor": "s", "value": "1.00", "error_code": None},
)
ADS = Kind(
    # A click often comes an hour after its impression to the minute: the bound itself.
    rows(minutes(180, pace=20), ad=among_texts("a", "b"), campaign=among_texts("spring")),
    ["impressions", "clicks"],
    step=60,
    span=180,
    late={"ad": "z", "campaign": "spring"},
)


def with_ids(events: Sequence[Any]) -> list[str]:
    """Events whose copies have times within half an hour, as those of such a feed do."""
    return as_json(
        [
            {**event, "id": f"{event['id']}-{event['at'][:14]}{event['at'][14] >= '3'}"}
            if isinstance(event, dict) and event.get("id") and event.get("at")
            else event
            for event in events
        ]
    )


def table(path: str, header: str, *lines: Values) -> tuple[dict[str, tuple[str, ...]], Values]:
    """A static table of one file: as it is at first, empty, and how it changes."""
    changed = st.tuples(st.just(path), st.tuples(st.just(header), *lines))
    return {path: (header,)}, changed


CUSTOMERS, OTHER_CUSTOMERS = table(
    "customer_hours/customers/c.csv",
    "customer_id,name",
    among_texts("1,Ada", "1,Alan"),
    among_texts("2,Bo", "4,Di"),
)
IMPRESSIONS, OTHER_IMPRESSIONS = table(
    "click_revenue/impressions/i.csv",
    "ad,campaign,price",
    among_texts("a,spring,1.50", "a,spring,1.75"),
    among_texts("b,spring,2.00", "c,autumn,0.99"),
)

INVOICE = "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country"
HEADER = INVOICE.split(",")


def as_invoices(lines: Sequence[Any]) -> list[str]:
    """Invoice lines as CSV, with the time as the shop writes it."""
    return [INVOICE, *(line if isinstance(line, str) else _invoice(line) for line in lines)]


def _invoice(line: dict[str, Any]) -> str:
    said = {name: line.get(name) or "" for name in HEADER}
    if said["InvoiceDate"]:
        said["InvoiceDate"] = f"{datetime.fromisoformat(said['InvoiceDate']):%Y-%m-%d %H:%M:%S}"
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(said.values())
    return text.getvalue()


def _sessions() -> Kind:
    # A session ends half an hour after its last action: some times are just so far apart.
    often = among_texts("login_failed", "login_failed", "login", "view")
    unknown = {"at": Minute(2), "user": "bo", "action": "fly"}
    of_users = rows(minutes(60, pace=5), [unknown], user=among_texts("ada", "bo"), action=often)
    late = {"user": "ada", "action": "view"}
    return Kind(of_users, ["actions"], step=20, span=60, late=late)


def _phones() -> Kind:
    felt = st.floats(-20, 20, allow_nan=False, width=64)
    bad = {"Arrival_Time": Minute(3), "gt": "fly", "reading": {"x": 1.0, "y": 1.0, "z": 1.0}}
    hollow = {**bad, "gt": "walk", "reading": {"x": 1.0, "y": None, "z": 2.0}}
    wrong = {**bad, "gt": "walk", "reading": {"x": "up", "y": 1.0, "z": 2.0}}
    phone = {"model": among_texts("nexus4"), "device": among_texts("nexus4_1", "nexus4_2")}
    readings = rows(
        minutes(30),
        [bad, hollow, wrong],
        time="Arrival_Time",
        Index=st.integers(0, 999),
        Creation_Time=st.integers(1_424_696_633_908_040_572, 1_424_696_633_999_999_999),
        User=among_texts("a", "b"),
        gt=among_texts("sit", "walk", "null"),
        phone=st.fixed_dictionaries(phone),
        reading=st.fixed_dictionaries({"x": felt, "y": felt, "z": felt}),
        tags=st.lists(among_texts("lab", "street"), max_size=2),
    )
    return Kind(readings, ["readings"], time="Arrival_Time")


def _invoices() -> Kind:
    torn = "536365,85123A,TORN,many,2026-03-01 08:26:00,2.55,,EIRE"
    below = {"InvoiceDate": Minute(1), "InvoiceNo": "A5", "Quantity": "1", "Country": "EIRE"}
    bad = [
        torn,
        {"InvoiceNo": "1"},
        below,
        {**below, "UnitPrice": "-1.00"},
        {**below, "Quantity": ""},
    ]
    good = st.fixed_dictionaries(
        {
            "InvoiceDate": minutes(2 * DAY, pace=180),
            "InvoiceNo": among_texts("536365", "536366", "C536367", "C536368"),
            "StockCode": among_texts("85123A", "22423"),
            "Description": among_texts('CAKESTAND "3 TIER"', "GLASS STAR, FROSTED"),
            "Quantity": st.integers(-9, 9).map(str),
            "UnitPrice": among_texts("2.55", "12.75", "0.375"),
            "CustomerID": among_texts("17850.0", ""),
            "Country": among_texts("EIRE", "France"),
        }
    )
    worse: Values = st.sampled_from(bad)
    return Kind(
        lambda _: st.one_of(good, good, good, good, worse),
        ["invoices"],
        step=DAY,
        span=2 * DAY,
        time="InvoiceDate",
        lines=as_invoices,
    )


SESSIONS, PHONES, INVOICES = _sessions(), _phones(), _invoices()
EVENTS = Kind(
    rows(minutes(120, pace=10), id=among_texts("a", "b"), kind=among_texts("k")),
    ["events"],
    step=45,
    span=120,
    late={"id": "z", "kind": "k"},
    lines=with_ids,
)
ACTIONS = Kind(
    rows(minutes(180, pace=15), customer_id=among_texts("1", "2", "3"), action=among_texts("buy")),
    ["actions"],
    step=60,
    span=180,
    late={"customer_id": "1", "action": "buy"},
    statics=CUSTOMERS,
    changes=OTHER_CUSTOMERS,
)
CLICKS = Kind(
    rows(minutes(30), click=among_texts("1", "2", "3"), ad=among_texts("a", "b", "c")),
    ["clicks"],
    statics=IMPRESSIONS,
    changes=OTHER_IMPRESSIONS,
)
