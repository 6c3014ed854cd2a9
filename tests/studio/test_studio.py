"""The studio without a browser: the whole loop over its messages, and what it refuses."""

import html
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from osteon import synth
from osteon.cli import osteon
from osteon.edits.edits_json import read_edits
from osteon.edits.motion_edits import MotionEdit
from osteon.edits.replay import solve_edited
from osteon.formats import read, write

pytest.importorskip("starlette")
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from osteon.studio import server, session
from osteon.studio.messages import FromPage, Live, Pose, ToPage
from osteon.studio.server import Studio
from osteon.typing import Step

HOST = "127.0.0.1:8765"
PATIENCE = 200
"""Messages to wait through for an answer."""


class Talk:
    """A page's side of the socket."""

    def __init__(self, socket) -> None:
        self.socket, self.revision = socket, 0

    def send(self, **message) -> None:
        self.socket.send_text(msgspec.json.encode(message).decode())

    def hear(self, *kinds: str) -> dict:
        """The next message of one of these kinds; a problem nobody waits for is a failure."""
        for _ in range(PATIENCE):
            message = msgspec.json.decode(self.socket.receive_text())
            msgspec.convert(message, ToPage)
            self.revision = message.get("state", {}).get("revision", self.revision)
            if message["type"] in kinds:
                return message
            assert message["type"] in ("welcome", "opened", "progress", "changed"), message
        raise AssertionError(f"no {kinds} came")

    def edit(self, **edit) -> dict:
        self.send(type="edit", edit=edit, revision=self.revision)
        return self.hear("changed", "problem")

    def run(self, stage: str = "solve", **more) -> dict:
        self.send(type="run", stage=stage, **more)
        return self.hear("solved", "problem")


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> Path:
    take = synth.perform(synth.human(), synth.walk(seconds=2), noise=0.001, gaps=0.01, seed=11)
    path = tmp_path_factory.mktemp("takes") / "walk.c3d"
    write(take.recording, path)
    return path


@pytest.fixture
def folder(tmp_path, walk) -> Path:
    shutil.copy(walk, tmp_path)
    return tmp_path


def client_of(studio: Studio) -> TestClient:
    return TestClient(studio.app, base_url=f"http://{HOST}")


def connect(client: TestClient, studio: Studio):
    return client.websocket_connect(f"ws://{HOST}/ws?token={studio.token}")


def array(client: TestClient, studio: Studio, name: str, **query) -> np.ndarray:
    answer = client.get(f"/api/arrays/{name}", params={"token": studio.token, **query})
    assert answer.status_code == 200, answer.text
    shape = [int(size) for size in answer.headers["x-shape"].split(",")]
    return np.frombuffer(answer.content, "<f4").reshape(shape)


