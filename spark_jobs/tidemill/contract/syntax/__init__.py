"""Foreign notations, read without their engines: Spark DDL, SQL, Hadoop globs, Java regex."""
