"""osteon info"""

import platform
from importlib.metadata import PackageNotFoundError, metadata, requires, version

import click

from osteon.cli import options
from osteon.errors import how_to_install


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print facts as JSON.")
def info(*, as_json: bool) -> None:
    """Versions, formats, marker sets, and which optional parts are installed.

    Example: osteon info
    """
    facts = {
        "osteon": version("osteon"),
        "python": platform.python_version(),
        "packages": {name: _installed(name) for name in _core()},
        "extras": {
            extra: {name: _installed(name) for name in _extra(extra)} for extra in _extras()
        },
        "formats": _formats(),
        "marker_sets": _marker_sets(),
    }
    if as_json:
        click.echo(options.json_line(facts))
        return
    click.echo(f"osteon {facts['osteon']}, Python {facts['python']}")
    for name, found in facts["packages"].items():
        click.echo(f"  {name:14} {found}")
    for extra, packages in facts["extras"].items():
        missing = [name for name, found in packages.items() if found is None]
        state = f"missing {', '.join(missing)}: {how_to_install(extra)}" if missing else "ok"
        click.echo(f"extra {extra:10} {state}")
    for name, able in facts["formats"].items():
        click.echo(f"format {name:14} {able}")
    for name, n in facts["marker_sets"].items():
        click.echo(f"marker set {name!r:28} {n} markers")


def _core() -> list[str]:
    return [_package(line) for line in requires("osteon") or () if "extra ==" not in line]


def _extras() -> list[str]:
    return metadata("osteon").get_all("Provides-Extra") or []


def _extra(extra: str) -> list[str]:
    ours = [
        line for line in requires("osteon") or () if f"extra == '{extra}'" in line.replace('"', "'")
    ]
    return [_package(line) for line in ours]


def _package(requirement: str) -> str:
    for mark in "<>=!~;[ ":
        requirement = requirement.split(mark)[0]
    return requirement


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _formats() -> dict[str, str]:
    from osteon.formats import FORMATS

    def able(form) -> str:
        verbs = [
            verb for verb, function in (("reads", form.read), ("writes", form.write)) if function
        ]
        return f"{' and '.join(verbs)} {', '.join(sorted(form.holds))} ({', '.join(form.suffixes)})"

    return {form.name: able(form) for form in FORMATS}


def _marker_sets() -> dict[str, int]:
    from osteon.human import known_sets

    return {each.name: len(each.markers) for each in known_sets()}