def test_the_whole_loop(folder):
    """Open, cut, fill, undo, redo, solve, drag, slide, plant, export; the command line agrees."""
    studio = Studio(folder)
    client = client_of(studio)
    with connect(client, studio) as socket:
        page = Talk(socket)
        assert page.hear("welcome")["files"] == ["walk.c3d"]
        page.send(type="open", path="walk.c3d")
        opened = page.hear("opened")
        assert (opened["frames"], len(opened["markers"])) == (240, 41)
        column = [marker["name"] for marker in opened["markers"]].index("LTHI")

        said = page.edit(edit="cut", markers=["LTHI"], first=100, last=130)
        assert (said["first"], said["last"], said["markers"][0]["name"]) == (100, 130, "LTHI")
        after = array(client, studio, "markers", first=100, last=130, only=column)
        before = array(client, studio, "markers", first=100, last=130, only=column, state="before")
        assert np.isnan(after).all() and not np.isnan(before).all()
        page.edit(edit="fill", markers=["LTHI"], first=95, last=135)
        filled = array(client, studio, "markers", first=100, last=130, only=column)
        assert np.isfinite(filled).all()
        page.send(type="undo", revision=page.revision)
        assert page.hear("changed")["state"]["undone"] == 1
        assert np.isnan(array(client, studio, "markers", first=100, last=130, only=column)).all()
        page.send(type="redo", revision=page.revision)
        page.hear("changed")
        again = array(client, studio, "markers", first=100, last=130, only=column)
        assert np.array_equal(again, filled)

        solved = page.run("axes")
        assert solved["summary"]["marker_rms_mm"] < 3.0
        names = [body["name"] for body in solved["rig"]["bodies"]]
        hand = names.index("left_hand")
        joints = array(client, studio, "joints")
        assert joints.shape == (240, len(names), 3)

        target = (joints[60, hand] + [0.02, 0.0, 0.05]).tolist()
        page.send(type="drag", frame=60, targets={"left_hand": target}, serial=7)
        pose = page.hear("pose")
        assert pose["serial"] == 7 and pose["error"] < 1e-3
        # nothing is kept of a drag
        assert np.array_equal(array(client, studio, "joints"), joints)
        page.send(type="slide", frame=60, parameter="left_thigh.bend", value=0.3)
        slid = page.hear("pose")
        place = [each["name"] for each in solved["rig"]["parameters"]].index("left_thigh.bend")
        assert abs(slid["parameters"][place] - 0.3) < 1e-6

        said = page.edit(edit="pose", frame=60, targets={"left_hand": target})
        assert said["moved"] and said["first"] <= 60 <= said["last"]
        kept = array(client, studio, "joints", first=60, last=60)[0]
        np.testing.assert_allclose(kept, pose["joints"], atol=1e-5)
        page.edit(edit="pose", frame=150, parameters={"left_thigh.bend": 0.3})
        page.edit(edit="plant", body="right_foot", first=20, last=40, on=True)

        page.send(type="export", formats=["amc"])
        files = {file["name"]: file for file in page.hear("exported")["files"]}
        bvh = client.get(files["motion.bvh"]["url"], params={"token": studio.token})
        assert bvh.content == (folder / "walk-rig" / "motion.bvh").read_bytes()
    check_with_command_line(folder)


def check_with_command_line(folder: Path) -> None:
    told = CliRunner().invoke(
        osteon,
        [
            "solve",
            str(folder / "walk.c3d"),
            "--edits",
            str(folder / "walk.edits.json"),
            "-o",
            str(folder / "cli"),
            "--formats",
            "amc",
        ],
    )
    assert told.exit_code == 0, told.output
    motions = ("motion.bvh", "motion.glb", "motion.amc", "motion.asf")
    for name in ("skeleton.json", "passport.json", *motions):
        one, other = folder / "walk-rig" / name, folder / "cli" / name
        assert one.read_bytes() == other.read_bytes(), name
    summaries = [
        msgspec.json.decode((folder / each / "summary.json").read_bytes())
        for each in ("walk-rig", "cli")
    ]
    for summary in summaries:
        del summary["seconds"]
    assert summaries[0] == summaries[1]


@pytest.fixture
def open_studio(folder) -> Studio:
    studio = Studio(folder)
    studio.open("walk.c3d")
    return studio


@pytest.fixture
def talk(open_studio):
    with connect(client_of(open_studio), open_studio) as socket:
        page = Talk(socket)
        page.hear("opened")
        yield page


def test_a_closed_studio_loses_no_edit(folder):
    for edits in (1, 2):
        studio = Studio(folder)
        studio.open("walk.c3d")
        with connect(client_of(studio), studio) as socket:
            page = Talk(socket)
            assert len(page.hear("opened")["state"]["edits"]) == edits - 1
            page.edit(edit="cut", markers=["LTHI"], first=10 * edits, last=10 * edits + 5)
        # no farewell: the file is what counts
        assert len(read_edits(folder / "walk.edits.json", folder / "walk.c3d").edits) == edits
    with connect(client_of(studio), studio) as socket:
        page = Talk(socket)
        page.hear("opened")
        page.send(type="undo", revision=page.revision)
        page.hear("changed")
    again = Studio(folder)
    again.open("walk.c3d")
    with connect(client_of(again), again) as socket:
        page = Talk(socket)
        state = page.hear("opened")["state"]
        assert (len(state["edits"]), state["undone"]) == (1, 1)
        page.send(type="redo", revision=page.revision)
        assert len(page.hear("changed")["state"]["edits"]) == 2


