"""Python data sources, one a file, and the kit that tries whether one keeps its promises."""
