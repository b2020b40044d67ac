"""The tests of Tidemill."""
