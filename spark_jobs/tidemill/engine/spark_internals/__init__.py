"""The parts of Spark 4.2 that are not its public API: all that this project calls through py4j.

Each module says which of Spark's classes and methods it relies on.
"""
