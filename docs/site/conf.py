"""The settings of the site that `make docs` builds from the pages."""

from tidemill.toolchain.extras import installed_version

project = "Tidemill"
release = installed_version() or ""
author = "Tidemill's contributors"
extensions = ["myst_parser"]

# The pages link to each other by relative paths, so that a git host shows them as well as the site.
include_patterns = ["*.md", "docs/*.md", "docs/**/*.md"]
exclude_patterns = [".*", "**/.*", "spark_jobs", "plugins", "tests", "build", "dist"]
root_doc = "docs/site/index"

myst_heading_anchors = 4
html_extra_path = ["start"]
html_theme = "furo"
html_title = "Tidemill"
html_copy_source = False
