"""The kit that tries whether a Python data source keeps its promises."""
