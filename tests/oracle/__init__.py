"""The promise, held against plain Python: what is published after any history of a pipeline."""