def test_two_pages_see_each_other_and_do_not_fight(open_studio, folder):
    client = client_of(open_studio)
    with connect(client, open_studio) as one, connect(client, open_studio) as two:
        first, second = Talk(one), Talk(two)
        first.hear("opened")
        second.hear("opened")
        old = second.revision
        first.edit(edit="cut", markers=["LTHI"], first=50, last=60)
        heard = second.hear("changed")
        assert heard["saying"] == "cut LTHI 50–60" and heard["id"] == ""
        # another marker goes on top, the same one is refused, and so is undoing the unseen
        second.revision = old
        assert second.edit(edit="cut", markers=["RTHI"], first=50, last=60)["type"] == "changed"
        second.revision = old
        refused = second.edit(edit="filter", markers=["LTHI"], first=55, last=70)
        assert "another page has changed the same" in refused["saying"]
        second.send(type="undo", revision=old)
        assert "another page has made a change" in second.hear("problem")["saying"]
        first.hear("changed")
    edits = read_edits(folder / "walk.edits.json").edits
    assert [edit.markers for edit in edits] == [("LTHI",), ("RTHI",)]


def test_an_edit_sent_twice_is_made_once(talk, folder):
    cut = {"edit": "cut", "markers": ["LTHI"], "first": 50, "last": 60}
    for _ in range(2):
        talk.send(type="edit", edit=cut, revision=1, id="a1")
        assert talk.hear("changed")["id"] == "a1"
    assert len(read_edits(folder / "walk.edits.json").edits) == 1


@pytest.fixture
def two_studios(folder, request, monkeypatch):
    """A page of each of two studios that have the same take open; they look only where asked to."""
    monkeypatch.setattr(session, "LOOK_SECONDS", getattr(request, "param", 3600.0))
    studios = [Studio(folder), Studio(folder)]
    for studio in studios:
        studio.open("walk.c3d")
    one, two = (connect(client_of(studio), studio) for studio in studios)
    with one as here, two as there:
        pages = Talk(here), Talk(there)
        for page in pages:
            page.hear("opened")
        yield pages


def test_two_studios_on_one_take_lose_no_edit(two_studios, folder):
    """Who has not seen what the other wrote is refused, sees it, and may then go on."""
    first, second = two_studios
    assert first.edit(edit="cut", markers=["LTHI"], first=50, last=60)["type"] == "changed"
    root = {"edit": "root", "body": "chest"}
    second.send(type="edit", edit=root, revision=second.revision, id="a")
    shown = second.hear("opened")
    missing = {marker["name"]: marker["missing"] for marker in shown["markers"]}
    assert len(shown["state"]["edits"]) == 1 and missing["LTHI"] > 10 / 240
    told = second.hear("problem")
    assert "another studio has changed the edits of walk.c3d" in told["saying"]
    assert told["id"] == "a"
    assert second.edit(**root)["type"] == "changed"
    first.send(type="undo", revision=first.revision)
    assert "another studio" in first.hear("problem")["saying"]
    edits = read_edits(folder / "walk.edits.json").edits
    assert [type(edit).__name__ for edit in edits] == ["Cut", "SetRoot"]
    assert sorted(file.name for file in folder.iterdir()) == ["walk.c3d", "walk.edits.json"]


def test_settings_of_a_run_do_not_undo_another_studios_edits(two_studios, folder):
    first, second = two_studios
    first.edit(edit="cut", markers=["LTHI"], first=50, last=60)
    assert "another studio" in second.run("limits")["saying"]
    assert len(read_edits(folder / "walk.edits.json").edits) == 1


