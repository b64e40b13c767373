"""What is written at the end of a fit: labels, a summary, a figure, a page; all of them or none."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._about import NAME as ABOUT
from ._about import About
from ._app import finite

if TYPE_CHECKING:
    from ..report.findings import Findings


def write_results(
    found: Findings, out: Path, about: About, report: bool = True, option: str = "--out"
) -> tuple[list[Path], dict[str, Any]]:
    """Write the files of a finished fit into its folder; returns their paths and the summary."""
    from .. import plots
    from ..io import write_together
    from ..report.page import page_of

    summary = summarise(found, about)
    files: dict[str, str | bytes] = {
        "labels.csv": labels_text(found),
        "summary.json": json.dumps(finite(summary), indent=2) + "\n",
        "summary.png": plots.render(plots.summary(found.model)),
        ABOUT: about.text(),
    }
    if report:
        files["report.html"] = page_of(found, about.file or out.name, about.command)
    paths = write_together(out, files, option)
    return [path for path in paths if path.name != ABOUT], summary


def labels_text(found: Findings) -> str:
    """One line per row, numbered from 1: label, its probability, and what comes second."""
    sure = found.certainty
    columns = (found.labels, sure.probability, sure.runner_up, sure.runner_up_probability)
    lines = ["row,label,probability,runner_up,runner_up_probability"]
    for i, (label, p, second, p2) in enumerate(zip(*columns, strict=True), start=1):
        lines.append(f"{i},{label},{p:.4f},{second},{p2:.4f}" if second >= 0 else f"{i},{label},{p:.4f},,")
    return "\n".join([*lines, ""])


def summarise(found: Findings, about: About) -> dict[str, Any]:
    """Everything needed to know what was found and to find it again; the same run gives the same text."""
    from ..plots import sentence
    from ..report.settings import columns_of, versions

    model, posterior = found.model, found.posterior
    compared = about.compared(found.labels)
    pmf = posterior.n_clusters_pmf() if posterior.is_sampled else {}
    return {
        "found": sentence(model),
        "n_clusters": int(model.n_clusters_),
        "n_clusters_probability": {str(k): share for k, share in pmf.items()} or None,
        "converged": found.diagnostics.converged,
        "verdict": found.diagnostics.verdict,
        "clusters": [
            {
                "label": each.label,
                "size": each.size,
                "size_interval": [each.size_low, each.size_high],
                "probability": round(float(found.certainty.probability[found.labels == each.label].mean()), 4),
                "traits": [trait.text for trait in each.traits[:5]],
            }
            for each in found.summaries
        ],
        "concentration": model.concentration_,
        **({} if compared is None else {"compared": compared}),
        "data": {"file": about.file, "rows": len(found.labels), "columns": columns_of(model)},
        "family": plain(model.family_),
        "prior": plain(model.prior_),
        "inference": plain(model.inference_),
        "tune": plain(model.tune),
        "seed": model.random_state if isinstance(model.random_state, int) else None,
        "command": about.command,
        "versions": versions(),
    }


def plain(value: Any) -> Any:
    """Objects as dictionaries with their class name, arrays as lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"name": type(value).__name__, **fields}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
