"""Pack the Blender extension: ``python blender/build.py dist``.

The version is the project's. The same files give the same archive.
"""

import sys
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Year to second that the archive tells of its files: the first that zip knows, always the same."""


def build(folder: Path) -> Path:
    """Return the archive, which Blender installs from disk."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    version = project["project"]["version"]
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"osteon-blender-{version}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((HERE / "extension").glob("*.*")):
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".toml":
                text = text.replace('version = "0.0.0"', f'version = "{version}"')
            archive.writestr(zipfile.ZipInfo(path.name, EPOCH), text)
    return target


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))  # noqa: T201