@pytest.mark.parametrize("two_studios", [0.05], indirect=True)
def test_a_page_sees_another_studios_edits_by_itself(two_studios):
    first, second = two_studios
    first.edit(edit="cut", markers=["LTHI"], first=50, last=60)
    assert len(second.hear("opened")["state"]["edits"]) == 1
    assert "another studio edits walk.c3d too" in second.hear("problem")["saying"]
    assert second.edit(edit="root", body="chest")["type"] == "changed"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "not understood"),
        ("{", "not understood"),
        ("[" * 5000, "not understood"),
        ('{"type":"explode"}', "not understood"),
        ('{"type":"edit","revision":1,"edit":{"edit":"cut"}}', "not understood"),
        ('{"type":"edit","revision":1,"edit":{"edit":"cut","markers":"A"}}', "not understood"),
        ('{"type":"open","path":"' + 300_000 * "x" + '"}', "262144 are allowed"),
        ('{"type":"open","path":"../../etc/passwd"}', "outside the opened folder"),
        ('{"type":"open","path":"/etc/passwd"}', "outside the opened folder"),
        ('{"type":"open","path":"nothing.c3d"}', "there is no file"),
        ('{"type":"open","path":"\\u0000"}', "file name"),
        ('{"type":"open","path":"."}', "cannot be opened|not a format|take.json"),
        ('{"type":"edit","revision":99,"edit":{"edit":"root","body":"x"}}', "another take"),
        ('{"type":"undo","revision":1}', "nothing to take back"),
        ('{"type":"redo","revision":1}', "nothing to make again"),
        ('{"type":"drag","frame":1,"targets":{"head":[0,0,0]}}', "no motion yet"),
        ('{"type":"slide","frame":1,"parameter":"a.b","value":0}', "no motion yet"),
        ('{"type":"run","stage":"map","character":"../x.bvh"}', "outside the opened folder"),
        ('{"type":"compare","path":"/etc/passwd"}', "outside the opened folder"),
        ('{"type":"export","formats":["osteon/../../../x.osteon"]}', "no motion is written as"),
        ('{"type":"export","formats":["bvh","/tmp/x.osteon"]}', "no motion is written as"),
        ('{"type":"export","formats":["blend"]}', "Blender"),
    ],
)
def test_bad_messages_get_a_sentence_and_change_nothing(talk, open_studio, text, match):
    talk.socket.send_text(text)
    said = talk.hear("problem")["saying"]
    assert any(part in said for part in match.split("|")), said
    assert "\n" not in said
    assert open_studio.session.take is not None and not open_studio.session.take.edits
    assert talk.edit(edit="cut", markers=["LTHI"], first=1, last=5)["type"] == "changed"


def test_bytes_instead_of_words_are_refused(talk):
    talk.socket.send_bytes(b"\x00\x01")
    assert "not understood" in talk.hear("problem")["saying"]


def test_strangers_are_refused(open_studio):
    client, token = client_of(open_studio), open_studio.token
    for path in ("/", "/studio.js", "/api/arrays/markers", "/api/export/bvh"):
        assert client.get(path).status_code == 403
        assert client.get(path, params={"token": "guess"}).status_code == 403
    right = {"token": token}
    assert client.get("/", params=right).status_code == 200
    assert client.get("/", params=right, headers={"Host": "evil.example"}).status_code == 403
    elsewhere = {"Origin": "http://evil.example"}
    assert client.post("/api/open", params=right, headers=elsewhere).status_code == 403
    other_port = {"Origin": "http://127.0.0.1:1"}
    assert client.post("/api/open", params=right, headers=other_port).status_code == 403
    own = {"Origin": f"http://{HOST}"}
    opened = client.post("/api/open", params={**right, "path": "walk.c3d"}, headers=own)
    assert opened.status_code == 200
    for url, headers in (
        (f"ws://{HOST}/ws", {}),
        (f"ws://{HOST}/ws?token={token}x", {}),
        (f"ws://{HOST}/ws?token={token}", elsewhere),
        (f"ws://evil.example/ws?token={token}", {}),
    ):
        with (
            pytest.raises(WebSocketDisconnect) as closed,
            client.websocket_connect(url, headers=headers),
        ):
            pass
        assert closed.value.code == 1008


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": origin}
        for origin in ("http://[", "http://[::1", "http://]", "//[", "http://[zz]", "null", "", "é")
    ]
    + [{"Host": host} for host in ("[", "[::1", "", ":", "é", f"{HOST}:1", f"a@{HOST}")],
    ids=repr,
)
def test_headers_that_make_no_sense_are_refused(open_studio, headers):
    client, token = client_of(open_studio), open_studio.token
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    assert client.get("/", params={"token": token}, headers=raw).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect) as closed,
        client.websocket_connect(f"ws://{HOST}/ws?token={token}", headers=raw),
    ):
        pass
    assert closed.value.code == 1008


