"""Commands that serve all models, one file each."""

from __future__ import annotations

from . import compare, demo, predict, report, reproduce, resume, warmup

__all__ = ["compare", "demo", "predict", "report", "reproduce", "resume", "warmup"]
