"""The crash campaign: runs of ten pipelines are killed and hurt while readers look on."""
