"""``python -m countless`` is the command ``countless``."""

from __future__ import annotations

from .cli import main

if __name__ == "__main__":
    main()