@pytest.mark.parametrize("name", ["x" * 300 + ".c3d", "a/" * 3000, "한" * 100 + ".c3d"])
@pytest.mark.parametrize("ask", ["open", "upload", "character", "skin"])
def test_names_that_no_disk_holds_are_refused(open_studio, folder, ask, name):
    posts = ask in ("open", "upload")
    params = {"token": open_studio.token, "path": name, "name": name, "of": "character"}
    told = client_of(open_studio).request("POST" if posts else "GET", f"/api/{ask}", params=params)
    assert told.status_code == 400 and "\n" not in told.text
    assert [file.name for file in folder.iterdir()] == ["walk.c3d"]


def test_the_token_stands_in_no_command_line(folder, monkeypatch):
    """The browser is started with a file that only this user can read, gone once it led on."""
    started: list[str] = []
    studios: list[Studio] = []
    monkeypatch.setattr("webbrowser.open", started.append)
    monkeypatch.setattr(
        "osteon.studio.serve", lambda studio, bound: (studios.append(studio), bound.close())
    )
    told = CliRunner().invoke(osteon, ["studio", str(folder / "walk.c3d")])
    assert told.exit_code == 0, told.output
    (url,), (studio,) = started, studios
    assert studio.token in told.output and studio.token not in url
    door = Path(unquote(urlsplit(url).path))
    assert url.startswith("file:") and door.stat().st_mode & 0o777 == 0o600
    assert told.output.strip() in html.unescape(door.read_text())
    assert client_of(studio).get("/", params={"token": "guess"}).status_code == 403
    assert door.exists()
    assert client_of(studio).get("/", params={"token": studio.token}).status_code == 200
    deadline = time.monotonic() + 10
    while door.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not door.exists()


def test_pages_may_load_nothing_from_elsewhere(open_studio):
    page = client_of(open_studio).get("/", params={"token": open_studio.token})
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "http" not in page.text


@pytest.mark.parametrize(
    ("query", "match"),
    [
        ({"first": 10, "last": 5}, "first before last"),
        ({"first": -1}, "first before last"),
        ({"first": "x"}, "not understood"),
        ({"stride": 0}, "stride at least 1"),
        ({"only": "41"}, "columns must lie in"),
        ({"only": "a"}, "not understood"),
        ({"state": "maybe"}, "not understood"),
        ({"dtype": "float16"}, "not understood"),
        ({"of": "compared"}, "nothing is compared"),
    ],
)
def test_bad_questions_for_arrays_get_a_sentence(open_studio, query, match):
    params = {"token": open_studio.token, **query}
    answer = client_of(open_studio).get("/api/arrays/markers", params=params)
    assert answer.status_code == 400 and match in answer.text


def test_arrays_are_thinned_and_packed(open_studio):
    client, take = client_of(open_studio), open_studio.session.take
    assert take is not None and take.after is not None
    thin = array(client, open_studio, "markers", first=10, last=200, stride=7)
    np.testing.assert_array_equal(thin, take.after[10:201:7].astype("f4"))
    params = {"token": open_studio.token, "dtype": "int16"}
    answer = client.get("/api/arrays/markers", params=params)
    whole = np.frombuffer(answer.content, "<i2").reshape(take.after.shape).astype(float)
    step, origin = float(answer.headers["x-step"]), float(answer.headers["x-origin"])
    whole[whole == -32768] = np.nan
    np.testing.assert_allclose(whole * step + origin, take.after, atol=0.51 * step)


