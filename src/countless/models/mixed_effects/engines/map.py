"""MAP: to be written."""
