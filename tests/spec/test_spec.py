"""The spec's own rules: names, paths, columns and triggers that would lose rows are refused."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.support.spec_text import minimal, parse
from tidemill.contract.errors import SpecError
from tidemill.spec.formats.rules import WITH_DATE
from tidemill.spec.output import Output


def field_refused(text: str) -> str | None:
    with pytest.raises(SpecError) as error:
        parse(text)
    field: str | None = error.value.field
    return field


@pytest.mark.parametrize(
    "path",
    [
        "relative",
        "./here",
        "''",
        "/in/../etc",
        "/in/..",
        "/..",
        '"/in/\\0x"',
        "s3a://bucket/in",
        "file:///in",
        "file:/in",
        "hdfs://host/in",
        "~/in",
    ],
)
def test_a_source_path_that_is_not_plainly_local_is_refused(path: str) -> None:
    assert field_refused(minimal(replace={"/in/orders": path})) == "sources.orders.path"


@pytest.mark.parametrize("path", ["/in/orders", "/in/*/orders", "/in/[ab]?", "/in/a..b", "/in/é b"])
def test_a_local_path_or_glob_is_fine(path: str) -> None:
    assert parse(minimal(replace={"/in/orders": path})).sources["orders"].path == path


@pytest.mark.parametrize("name", ["../etc", "a/b", "/etc", "..", ".", "''", '"a\\0b"'])
@pytest.mark.parametrize("key", ["airflow: {owner: %s}", "spark: {conn_id: %s}"])
def test_a_plain_name_holds_no_path(key: str, name: str) -> None:
    assert field_refused(minimal(key % name + "\n")) in ("airflow.owner", "spark.conn_id")


@pytest.mark.parametrize(
    "settings",
    [
        "executor_config: {password: x}",
        "executor_config: {pod_override: {spec: {}}}",
        "steps: {ingest: {executor_config: {env: 's3://me:hidden@store'}}}",
        "steps: {ingests: {queue: big}}",
        "executor: 'os;system'",
    ],
)
def test_settings_of_tasks_hold_no_secret_no_object_and_no_unknown_step(settings: str) -> None:
    field = field_refused(minimal(f"airflow: {{{settings}}}\n"))
    assert field is not None
    assert field.startswith("airflow.")


@pytest.mark.parametrize(
    "asset",
    ["{name: orders}", "{uri: orders}", "{uri: 's3://é'}", "{uri: 's3://me:hidden@store/x'}"],
)
def test_an_asset_has_a_uri_that_airflow_can_show(asset: str) -> None:
    field = field_refused(minimal(f"assets: {{inlets: [{asset}]}}\n"))
    assert field is not None
    assert field.startswith("assets.inlets.0")


def test_a_steps_setting_goes_before_the_pipelines() -> None:
    steps = "{ingest: {queue: big, pool: night}, gate: {priority_weight: 2}}"
    airflow = parse(minimal(f"airflow: {{queue: small, steps: {steps}}}\n")).airflow
    ingest, gate, doctor = (airflow.of_step(step) for step in ("ingest", "gate", "doctor"))
    assert (ingest.queue, ingest.pool, ingest.priority_weight) == ("big", "night", None)
    assert (gate.queue, gate.pool, gate.priority_weight) == ("small", "tidemill", 2)
    assert doctor == airflow.of_step(None)


@pytest.mark.parametrize("name", ["../retail", "a/b", "Retail", "retail.py", "a b", "''", '"a\\n"'])
@pytest.mark.parametrize(
    ("key", "field"), [("transform: %s", "transform"), ("gate: {suite: %s}", "gate.suite")]
)
def test_transform_and_suite_stay_in_their_folders(key: str, field: str, name: str) -> None:
    assert field_refused(minimal(key % name + "\n")) == field


def test_an_event_time_that_the_source_lacks_is_refused() -> None:
    with pytest.raises(SpecError) as error:
        parse(minimal(replace={"column: at": "column: happened"}))
    assert "happened" in error.value.what
    assert "id, amount, at" in str(error.value.remedy)


@pytest.mark.parametrize("name", ["id", "ID", "Amount"])
def test_a_partition_named_like_a_source_column_is_refused(name: str) -> None:
    # Spark does not tell names apart by case.
    with pytest.raises(SpecError) as error:
        parse(minimal(f"output: {{partition_by: {{{name}: to_date(at)}}}}\n"))
    assert name in error.value.what


def test_partitions_that_differ_in_case_only_are_refused() -> None:
    with pytest.raises(SpecError):
        parse(minimal("output: {partition_by: {day: to_date(at), Day: to_date(at)}}\n"))


@pytest.mark.parametrize(
    "name", ["_rejected", "_Metadata", "_tidemill_day", ".day", "a/b", "a=b", "50%", "a`b"]
)
def test_a_partition_that_readers_of_folders_would_show_otherwise_is_refused(name: str) -> None:
    field = field_refused(minimal(f"output: {{partition_by: {{'{name}': to_date(at)}}}}\n"))
    assert field == f"output.partition_by.{name}"


@pytest.mark.parametrize("name", ["_day", "a-b", "a b", "1st", "é", "DAY", "a.b", "Größe, cm"])
def test_columns_and_partitions_keep_the_names_that_they_come_with(name: str) -> None:
    column = "id string, amount decimal(10,2), at timestamp"
    odd = minimal(
        f"output: {{mode: update, keys: ['{name}'], partition_by: {{'{name} 2': to_date(at)}}}}\n",
        replace={column: f'"`{name}` string, at timestamp"'},
    )
    spec = parse(odd)
    assert spec.sources["orders"].columns == (name, "at")
    assert (spec.output.keys, [*spec.output.partition_by]) == ((name,), [f"{name} 2"])


@pytest.mark.parametrize(
    "schema",
    [
        "id string, _reject string, at timestamp",
        "id string, _Origin string, at timestamp",
        "id string, größe int, at timestamp",
        "id string, a-b int, at timestamp",
        "id string, `a``b` int, at timestamp",
        "_metadata string, at timestamp",
        '"`_corrupt` string, at timestamp"',
    ],
)
def test_columns_that_are_the_engines_or_need_backticks_are_refused(schema: str) -> None:
    text = minimal(replace={"id string, amount decimal(10,2), at timestamp": schema})
    assert field_refused(text) == "sources.orders.schema"


@pytest.mark.parametrize(
    "schema",
    [
        "at timestamp, id string, id int",
        "at timestamp, id string, ID int",
        "at timestamp, id",
        "at timestamp, , id int",
        "at timestamp, tags array<string",
        "at timestamp, `id string",
        "'   '",
    ],
)
def test_a_schema_that_names_columns_badly_is_refused(schema: str) -> None:
    text = minimal(replace={"id string, amount decimal(10,2), at timestamp": schema})
    assert field_refused(text) == "sources.orders.schema"


def test_the_columns_of_a_nested_schema_are_its_top_level_names() -> None:
    schema = '"`a b` int, s struct<x: int, at: string>, m map<string,int>, at timestamp not null"'
    text = minimal(
        replace={
            "id string, amount decimal(10,2), at timestamp": schema,
            "format: csv": "format: json",
        }
    )
    assert parse(text).sources["orders"].columns == ("a b", "s", "m", "at")


@pytest.mark.parametrize(
    "option", ["path", "Schema", "MODE", "columnNameOfCorruptRecord", "cleanSource"]
)
def test_options_that_the_engine_sets_are_refused(option: str) -> None:
    text = minimal(replace={"    format: csv": f"    format: csv\n    options: {{{option}: x}}"})
    assert field_refused(text) == "sources.orders.options." + option


def test_reader_options_are_texts_with_the_specs_own_on_top() -> None:
    options = "{header: false, sep: ';', maxColumns: 1}"
    text = minimal(replace={"    format: csv": f"    format: csv\n    options: {options}"})
    assert parse(text).sources["orders"].reader_options == {
        "header": "false",
        "enforceSchema": "false",
        "escape": '"',
        **WITH_DATE,
        "sep": ";",
        "maxColumns": "1",
    }


def test_a_default_option_is_overridden_whatever_its_case() -> None:
    # Spark's options know no case, so two spellings of one would contradict each other.
    text = minimal(replace={"    format: csv": "    format: csv\n    options: {HEADER: false}"})
    assert parse(text).sources["orders"].reader_options == {
        "HEADER": "false",
        "enforceSchema": "false",
        "escape": '"',
        **WITH_DATE,
    }


def test_an_option_that_is_given_twice_in_different_case_is_refused() -> None:
    options = "{sep: ',', SEP: ';'}"
    text = minimal(replace={"    format: csv": f"    format: csv\n    options: {options}"})
    assert field_refused(text) == "sources.orders.options"


def test_once_with_a_bound_that_spark_ignores_is_refused() -> None:
    bounded = {"    format: csv": "    format: csv\n    maxFilesPerTrigger: 5"}
    with pytest.raises(SpecError) as error:
        parse(minimal("trigger: once\n", replace=bounded))
    assert "maxFilesPerTrigger" in error.value.what
    assert parse(minimal(replace=bounded)).sources["orders"].maxFilesPerTrigger == 5
    assert parse(minimal("trigger: once\n")).trigger == "once"


@pytest.mark.parametrize("zone", ["Nowhere/Land", "", "../etc/passwd", "/etc/localtime", "UTC\\n"])
def test_a_time_zone_that_does_not_exist_is_refused(zone: str) -> None:
    assert field_refused(minimal(f'timezone: "{zone}"\n')) == "timezone"


def test_there_is_at_least_one_target() -> None:
    assert field_refused(minimal("publish: []\n")) == "publish"


@pytest.mark.parametrize("target", ["{kind: oracle}", "{kind: ''}", "delta"])
def test_a_target_that_does_not_exist_is_refused(target: str) -> None:
    assert str(field_refused(minimal(f"publish: [{target}]\n"))).startswith("publish.0")


POSTGRES = "{kind: postgres, conn_id: warehouse, table: orders%s}"
DISAGREEING = {
    "publish: [{kind: delta}, {kind: delta}]": "publish",
    f"publish: [{POSTGRES % ''}, {{kind: delta}}]": "publish",
    "output: {format: json}": "output.format",
    "output: {format: json}\npublish: [{kind: files}, {kind: kafka, topic: t}]": "output.format",
    "output: {mode: update}": "output.keys",
    f"publish: [{POSTGRES % ', mode: upsert'}]": "output.keys",
    f"publish: [{POSTGRES % ', mode: replace'}]": "publish.0.mode",
    "output: {mode: update, keys: [id]}\n"
    f"publish: [{{kind: delta}}, {POSTGRES % ', mode: append'}]": "publish.1.mode",
    f"output: {{mode: complete}}\npublish: [{POSTGRES % ', mode: upsert'}]": "publish.0.mode",
    f"publish: [{POSTGRES % ', schema: s'}, {POSTGRES % ', schema: s'}]": "publish",
    "publish: [{kind: mariadb, conn_id: w, table: Tidemill_Heads}]": "publish.0.table",
    "publish: [{kind: postgres, conn_id: w, table: 'a.b'}]": "publish.0.table",
    "publish: [{kind: postgres, conn_id: w, table: t, unstorable: null}]": "publish.0.unstorable",
    "publish: [{kind: python, target: shelf}]": "publish.0.target",
    "publish: [{kind: kafka}]": "publish.0",
    "publish: [{kind: kafka, topic: a, topic_column: b}]": "publish.0",
    "publish: [{kind: kafka, topic: 'a/b'}]": "publish.0.topic",
    "output: {mode: complete, format: json}": "output.format",
    "output: {mode: update, keys: [id]}\npublish: [{kind: files}]": "publish",
    "sink: {kind: console}\ngate: {samples: 3}": "gate",
    "sink: {kind: console}\npublish: [{kind: delta}]": "publish",
    "sink: {kind: console}\noutput: {partition_by: {day: to_date(at)}}": "output.partition_by",
    "trigger: once\nbudget: {max_batches: 3}": "budget",
    "output: {null_partition: keep}": "output.null_partition",
}


@pytest.mark.parametrize("more", DISAGREEING)
def test_parts_that_do_not_go_together_are_refused(more: str) -> None:
    assert field_refused(minimal(f"{more}\n")) == DISAGREEING[more]


def test_a_mode_update_without_keys_is_pointed_to_the_mode_for_a_total_without_groups() -> None:
    with pytest.raises(SpecError, match="mode complete"):
        parse(minimal("output: {mode: update}\n"))


@pytest.mark.parametrize(
    "more",
    [
        "output: {mode: update, keys: [id]}",
        "output: {mode: complete}",
        "output: {format: orc}\npublish: [{kind: files}]",
        f"publish: [{{kind: delta}}, {POSTGRES % ''}, {{kind: kafka, topic: out}}]",
        "sink: {kind: memory}\noutput: {mode: complete}",
    ],
)
def test_parts_that_go_together_are_fine(more: str) -> None:
    parse(minimal(f"{more}\n"))


@pytest.mark.parametrize(
    "source",
    [
        "{kind: rate}",
        "{kind: rate-micro-batch, rowsPerBatch: 3}",
        "{kind: socket, port: 9999, includeTimestamp: true}",
    ],
)
def test_what_cannot_be_replayed_needs_a_sink(source: str) -> None:
    text = f"sources: {{a: {source}}}\nevent_time: {{column: timestamp}}\n"
    assert field_refused(text) == "sources.a"
    assert not parse(text + "sink: {kind: console}\n").published


TWO = """\
sources:
  orders: {kind: file, format: csv, path: /in/orders, schema: "id string, at timestamp"}
  refunds:
    kind: file
    format: json
    path: /in/refunds
    schema: "id string, booked timestamp"
    event_time: {column: booked}
    row_rules: {id_known: id > ''}