@pytest.mark.parametrize("width", [1, 7, 100, 240, 1000])
def test_curves_keep_their_peaks_however_narrow_the_panel(open_studio, width):
    client, take = client_of(open_studio), open_studio.session.take
    assert take is not None and take.after is not None
    curve = array(client, open_studio, "channel", marker="LTHI", width=width)
    path = take.after[:, take.names.index("LTHI")].astype("f4")
    assert len(curve) == min(width, 240)
    np.testing.assert_array_equal(np.nanmin(curve[..., 0], axis=0), np.nanmin(path, axis=0))
    np.testing.assert_array_equal(np.nanmax(curve[..., 1], axis=0), np.nanmax(path, axis=0))


def test_a_dropped_file_is_stored_and_opened(open_studio, folder, walk):
    client, params = client_of(open_studio), {"token": open_studio.token, "name": "walk.c3d"}
    stored = client.post("/api/upload", params=params, content=walk.read_bytes())
    assert (stored.status_code, stored.text) == (200, "walk-2.c3d")
    assert open_studio.session.take is not None and open_studio.session.take.name == "walk-2.c3d"
    params["name"] = "../../bad.c3d"
    bad = client.post("/api/upload", params=params, content=b"no take at all")
    assert bad.status_code == 400 and "not a format" in bad.text
    assert sorted(file.name for file in folder.iterdir()) == ["walk-2.c3d", "walk.c3d"]


def test_a_dropped_file_may_not_be_too_large(open_studio, folder, monkeypatch):
    monkeypatch.setattr(server, "LARGEST_UPLOAD", 1000)
    params = {"token": open_studio.token, "name": "big.c3d"}
    said = client_of(open_studio).post("/api/upload", params=params, content=b"x" * 2000)
    assert said.status_code == 400 and "larger than" in said.text
    assert [file.name for file in folder.iterdir()] == ["walk.c3d"]


@pytest.mark.parametrize("name", ["osteon%2f..%2f..%2fx.osteon", "..", "x.osteon", "."])
def test_an_export_is_asked_for_by_a_known_name(open_studio, folder, name):
    url = f"/api/export/{name}?token={open_studio.token}"
    assert client_of(open_studio).get(url).status_code in (400, 403, 404)
    assert [file.name for file in folder.iterdir()] == ["walk.c3d"]


def test_only_what_can_be_opened_is_listed(open_studio, folder, tmp_path_factory):
    motion = synth.perform(synth.human(), synth.walk(seconds=0.2), seed=2).truth.motion
    for name in ("hero.glb", "hero.osteon", "hero.asf", "skeleton.json"):
        write(motion.skeleton, folder / name)
    for name in ("moving.glb", "moving.osteon", "moving.bvh"):
        write(motion, folder / name)
    for name in ("summary.json", "notes.csv", "broken.c3d", "broken.glb", "broken.osteon"):
        (folder / name).write_bytes(b'PK\x03\x04{"rms": 1}'[4 * ("osteon" not in name) :])
    (folder / "empty.trc").touch()
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "far.bvh"
    write(motion, elsewhere)
    (folder / "far.bvh").symlink_to(elsewhere)
    (folder / "round.bvh").symlink_to(folder / "round.bvh")
    welcome = open_studio.session.welcome()
    assert welcome.files == ("moving.bvh", "moving.glb", "moving.osteon", "walk.c3d")
    for name in welcome.files:
        open_studio.open(name)
    still = {"hero.asf", "hero.glb", "hero.osteon", "skeleton.json"}
    assert set(welcome.characters) == still | {"moving.bvh", "moving.glb", "moving.osteon"}


def test_links_out_of_the_folder_are_not_followed(open_studio, folder, walk):
    (folder / "link.c3d").symlink_to(walk)
    params = {"token": open_studio.token, "path": "link.c3d"}
    said = client_of(open_studio).post("/api/open", params=params)
    assert said.status_code == 400 and "outside the opened folder" in said.text


