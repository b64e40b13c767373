"""Damaged, foreign, future and hostile files: each loads correctly or is refused with one sentence."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import countless as cl
from countless.inference import BlockedGibbs, CollapsedGibbs
from countless.runs import format as run_format

from .runs_to_kill import same_posteriors

# These chains are short on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::countless.ConvergenceWarning")

X = np.random.default_rng(3).standard_normal((30, 2)) + np.repeat([0.0, 7.0], 15)[:, None]


def _model(draws=6):
    engine = BlockedGibbs(chains=2, draws=draws, warmup=4)
    return cl.DPMixture(inference=engine, random_state=1)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """A finished run, a run that stopped half-way, a model file, and what they hold."""
    place = tmp_path_factory.mktemp("runs")
    whole = _model().fit(X, checkpoint=place / "finished", checkpoint_every=0.0)
    _model(draws=3).fit(X, checkpoint=place / "stopped", checkpoint_every=0.0)
    (place / "stopped" / "result.npz").unlink()
    whole.save(place / "model.npz")
    return place, whole


def _refused(call):
    """What the call returns, or None where it was refused with one sentence."""
    sentence = "there was none"
    try:
        return call()
    except ValueError as error:
        sentence = str(error)
    assert sentence
    assert "\n" not in sentence
    return None


# --- mutations ------------------------------------------------------------------------------------------------


def _flip(rng, path):
    content = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(1, 4))):
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)


def _cut(rng, path):
    path.write_bytes(path.read_bytes()[: int(rng.integers(path.stat().st_size))])


def _delete(rng, path):
    path.unlink()


def _garbage(rng, path):
    content = bytearray(path.read_bytes())
    at = int(rng.integers(len(content)))
    content[at : at + 40] = rng.bytes(40)
    path.write_bytes(content)


def _lengthen(rng, path):
    path.write_bytes(path.read_bytes() + rng.bytes(int(rng.integers(1, 60))))


def _members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _rename_array(rng, path):
    """Names of arrays change places, or one gets a new name."""
    if path.suffix != ".npz":
        return _flip(rng, path)
    members = _members(path)
    names = list(members)
    one, other = rng.choice(len(names), size=2)
    if rng.random() < 0.5:
        members[names[one]], members[names[other]] = members[names[other]], members[names[one]]
    else:
        members["other.npy"] = members.pop(names[one])
    _zip(path, members)
    return None


def _leaves(value, at=()):
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*at, key))
    elif isinstance(value, list):
        for key, part in enumerate(value):
            yield from _leaves(part, (*at, key))
    else:
        yield at


VALUES = [None, True, 0, -1, 2**70, 1e308, "", "x", "__import__('os').system('true')", [], {}, [[[]]], "inference:map"]


def _change_json(rng, about):
    """One value becomes another one, or goes away."""
    leaves = list(_leaves(about))
    at = leaves[int(rng.integers(len(leaves)))]
    at = at[: int(rng.integers(1, len(at) + 1))]
    place = about
    for key in at[:-1]:
        place = place[key]
    if rng.random() < 0.2:
        del place[at[-1]]
    else:
        place[at[-1]] = VALUES[int(rng.integers(len(VALUES)))]


def _swap_json(rng, path, reseal=False):
    """A value of the JSON changes; whoever reseals makes the checksum fit."""
    members = {"": path.read_bytes()} if path.suffix == ".json" else _members(path)
    name = "" if path.suffix == ".json" else "about.json"
    about = json.loads(members[name])
    _change_json(rng, about)
    if reseal:
        arrays = {key[:-4]: np.load(io.BytesIO(part)) for key, part in members.items() if key.endswith(".npy")}
        about = {key: value for key, value in about.items() if key != "sha256"}
        about["sha256"] = run_format._digest(about, arrays)
    members[name] = json.dumps(about).encode()
    if path.suffix == ".json":
        path.write_bytes(members[""])
    else:
        _zip(path, members)


MUTATIONS = [_flip, _flip, _cut, _delete, _garbage, _lengthen, _rename_array, _swap_json]


def _mutated(rng, place, tmp, mutate):
    """A copy of one of the originals with one file changed."""
    kind = ("finished", "model.npz", "stopped")[int(rng.integers(3))]
    target = tmp / kind
    if target.is_dir():
        shutil.rmtree(target)
    if kind == "model.npz":
        shutil.copy(place / kind, target)
        mutate(rng, target)
    else:
        shutil.copytree(place / kind, target)
        files = sorted(path for path in target.rglob("*") if path.suffix in (".json", ".npz"))
        mutate(rng, files[int(rng.integers(len(files)))])
    return target


def _try_mutations(number, rng, originals, tmp_path, monkeypatch):
    """How many of so many mutated runs loaded; they did so correctly."""
    monkeypatch.setattr("os.fsync", lambda handle: None)
    place, whole = originals
    loaded = 0
    for _ in range(number):
        mutate = MUTATIONS[int(rng.integers(len(MUTATIONS)))]
        target = _mutated(rng, place, tmp_path, mutate)
        if target.name == "stopped":
            found = _refused(lambda target=target: cl.io.resume(target, draws=6))
        else:
            found = _refused(lambda target=target: cl.load(target))
        if found is not None:
            same_posteriors(whole.posterior_, found.posterior_)
            np.testing.assert_array_equal(found.labels_, whole.labels_)
            loaded += 1
    return loaded


def test_mutated_runs_load_correctly_or_are_refused(rng, originals, tmp_path, monkeypatch):
    loaded = _try_mutations(100, rng, originals, tmp_path, monkeypatch)
    assert 0 < loaded < 40


@pytest.mark.slow
def test_a_thousand_mutated_runs(rng, originals, tmp_path, monkeypatch):
    loaded = _try_mutations(1000, rng, originals, tmp_path, monkeypatch)
    print(f"{loaded} of 1,000 loaded, all of them correctly; the others were refused with one sentence")
    assert 0 < loaded < 400


def test_a_forged_checksum_leads_to_a_model_or_to_one_sentence(rng, originals, tmp_path):
    """Somebody who changes a value and the checksum too: no other exception, and nothing is executed."""
    place, _ = originals
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a prior of 1e308 overflows
        for _ in range(100):
            target = _mutated(rng, place, tmp_path, lambda rng, path: _swap_json(rng, path, reseal=True))
            refused += _refused(lambda target=target: cl.load(target)) is None
    assert refused > 30


@pytest.mark.parametrize("versions", [None, "all"])
def test_a_forged_run_without_versions_is_refused(versions, originals, tmp_path):
    place, _ = originals
    forged = tmp_path / "forged"
    shutil.copytree(place / "finished", forged)
    about = json.loads((forged / "run.json").read_bytes())
    del about["sha256"], about["about"]["versions"]
    if versions is not None:
        about["about"]["versions"] = versions
    about["sha256"] = run_format._digest(about, {})
    (forged / "run.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match=r"run\.json is damaged"):
        cl.load(forged)


# --- foreign, future and hostile ------------------------------------------------------------------------------


def _npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=True)
    return buffer.getvalue()


class Bomb:
    """Unpickling this would leave a mark."""

    def __reduce__(self):
        return (Path.touch, (Path("executed-by-loading"),))


def _about(**changes):
    about = {"format": "countless-run", "version": run_format.VERSION, "part": "model", **changes}
    return json.dumps({**about, "sha256": run_format._digest(about, {})}).encode()


HEADER = b"\x93NUMPY\x01\x00"


def _header(text):
    text = text.ljust(117).encode() + b"\n"
    return HEADER + len(text).to_bytes(2, "little") + text


FOREIGN = {
    "text": (b"x,y\n1,2\n", "is not a run of countless"),
    "empty": (b"", "is not a run of countless"),
    "a pickle": (pickle.dumps(Bomb()), "is not a run of countless"),
    "some npz": ({"a.npy": _npy(np.zeros(3))}, "is not a run of countless"),
    "a zip with a way out": (
        {"about.json": _about(), "../../evil.npy": _npy(np.zeros(3))},
        "it holds '../../evil.npy'",
    ),
    "an absolute name": ({"about.json": _about(), "/etc/evil.npy": _npy(np.zeros(3))}, "it holds '/etc/evil.npy'"),
    "a program": ({"about.json": _about(), "run.py": b"print(1)"}, "it holds 'run.py'"),
    "objects": (
        {"about.json": _about(), "rows.npy": _npy(np.array([Bomb()], dtype=object))},
        "'rows.npy' is not an array of numbers",
    ),
    "text in an array": (
        {"about.json": _about(), "rows.npy": _npy(np.array(["a"]))},
        "'rows.npy' is not an array of numbers",
    ),
    "a huge shape": (
        {
            "about.json": _about(),
            "rows.npy": _header("{'descr': '<f8', 'fortran_order': False, 'shape': (999999999, 99999), }") + bytes(80),
        },
        "of the size that it says",
    ),
    "code in a header": (
        {"about.json": _about(), "rows.npy": _header("{'descr': '<f8', 'shape': __import__('os').getcwd(), }")},
        "'rows.npy' is not an array of numbers",
    ),
    "another format": ({"about.json": _about(format="other")}, "is not a run of countless"),
    "the future": (
        {"about.json": _about(version=3)},
        r"written by a newer countless \(format 3, this one reads up to 2\)",
    ),
    "the past": (
        {"about.json": _about(version=1)},
        r"written by an earlier countless \(format 1, this one reads format 2\); fit the model again",
    ),
    "version true": ({"about.json": _about(version=True)}, "True is not a version of the format"),
    "another part": ({"about.json": _about(part="state")}, "should be the part 'model' of a run and says 'state'"),
    "nothing in it": ({"about.json": _about()}, "is damaged"),
    "not JSON": ({"about.json": b"{'a': 1}"}, "it is not JSON"),
    "infinite JSON": ({"about.json": b'{"format": NaN}'}, "it is not JSON"),
    "deep JSON": ({"about.json": b"[" * 100_000}, "it is not JSON"),
    "a list": ({"about.json": b"[]"}, "is not a run of countless"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_and_hostile_files(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, says = FOREIGN[kind]
    path = tmp_path / "model.npz"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        _zip(path, content)
    with pytest.raises(ValueError, match=says) as caught:
        cl.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.npz"]


def test_a_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    size = 2**28
    header = _header(f"{{'descr': '|i1', 'fortran_order': False, 'shape': ({size},), }}")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("about.json", _about())
        with archive.open("rows.npy", "w") as member:
            member.write(header)
            for _ in range(64):
                member.write(bytes(size // 64))
    assert path.stat().st_size < size / 500
    monkeypatch.setattr(run_format, "_memory", lambda: 1e8)
    monkeypatch.setattr(run_format, "_read_array", None)
    with pytest.raises(ValueError, match=r"needs 0\.3 GB, more than the memory of this machine"):
        cl.load(path)


def test_an_archive_that_lies_about_sizes(tmp_path, originals):
    """The size in the list of contents is changed; what is read is what is there."""
    content = (originals[0] / "model.npz").read_bytes()
    at = content.index(b"PK\x01\x02")
    path = tmp_path / "model.npz"
    path.write_bytes(content[: at + 24] + (2**31 - 1).to_bytes(4, "little") + content[at + 28 :])
    with pytest.raises(ValueError, match="cannot be as large as it claims"):
        cl.load(path)


def test_the_folder_of_another_run_and_none(tmp_path, originals):
    place, _ = originals
    with pytest.raises(ValueError, match="there is no such file or folder"):
        cl.load(tmp_path / "none")
    with pytest.raises(ValueError, match=r"is not a run of countless: it holds no run\.json"):
        cl.load(tmp_path)
    mixed = tmp_path / "mixed"
    shutil.copytree(place / "stopped", mixed)
    shutil.copy(place / "finished" / "chain-0" / "state.npz", mixed / "chain-0" / "state.npz")
    with pytest.raises(ValueError, match=r"state\.npz is damaged: it belongs to another run or another chain"):
        cl.load(mixed)
    shutil.copy(place / "finished" / "data.npz", mixed / "data.npz")
    with pytest.raises(ValueError, match=r"run\.json is damaged: data\.npz belongs to another run"):
        cl.load(mixed)


def test_a_family_that_is_not_known_is_named(tmp_path, originals):
    members = _members(originals[0] / "model.npz")
    about = json.loads(members["about.json"])
    family = next(value for name, value in about["run"]["data"]["items"] if name == "family")
    family["is"], family["module"] = "family:negative-binomial", "their.families"
    arrays = {key[:-4]: np.load(io.BytesIO(part)) for key, part in members.items() if key.endswith(".npy")}
    about["sha256"] = run_format._digest(about, arrays)
    _zip(tmp_path / "model.npz", {**members, "about.json": json.dumps(about).encode()})
    with pytest.raises(
        ValueError, match=r"needs the family 'negative-binomial' of the module their.families.*--import their.families"
    ):
        cl.load(tmp_path / "model.npz")


def test_numpy_opens_the_file_too(originals):
    place, whole = originals
    with np.load(place / "model.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["draws/labels"], whole.posterior_.labels)
        np.testing.assert_array_equal(archive["data/rows"], X)
        assert archive["draws/labels"].dtype == np.int8


def test_states_that_kernels_must_not_see(originals, rng):
    """Labels beyond the slots would make compiled code write where nothing is theirs."""
    from countless.chains.checkpoint import from_snapshot, take_snapshot
    from countless.inference import Problem, State

    problem = Problem.of(X, cl.families.Gaussian().resolve(X), cl.priors.CRP(1.0))
    state = State(problem, np.arange(len(X)) % 3, 1.0)
    schedules = [CollapsedGibbs().schedule()]
    good = take_snapshot(0, rng, state, schedules)
    from_snapshot(good, problem, schedules)
    bad = {
        "labels": [np.full(30, 99), np.full(30, -1), np.zeros(30, dtype=np.int64), np.zeros(29, dtype=np.int64)],
        "active": [np.zeros_like(good.arrays["active"]), good.arrays["active"][::-1].copy()],
        "sizes": [good.arrays["sizes"] + 1, good.arrays["sizes"][:-1]],
        "statistics": [good.arrays["statistics"][:, :-1], good.arrays["statistics"] * np.nan],
        "cache": [good.arrays["cache"].astype(np.float32)],
    }
    for name, arrays in bad.items():
        for array in arrays:
            changed = good._replace(arrays={**good.arrays, name: array})
            with pytest.raises(ValueError, match="the state of a chain"):
                from_snapshot(changed, problem, schedules)
    inner = good.numbers["state"]
    changes = [{"state": {**inner, "n_clusters": 2}}, {"state": {**inner, "concentration": -1.0}}, {"state": {}}]
    for change in [*changes, {"sweep": "0"}, {"rng": {}}, {"schedules": []}]:
        with pytest.raises(ValueError, match="the state of a"):
            from_snapshot(good._replace(numbers={**good.numbers, **change}), problem, schedules)
