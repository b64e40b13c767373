"""Visits: how they are read, summed by subject, and brought into the units of the arithmetic."""
