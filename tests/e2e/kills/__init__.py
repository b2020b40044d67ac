"""Drivers killed, disks full, files damaged: the next run reaches the same rows."""
