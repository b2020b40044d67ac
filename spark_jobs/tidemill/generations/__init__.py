"""Whether the parts of a generation belong together; building, forking and repairing one."""
