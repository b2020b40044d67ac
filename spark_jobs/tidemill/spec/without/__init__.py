"""The files that stand for a transform or a suite of which the spec says `none`."""
