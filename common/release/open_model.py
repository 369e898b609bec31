"""Open what people point to as a model: the folder of a release, or a ``model.json``."""

from __future__ import annotations

from pathlib import Path

from privity.common.data.schema import load_schema
from privity.common.formats import read_json
from privity.common.release.release_contents import MODEL, RUN, SCHEMA
from privity.common.release.release_folder import verify_release
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.load_model import load_model


def open_model(path: Path, schema: Path | None = None) -> Model:
    """The model at a path, whose schema has the rules that its rows are to meet.

    Args:
        path: the folder of a release, every file of which is checked; or a ``model.json``, which is checked so if it
            stands in one.
        schema: one with the same attributes, in the place of the one beside the model.

    Raises:
        PrivityError, ProblemsFound: a file that is missing, altered or does not fit its format or the others.
    """
    folder, file = (path, path / MODEL) if path.is_dir() else (path.parent, path)
    if path.is_dir() or (file.name == MODEL and (folder / RUN).exists()):
        verify_release(folder)
    return load_model(read_json(file, links=False), load_schema(schema or folder / SCHEMA), str(file))
