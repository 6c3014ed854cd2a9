"""The library speaks of its parameters, the command line of its flags."""

import ast
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import osteon as package
from osteon.cli import VERBS, options, osteon, solve_verbs
from osteon.cli.options import in_flags
from osteon.errors import OsteonError
from osteon.formats import write
from osteon.synth import human, perform, walk
from osteon.typing import Step

ROOT = Path(package.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z]")
COMMANDS = re.compile(r"osteon [a-z]+ .*--|blender --")
"""Whole commands to be typed may have flags."""
OTHERS = {
    "cleaning/odd_recordings.py",  # what is added to such a command
    "joint_limits/limits_toml.py",  # the head of a file that one verb writes and reads
    "formats/blender/build_armature.py",  # Blender's own
}


def spoken(path: Path) -> list[str]:
    """All strings of a module but its docstrings; what is put into them is an X."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    joined = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    told |= {id(part) for node in joined for part in node.values}
    plain = [n for n in nodes if isinstance(n, ast.Constant) and id(n) not in told]
    return [n.value for n in plain if isinstance(n.value, str)] + [
        "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        for node in joined
    ]


def test_no_sentence_below_the_command_line_names_a_flag():
    named = {
        f"{path.relative_to(ROOT).as_posix()}: {text}"
        for path in ROOT.rglob("*.py")
        for text in spoken(path)
        if path.parent.name != "cli" and path.relative_to(ROOT).as_posix() not in OTHERS
        if FLAG.search(text) and not COMMANDS.search(text)
    }
    assert named == set()


def test_parameters_become_the_flags_of_the_verb():
    said = "give `template=none` or `own_set`; `clean`, not `nobody` or `files`"
    told = "give --template none or --own-set; --no-clean, not `nobody` or `files`"
    assert in_flags(said, solve_verbs.solve) == told


def test_every_parameter_that_is_spoken_of_is_a_flag_of_some_verb():
    known = set()
    for name in VERBS:
        verb = osteon.get_command(None, name)  # type: ignore[arg-type]
        known |= {param.name for param in verb.params}
    texts = [text for path in ROOT.rglob("*.py") for text in spoken(path)]
    named = {name for text in texts for name in re.findall(r"`(\w+)(?:=[^`]*)?`", text)}
    assert named and named <= known


@pytest.mark.parametrize("through", ["error", "note"])
def test_what_a_user_reads_are_flags(through, tmp_path):
    take = perform(human(), walk(seconds=0.5, rate=60), noise=0.001)
    write(take.recording, tmp_path / "take.c3d")
    arguments = ["solve", str(tmp_path / "take.c3d"), "-o", str(tmp_path / "out")]
    if through == "note":
        write(take.truth.skeleton, tmp_path / "skeleton.json")
        still = ["--skeleton", str(tmp_path / "skeleton.json"), "--static", arguments[1]]
        told = CliRunner().invoke(osteon, [*arguments, *still]).stdout
        assert "take.c3d was not used: with --skeleton none calibrates" in told
    else:
        large = take.recording.with_positions(1e3 * take.recording.positions, did="")
        write(large, tmp_path / "take.csv")
        arguments[1] = str(tmp_path / "take.csv")
        error = CliRunner().invoke(osteon, arguments).exception
        assert isinstance(error, OsteonError) and "really is: --template none" in str(error)


def test_a_log_holds_a_line_of_a_going_step_every_few_seconds(monkeypatch, capsys):
    """Steps that begin are all told; of what goes on, shares or takes, only the latest."""
    now = iter([0.0, 1.0, 2.0, 2.5, 7.6, 7.6, 8.0])
    monkeypatch.setattr(options.time, "monotonic", lambda: next(now))
    say = options._in_a_log()
    for step in (
        Step("read", "reading"),
        Step("solve", "solving 3", 0.1),
        Step("solve", "solving 4", 0.2),
        Step("solve", "solving 9", 0.9),
        Step("write", "writing"),
    ):
        say(step)
    assert capsys.readouterr().err.splitlines() == ["reading", "solving 9, 90 %", "writing"]
