"""The checklist of reproducibility, from the records."""

import json
import re
from pathlib import Path


def checklist(root: Path) -> str:
    folder = root / "amembook" / "records"
    paths = sorted(path for path in folder.rglob("*.json") if path.name != "resolved.json")
    records = {path: json.loads(path.read_text(encoding="utf-8")) for path in paths}
    seconds = {path: record.get("seconds", 0.0) for path, record in records.items()}
    origins = [record["provenance"] for record in records.values()]
    versions = {
        name: {origin["versions"][name] for origin in origins} for name in ("python", "numpy", "scipy", "torch")
    }
    rows = [
        f"| `{path.relative_to(folder).with_suffix('').as_posix()}` | {record['config'].get('first_seed', '')} "
        f"| {seconds[path]:,.0f} | {record['device']} | `{record['provenance']['commit']}` |"
        for path, record in records.items()
    ]
    one_step = [record["config"] for path, record in records.items() if path.parent.name in ("one-step", "sharp")]
    largest = {key: max(max(config[key]) for config in one_step) for key in ("dims", "sgd_dims")}
    facts = {
        "muon": f"{largest['dims']:,}",
        "sgd": f"{largest['sgd_dims']:,}",
        "records": str(len(records)),
        "hours": f"{sum(seconds.values()) / 3600:.0f}",
        "devices": ", ".join(sorted({record["device"] for record in records.values()})),
        "gpu": str(sum(not record["device"].startswith("cpu") for record in records.values())),
        "versions": "; ".join(f"{name} {', '.join(sorted(seen))}" for name, seen in versions.items()),
        "rows": "\n".join(rows),
    }
    text = (root / "tools" / "checklist-template.md").read_text(encoding="utf-8")
    return re.sub(r"\{(?!container)(\w+)\}", lambda field: facts[field[1]], text)


def pages(root: Path) -> dict[Path, str]:
    return {root / "chapters" / "checklist.md": checklist(root)}
