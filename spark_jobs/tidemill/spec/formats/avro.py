"""Avro, for which Spark needs a jar of its own."""

from tidemill.spec.formats.rules import FormatRules, RejectForm

AVRO = FormatRules(
    name="avro",
    shared="avroSchema avroSchemaUrl positionalFieldMatching",
    reading=(
        "datetimeRebaseMode enableStableIdentifiersForUnionType ignoreExtension "
        "recursiveFieldMaxDepth stableIdentifierPrefixForUnionType"
    ),
    writing="compression recordName recordNamespace",
    self_describing=True,
    rejects=RejectForm.JSON,
    jars="avro",
)
