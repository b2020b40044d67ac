"""The fault drill: runs of a pipeline's copy are killed, and its tables compared."""
