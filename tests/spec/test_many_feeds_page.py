"""The blocks of the page on many feeds are a project, and it is what the page says."""

from __future__ import annotations

import re
from pathlib import Path

from tidemill.contract.project import REPOSITORY, Project
from tidemill.spec.catalog import find, spec_files
from tidemill.spec.root import root

PAGE = REPOSITORY / "docs" / "guides" / "many-feeds.md"


def test_the_blocks_of_the_page_make_the_pipelines_that_it_names(tmp_path: Path) -> None:
    project_file, template = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    home = Project(tmp_path.resolve() / "project")
    home.specs.mkdir(parents=True)
    home.file.write_text(project_file)
    home.spec("settlements").write_text(template)
    environ = {"TIDEMILL_PROJECTS": str(home.home), "TIDEMILL_PROFILE": "prod"}
    named = [one.name for one in spec_files(environ) if one.project == home]
    assert named == ["settlements_de", "settlements_uk"]
    specs = [find(name, environ).load(environ) for name in named]
    assert [str(one.sources["lines"].path) for one in specs] == ["/in/germany", "/in/britain"]
    assert [one.airflow.retries for one in specs] == [8, 8]
    assert root(environ) == tmp_path.resolve() / "data"