event_time: {column: at}
row_rules: {id_present: id IS NOT NULL}
"""


def test_each_source_may_have_its_own_event_time_and_rules() -> None:
    spec = parse(TWO)
    times = {name: spec.event_time_of(name) for name in spec.sources}
    assert {name: time and time.column for name, time in times.items()} == {
        "orders": "at",
        "refunds": "booked",
    }
    assert list(spec.row_rules_of("orders")) == ["id_present"]
    assert list(spec.row_rules_of("refunds")) == ["id_present", "id_known"]


def test_a_source_that_lacks_the_event_time_of_all_is_named() -> None:
    text = TWO.replace("    event_time: {column: booked}\n", "")
    with pytest.raises(SpecError) as error:
        parse(text)
    assert error.value.field == "sources.refunds.event_time"


def test_partitions_need_no_event_time() -> None:
    text = minimal("output: {partition_by: {day: to_date(at)}}\n")
    spec = parse(text.replace("event_time:\n  column: at\n", ""))
    assert (spec.event_time, spec.output.partition_by) == (None, {"day": "to_date(at)"})


def test_a_spec_names_each_of_its_connections_once() -> None:
    more = (
        f"publish: [{{kind: delta}}, {POSTGRES % ''}, {POSTGRES % ', schema: b'}, "
        "{kind: kafka, topic: t}]\n"
    ).replace("table: orders, schema", "table: more, schema")
    assert parse(minimal(more)).connections == ("warehouse", "tidemill_kafka")


def test_a_sink_without_partitions_gets_one_for_rejected_rows() -> None:
    assert Output().sink_partitions == ("_rejected",)
    assert Output(partition_by={"day": "to_date(at)"}).sink_partitions == ("day",)


def test_a_spec_is_frozen() -> None:
    spec = parse(minimal())
    with pytest.raises(ValidationError):
        spec.timezone = "Europe/London"
    with pytest.raises(ValidationError):
        spec.gate.samples = 3
