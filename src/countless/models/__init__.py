"""Models: one folder per model class, above the general rooms."""
