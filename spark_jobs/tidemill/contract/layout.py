"""Where everything of one pipeline is under `TIDEMILL_ROOT`."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tidemill.contract.errors import UsageError

PIPELINE_NAME = re.compile(r"[a-z][a-z0-9_]*")
# A suite may be called docs, and its pages are below `validations`.
DOCS_PAGE = re.compile(rf".*/(?!validations/){PIPELINE_NAME.pattern}/docs/(.+)")
# Airflow's limit for run ids; file systems hold a little more.
LONGEST_NAME = 250
FIRST_GENERATION = "live-0001"


def pipeline_holding(path: Path) -> str:
    """The name of the pipeline that a file or folder belongs to.

    Args:
        path: Within `checkpoints`, `table`, `ledger` or `static` of the pipeline's folder.
    """
    parts = ("checkpoints", "table", "ledger", "static")
    homes = (one.parent for one in (path, *path.parents) if one.name in parts)
    return next(homes, path.parent).name


@dataclass(frozen=True)
class Layout:
    """The paths of one pipeline.

    Sink directories begin with an underscore and are inside the table's root: Delta may then name
    their files, and a full VACUUM by anybody leaves held files and `_spark_metadata` alone.

    Args:
        root: `TIDEMILL_ROOT`, an absolute local directory.
        name: The pipeline's name.
    """

    root: Path
    name: str

    def __post_init__(self) -> None:
        if not PIPELINE_NAME.fullmatch(self.name):
            raise UsageError(
                f"'{self.name}' is not a pipeline name.",
                remedy="Use a lower-case letter, then letters, digits and underscores.",
                name=self.name,
            )

    @property
    def home(self) -> Path:
        return self.root / self.name

    @property
    def table(self) -> Path:
        return self.home / "table"

    @property
    def rejected(self) -> Path:
        return self.home / "rejected"

    @property
    def published(self) -> Path:
        """The lists of files that passed, where a pipeline publishes files."""
        return self.home / "published"

    @property
    def increments(self) -> Path:
        return self.home / "increments"

    @property
    def journal(self) -> Path:
        return self.home / "journal"

    @property
    def settled(self) -> Path:
        """The records of settled history, which save runs from reading it."""
        return self.home / "settled"

    @property
    def lease(self) -> Path:
        return self.home / "lease"

    @property
    def generations(self) -> Path:
        """The folder with takeovers and builds of generations."""
        return self.home / "generations"

    @property
    def status(self) -> Path:
        """The status document: for people, never for decisions."""
        return self.home / "status.json"

    @property
    def notices(self) -> Path:
        return self.home / "notices"

    @property
    def runs(self) -> Path:
        return self.home / "runs"

    @property
    def streams(self) -> Path:
        return self.home / "streams"

    @property
    def statics(self) -> Path:
        """Copies of static inputs, as batches read them."""
        return self.home / "static"

    def fetched(self, source: str) -> Path:
        """The documents of what was copied from a source's object store."""
        return self.home / "fetched" / source

    def writer_schemas(self, conn_id: str) -> Path:
        """The schemas that a schema registry gave, by its connection."""
        return self.home / "schemas" / conn_id

    @property
    def docs(self) -> Path:
        return self.home / "docs"

    def docs_page(self, recorded: str) -> Path | None:
        """A page of data docs by its recorded path, wherever root and folder were at the time.

        Returns:
            None where the path is not one of a page.
        """
        found = DOCS_PAGE.fullmatch(recorded)
        return self.docs / found[1] if found else None

    def sink(self, generation: str) -> Path:
        return self.table / f"_{generation}"

    def checkpoint(self, generation: str) -> Path:
        return self.home / "checkpoints" / generation

    def note(self, generation: str) -> Path:
        return self.home / "checkpoints" / f"{generation}.json"

    def fingerprint(self, generation: str) -> Path:
        """The snapshot of the query at the generation's creation."""
        return self.home / "checkpoints" / f"{generation}.plan.json"

    def passed(self, generation: str, hashes: str) -> Path:
        """The record that a generation may continue with another spec or other code."""
        return self.home / "checkpoints" / f"{generation}.plans" / f"{hashes}.json"

    @property
    def snapshots(self) -> Path:
        """The snapshots of checkpoints that people have taken."""
        return self.home / "snapshots"

    @property
    def forks(self) -> Path:
        """Forks of this pipeline under other names, as long as they are not whole."""
        return self.root / ".tidemill" / "forks" / self.name

    def snapshot(self, number: int) -> Path:
        return self.snapshots / f"{number:06d}"

    def ledger(self, generation: str) -> Path:
        return self.home / "ledger" / generation

    def run(self, run_id: str) -> Path:
        """The folder of one run; whatever a run id holds, it stays one path component."""
        component = quote(run_id, safe="+:")
        if component in ("", ".", "..") or len(component) > LONGEST_NAME:
            raise UsageError(
                f"'{run_id}' is not a run id.",
                remedy=f"Give --run-id a name of at most {LONGEST_NAME} characters.",
                run_id=run_id,
            )
        return self.runs / component
