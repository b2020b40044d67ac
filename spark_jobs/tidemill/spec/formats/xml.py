"""XML: a row an element. Sources alone; Tidemill writes none."""

from tidemill.spec.formats.rules import WITH_DATE, FormatRules

_WRITING = "it is for writing, and Tidemill writes no xml"

XML = FormatRules(
    name="xml",
    reading=(
        "attributePrefix charset dateFormat encoding excludeAttribute ignoreNamespace "
        "ignoreSurroundingSpaces locale nullValue rowTag timeFormat timeZone timestampFormat "
        "timestampNTZFormat valueTag wildcardColName"
    ),
    inferring="inferSchema preferDate prefersDecimal samplingRatio",
    not_for_reading={
        "multiLine": "an element may always go over lines",
        "rowValidationXSDPath": "rows would depend on a file that no plan knows, and come out "
        "otherwise when a batch is computed again after it changed; judge them with row_rules",
        "singleVariantColumn": "name the columns in schema",
        "useLegacyXMLParser": "the engine has Spark read each row by itself, so that a malformed "
        "one costs no other",
        "arrayElementName": _WRITING,
        "compression": _WRITING,
        "declaration": _WRITING,
        "indent": _WRITING,
        "rootTag": _WRITING,
        "validateName": _WRITING,
    },
    required={"rowTag": "the name of the element that is a row, such as order"},
    # Spark's newer parser makes everything after a row that does not parse one malformed row, with
    # the text of the whole file (4.2).
    reader_defaults={"useLegacyXMLParser": "true", **WITH_DATE},
    malformed_rows=True,
    text_keys=True,
    encodings=True,
)