def test_a_stage_is_cancelled_and_the_session_goes_on(talk, open_studio, monkeypatch):
    from osteon.studio import jobs as stages

    def endless(shot, progress):
        while True:
            progress(Step("calibrate", "calibrating"))
            time.sleep(0.01)

    monkeypatch.setattr(stages, "solve_snapshot", endless)
    talk.send(type="run")
    while talk.hear("progress")["fraction"] != 0.15:
        pass
    # a newer run takes the place of the older one, which would be out of date
    talk.send(type="run", stage="limits")
    assert talk.hear("cancelled")["stage"] == "solve"
    assert talk.hear("progress")["stage"] == "limits"
    talk.send(type="open", path="walk.c3d")
    assert "is at work" in talk.hear("problem")["saying"]
    assert talk.edit(edit="cut", markers=["LTHI"], first=1, last=5)["type"] == "changed"
    talk.send(type="export")
    talk.send(type="cancel")
    assert talk.hear("cancelled")["stage"] == "limits"
    assert talk.hear("cancelled")["stage"] == "export"
    assert open_studio.session.take is not None and open_studio.session.take.solved is None


def test_a_stage_that_breaks_is_told_in_a_sentence(talk, monkeypatch, caplog):
    from osteon.studio import jobs as stages

    def breaks(shot, progress):
        raise ZeroDivisionError

    monkeypatch.setattr(stages, "solve_snapshot", breaks)
    assert "something went wrong" in talk.run()["saying"]
    assert talk.edit(edit="cut", markers=["LTHI"], first=1, last=5)["type"] == "changed"


def test_a_motion_is_posed_and_exported_without_markers(tmp_path):
    human = synth.perform(synth.human(), synth.walk(seconds=1), seed=1)
    write(human.truth.motion, tmp_path / "walk.bvh")
    studio = Studio(tmp_path)
    studio.open("walk.bvh")
    with connect(client_of(studio), studio) as socket:
        page = Talk(socket)
        opened = page.hear("opened")
        assert opened["kinds"] == ["motion"] and opened["state"]["solved"]
        said = page.edit(edit="cut", markers=["LTHI"], first=1, last=5)
        assert "no markers to edit" in said["saying"]
        names = [body["name"] for body in opened["rig"]["bodies"]]
        target = array(client_of(studio), studio, "joints")[30, names.index("left_hand")] + 0.02
        page.edit(edit="pose", frame=30, targets={"left_hand": target.tolist()})
        page.send(type="export")
        exported = page.hear("exported")["files"]
    assert "passport.json" not in [file["name"] for file in exported]
    posed = read(tmp_path / "walk-rig" / "motion.bvh").motion()
    # BVH carries six decimals of degrees and metres
    np.testing.assert_allclose(posed.world()[1][30, names.index("left_hand")], target, atol=1e-4)


def test_finding_limits_changes_no_pose_that_was_made_before(tmp_path):
    human = synth.perform(synth.human(), synth.walk(seconds=1), seed=1)
    write(human.truth.motion, tmp_path / "walk.bvh")
    studio = Studio(tmp_path)
    studio.open("walk.bvh")
    client = client_of(studio)
    with connect(client, studio) as socket:
        page = Talk(socket)
        names = [body["name"] for body in page.hear("opened")["rig"]["bodies"]]
        target = array(client, studio, "joints")[30, names.index("left_hand")] + [0.1, 0.1, 0.3]
        pose = {"edit": "pose", "frame": 30, "targets": {"left_hand": target.tolist()}}
        page.edit(**pose)
        page.edit(edit="plant", body="left_foot", first=60, last=80, on=True)
        before = array(client, studio, "joints")
        page.run("limits")
        assert np.array_equal(array(client, studio, "joints"), before)
        # one that is made now keeps to what was found, also after a restart
        page.edit(**pose | {"frame": 100})
        limited = array(client, studio, "joints")
    again = Studio(tmp_path)
    again.open("walk.bvh")
    assert np.array_equal(array(client_of(again), again, "joints"), limited)
    edits = read_edits(tmp_path / "walk.edits.json").edits
    assert [edit.found for edit in edits if isinstance(edit, MotionEdit)] == [False, False, True]


def test_a_live_stream_is_shown_to_all_pages(open_studio):
    hub = open_studio.session.hub
    rig = msgspec.convert({"bodies": []}, type=Live.__annotations__["rig"])
    with connect(client_of(open_studio), open_studio) as socket:
        page = Talk(socket)
        page.hear("opened")
        hub.tell(Live(rig, 120.0))
        hub.tell(Pose(3, ((0.0, 0.0, 1.0),), ((1.0, 0.0, 0.0, 0.0),), live=True))
        assert page.hear("live")["rate"] == 120.0
        assert page.hear("pose")["live"]


