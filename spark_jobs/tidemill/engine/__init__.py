"""The Spark side: everything here runs in or beside a JVM."""
