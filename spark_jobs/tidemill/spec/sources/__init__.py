"""The kinds of sources in a spec, a file each."""
