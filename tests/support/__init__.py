"""What tests are built of: histories, pipelines, doubles, and ways to look at what came out."""
