"""Finished stages of a run, in a folder beside the model file until the run is complete."""

import hashlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from widemargin._runtime.files import atomic_path
from widemargin.easy.options import Options
from widemargin.persistence import load, save

__all__ = ["Stages"]

INDEX = "run.json"
NOT_COMPARED = ("output", "report", "time_limit", "resume")  # they change no stage


class Stages:
    """What a run has finished; a model per stage.

    Parameters
    ----------
    options : Options
        Those of the run. Stages of another file, or with other options, are not used.
    enabled : bool
        Whether there is a folder: not if the model goes to a pipe.
    """

    def __init__(self, options: Options, *, enabled: bool) -> None:
        self.folder = options.output.with_name(f"{options.output.name}.run")
        self.enabled = enabled
        self.key = _fingerprint(options)
        self.index: dict[str, Any] = {}
        if enabled and options.resume:
            self.index = self._known()
        self.resumed = bool(self.index)

    def _known(self) -> dict[str, Any]:
        path = self.folder / INDEX
        if not path.is_file():
            return {}
        try:
            found = json.loads(path.read_text("utf-8"))
            stages = dict(found["stages"]) if found["key"] == self.key else None
        except (ValueError, KeyError, TypeError):
            stages = None
        if stages is None:
            raise ValueError(
                f"{self.folder}: holds a run of another file or with other options; give the same "
                "command as before, or leave out --resume to begin again"
            )
        return stages

    def find(self, name: str, **facts: Any) -> Any:
        """The model of a finished stage with these facts, or None."""
        if self.index.get(name, {}).get("facts") != facts:
            return None
        path = self.folder / f"{name}.safetensors"
        return load(path) if path.is_file() else None

    def complete(self, name: str) -> bool:
        """Whether the stage was finished, rather than cut off."""
        return bool(self.index.get(name, {}).get("complete"))

    def keep(self, name: str, model: Any, *, complete: bool = True, **facts: Any) -> None:
        """Keep the model of a stage."""
        if not self.enabled:
            return
        self.folder.mkdir(exist_ok=True)
        save(model, self.folder / f"{name}.safetensors")
        self.index[name] = {"facts": facts, "complete": complete}
        text = json.dumps({"key": self.key, "stages": self.index})
        with atomic_path(self.folder / INDEX) as temporary:
            temporary.write_text(text, "utf-8")

    def clear(self) -> None:
        """Delete the folder: the run is complete, or a new one begins."""
        if self.enabled and (self.folder / INDEX).is_file():
            shutil.rmtree(self.folder, ignore_errors=True)


def _fingerprint(options: Options) -> str:
    """What the stages depend on: the file and the options."""
    file = Path(options.data)
    facts = {name: value for name, value in asdict(options).items() if name not in NOT_COMPARED}
    state = file.stat() if file.is_file() else None
    facts["file"] = (
        None if state is None else (str(file.resolve()), state.st_size, state.st_mtime_ns)
    )
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()