def test_every_message_has_a_tag_of_its_own():
    for union in (FromPage, ToPage):
        tags = [each.__struct_config__.tag for each in union.__args__]
        assert len(set(tags)) == len(tags)


def test_edits_beside_the_take_of_another_day_are_not_lost(folder):
    (folder / "walk.edits.json").write_text('{"format": "something else"}')
    studio = Studio(folder)
    from osteon.errors import FormatError

    with pytest.raises(FormatError, match="not a file of edits"):
        studio.open("walk.c3d")
    assert (folder / "walk.edits.json").read_text() == '{"format": "something else"}'


def test_a_missing_extra_is_named():
    told = CliRunner().invoke(osteon, ["studio", "--help"])
    assert told.exit_code == 0 and "Example: osteon studio" in told.output
    script = "import sys; sys.modules['starlette'] = None; from osteon.cli import main; main()"
    missing = subprocess.run(
        [sys.executable, "-c", script, "studio"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert missing.returncode == 1 and "pip install 'osteon[studio]'" in missing.stderr


def test_edits_need_one_file(folder):
    (folder / "other.c3d").write_bytes((folder / "walk.c3d").read_bytes())
    studio = Studio(folder)
    studio.open("walk.c3d")
    assert studio.session.take is not None
    studio.session.take.save()
    edits = ["--edits", str(folder / "walk.edits.json"), "-o", str(folder / "out")]
    both = [str(folder / "walk.c3d"), str(folder / "other.c3d")]
    told = CliRunner().invoke(osteon, ["solve", *both, *edits])
    assert told.exit_code == 2 and "belongs to one FILE" in told.output


@pytest.mark.slow
def test_hierarchy_and_markers_by_hand_go_into_the_solve(walk):
    from osteon.edits.edits_json import Edits, RecordingId
    from osteon.edits.rig_edits import Assign, SetParent, SetRoot

    said = (SetRoot("chest"), Assign("LTHI", ""), SetParent("head", "pelvis"))
    solved = solve_edited(walk, Edits(RecordingId("walk.c3d", ""), said))
    assert solved.skeleton.names[0] == "chest"
    assert solved.skeleton.body("head").parent == "pelvis"
    carried = {marker.name for body in solved.skeleton.bodies for marker in body.markers}
    assert "LTHI" not in carried and "RTHI" in carried
    assert solved.rms < 0.005


@pytest.mark.slow
def test_markers_glued_onto_a_character_are_mapped_alike_by_the_command_line(folder):
    hero = synth.perform(synth.human(), synth.walk(seconds=1), seed=2).truth.motion
    write(hero, folder / "hero.bvh")
    studio = Studio(folder)
    studio.open("walk.c3d")
    with connect(client_of(studio), studio) as socket:
        page = Talk(socket)
        page.hear("opened")
        page.run("map", character="hero.bvh")
        glue = {"marker": "LTHI", "body": "left_thigh", "position": [0.0, 0.1, -0.2]}
        said = page.edit(edit="place", character="hero.bvh", **glue)
        assert said["state"]["stale"]
        thigh = next(
            body
            for body in page.run("map", character="hero.bvh")["rig"]["bodies"]
            if body["name"] == "left_thigh"
        )
        places = {marker["name"]: marker["position"] for marker in thigh["markers"]}
        assert places["LTHI"] == [0.0, 0.1, -0.2]
        page.send(type="export")
        page.hear("exported")
    names = ["walk.c3d", "--skeleton", "hero.bvh", "--edits", "walk.edits.json", "-o", "cli"]
    paths = [name if name.startswith("-") else str(folder / name) for name in names]
    told = CliRunner().invoke(osteon, ["map", *paths])
    assert told.exit_code == 0, told.output
    for name in ("skeleton.json", "motion.bvh", "motion.glb"):
        one, other = folder / "walk-rig" / name, folder / "cli" / name
        assert one.read_bytes() == other.read_bytes(), name
