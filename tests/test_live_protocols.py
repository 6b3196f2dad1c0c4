"""Capture protocols: every decoder on recorded, synthetic, split, lost, duplicated, reordered and damaged datagrams."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import live_made
from footplant import rotation
from footplant.errors import FormatError
from footplant.live.protocols import lz4, natnet, osc, recording, rokoko, vmc, xsens
from footplant.live.protocols.natnet_poses import NatNetReceiver
from footplant.live.protocols.sample import checked
from footplant.live.stage import RECEIVERS, protocol_of

BONES = len(vmc.PLAN)


def pose(seed: int = 0) -> np.ndarray:
    """Return (55, 7) positions and rotations of all bones."""
    random = np.random.default_rng(seed)
    return np.concatenate([random.normal(size=(BONES, 3)), rotation.normalize(random.normal(size=(BONES, 4)))], axis=1)


def bundle(values: np.ndarray, time: float) -> bytes:
    return vmc.VmcSender(vmc.PLAN.names).encode(values, time)


# OSC


def test_osc_round_trip():
    data = osc.encode("/a/b", 1, 2.5, "頭", b"xyz", True, False, None)
    assert osc.decode(data) == [("/a/b", (1, 2.5, "頭", b"xyz", True, False, None))]
    assert len(data) % 4 == 0


def test_osc_bundles_are_read_four_deep():
    data = osc.encode("/deep", 1)
    for depth in range(1, 8):
        data = osc.bundle([data])
        assert bool(osc.decode(data)) == (depth <= osc.MAX_DEPTH)


def test_osc_of_three_thousand_nested_bundles_terminates():
    data = b""
    for _ in range(3000):
        data = osc.BUNDLE + osc.IMMEDIATELY + struct.pack(">i", len(data)) + data if data else osc.encode("/x")
        if len(data) > 60_000:
            break
    assert osc.decode(data) == []


def test_osc_limits_the_number_of_messages():
    data = osc.bundle([osc.encode("/x", 1)] * 3000)
    assert len(osc.decode(data)) == osc.MAX_MESSAGES


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00", b"/", b"#bundle\x00", b"/a\x00\x00", b"/a\x00\x00,\x00\x00\x00", b"/a\x00\x00,f\x00\x00",
     b"/a\x00\x00,b\x00\x00\xff\xff\xff\xff", b"/a\x00\x00,s\x00\x00abcd", b"/\xff\xfe\x00,i\x00\x00\x00\x00\x00\x01",
     b"\x00" * 65_536, b"#bundle\x00" + b"\xff" * 65_000],
)  # fmt: skip
def test_osc_decodes_any_bytes(data):
    assert isinstance(osc.decode(data), list)


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_osc_decodes_random_bytes(data):
    osc.decode(data)
    osc.decode(osc.BUNDLE + osc.IMMEDIATELY + struct.pack(">i", len(data)) + data)


# VMC


def test_vmc_round_trip_is_one_datagram():
    receiver, sent = vmc.VmcReceiver(), pose()
    data = bundle(sent, 2.5)
    assert len(data) < 5000
    assert data.count(b"#bundle") == 1
    receiver.feed(bundle(sent, 2.0), 0.0)
    found = receiver.feed(data, 0.1)[-1]
    assert found.time == 2.5
    assert found.present.all()
    assert np.abs(found.positions - sent[:, :3]).max() < 1e-6
    assert rotation.angle(found.rotations, sent[:, 3:]).max() < 1e-6


def test_vmc_datagrams_are_left_handed():
    data = bundle(np.tile([1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 0.92736185], (BONES, 1)), 0.0)
    message = next(m for m in osc.decode(data) if m.arguments[:1] == ("Hips",))
    assert np.allclose(message.arguments[1:], [1.0, 2.0, -3.0, -0.2, -0.3, 0.92736185, 0.1], atol=1e-6)


def test_vmc_pose_in_four_datagrams_is_one_pose():
    receiver, found = vmc.VmcReceiver(), []
    for number in range(4):
        for part, data in enumerate(live_made.split_vmc(bundle(pose(number), number / 60.0))):
            found += receiver.feed(data, number / 60.0 + part * 1e-4)
    found += receiver.poll(1.0)
    assert [sample.present.sum() for sample in found] == [BONES] * 4
    assert np.abs(found[2].positions - pose(2)[:, :3]).max() < 1e-6


def test_vmc_pose_is_complete_without_waiting_once_the_bones_are_known():
    receiver = vmc.VmcReceiver()
    receiver.feed(bundle(pose(), 0.0), 0.0)
    assert len(receiver.feed(bundle(pose(1), 0.016), 0.016)) == 2
    assert len(receiver.feed(bundle(pose(2), 0.033), 0.033)) == 1


def test_vmc_lost_datagram_leaves_bones_absent():
    receiver, found = vmc.VmcReceiver(), []
    for number in range(6):
        parts = live_made.split_vmc(bundle(pose(number), number / 60.0))
        for data in parts[:2] + parts[3:] if number == 3 else parts:
            found += receiver.feed(data, number / 60.0)
    found += receiver.poll(1.0)
    assert [sample.present.sum() for sample in found] == [55, 55, 55, 42, 55, 55]


def test_vmc_single_messages_without_a_time_are_assembled():
    receiver, found = vmc.VmcReceiver(), []
    for number in range(3):
        for message in osc.decode(bundle(pose(number), 0.0)):
            if message.address != "/VMC/Ext/T":
                found += receiver.feed(osc.encode(message.address, *message.arguments), number / 60.0)
    found += receiver.poll(5.0)
    assert [sample.present.sum() for sample in found] == [55, 55, 55]
    assert found[0].time is None


def test_vmc_duplicate_and_late_datagrams_are_dropped():
    receiver = vmc.VmcReceiver()
    first, second = bundle(pose(), 0.0), bundle(pose(1), 0.016)
    receiver.feed(first, 0.0)
    assert len(receiver.feed(second, 0.016)) == 2
    assert receiver.feed(second, 0.017) == []
    assert receiver.feed(bundle(pose(5), 0.01), 0.018) == []
    assert (receiver.duplicates, receiver.late) == (1, 1)
    assert len(receiver.feed(bundle(pose(2), 0.033), 0.033)) == 1


def test_vmc_continues_after_a_clock_reset():
    receiver = vmc.VmcReceiver()
    for number, time in enumerate((100.0, 100.016, 3.0, 3.016, 1e9)):
        receiver.feed(bundle(pose(number), time), number / 60.0)
    assert receiver.late == 0


@pytest.mark.parametrize(
    "message",
    [
        osc.encode("/VMC/Ext/Bone/Pos"),
        osc.encode("/VMC/Ext/Bone/Pos", "Hips"),
        osc.encode("/VMC/Ext/Bone/Pos", "Hips", *[0.0] * 6),
        osc.encode("/VMC/Ext/Bone/Pos", "Hips", *[1] * 7),
        osc.encode("/VMC/Ext/Bone/Pos", 3, *[0.0] * 7),
        osc.encode("/VMC/Ext/Bone/Pos", "右手首", *[0.0] * 6, 1.0),
        osc.encode("/VMC/Ext/Bone/Pos", "Hips", *[0.0] * 7),
        osc.encode("/VMC/Ext/Bone/Pos", "Hips", float("nan"), *[0.0] * 5, 1.0),
        osc.encode("/VMC/Ext/Bone/Pos", "Hips", float("inf"), *[0.0] * 5, 1.0),
        osc.encode("/VMC/Ext/Bone/Pos", "Hips", 1e9, *[0.0] * 5, 1.0),
        osc.encode("/VMC/Ext/T", "late"),
        osc.encode("/VMC/Ext/T", float("nan")),
        osc.encode("/VMC/Ext/Root/Pos", "root", 1.0),
        osc.encode("/VMC/Ext/Root/Pos", "root", *[float("nan")] * 7),
    ],
)
def test_vmc_invalid_messages_are_ignored_and_counted(message):
    receiver = vmc.VmcReceiver()
    receiver.feed(bundle(pose(), 0.0), 0.0)
    found = receiver.feed(message, 0.001) + receiver.poll(1.0)
    assert receiver.ignored >= 1
    for sample in found:
        assert np.isfinite(sample.positions).all()
        assert np.isfinite(sample.rotations).all()


def test_vmc_further_arguments_and_other_messages_are_ignored():
    receiver = vmc.VmcReceiver()
    extra = [
        osc.encode("/VMC/Ext/Root/Pos", "root", 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 1.0, *[1.0] * 3, *[0.0] * 3),
        osc.encode("/VMC/Ext/Bone/Pos", "Hips", 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 9.0, 9.0),
        osc.encode("/VMC/Ext/Blend/Val", "笑い", 0.5), osc.encode("/VMC/Ext/Blend/Apply"),
        osc.encode("/VMC/Ext/Hmd/Pos", "hmd", *[0.0] * 6, 1.0),
    ]  # fmt: skip
    found = receiver.feed(osc.bundle(extra), 0.0) + receiver.poll(1.0)
    assert found[0].present.sum() == 1
    assert np.allclose(found[0].positions[0], [0.0, 1.5, 0.0])


# Xsens and NatNet, recorded from devices


@pytest.mark.named("live/mxtp02.bin")
def test_xsens_recorded_pose(shared):
    data = (shared / "live" / "mxtp02.bin").read_bytes()
    found = xsens.decode(data)
    assert found is not None
    assert (found.sample, found.character, found.is_last, found.milliseconds) == (6681, 0, True, 27837)
    assert found.ids.tolist() == list(range(1, 24))
    assert found.positions[0, 2] == pytest.approx(1.048348, abs=1e-6)
    assert np.abs(np.linalg.norm(found.rotations, axis=1) - 1.0).max() < 1e-7
    sample = xsens.XsensReceiver().feed(data, 0.0)[0]
    assert sample.positions[0].tolist() == pytest.approx([0.41073215, 1.04834807, 0.06897729])
    assert sample.time == pytest.approx(27.837)
    assert sample.present.all()
    # toes are on the floor and the head is on top
    assert sample.positions[:, 1].argmax() == xsens.PLAN.index["Head"]
    assert sample.positions[:, 1].min() == pytest.approx(0.0287, abs=1e-3)


@pytest.mark.named("live/mxtp01.bin")
def test_xsens_other_message_types_are_ignored(shared):
    receiver = xsens.XsensReceiver()
    for name in ("mxtp01", "mxtp12", "mxtp13"):
        assert receiver.feed((shared / "live" / f"{name}.bin").read_bytes(), 0.0) == []
    assert receiver.ignored == 0


def test_xsens_order_is_kept():
    motion, character = live_made.walk()
    packets = [
        xsens.encode(live_made.in_plan(xsens.PLAN, motion, character, f), f, 16 * f, character=f % 2) for f in range(8)
    ]
    receiver = xsens.XsensReceiver()
    found = [receiver.feed(packets[n], 0.01 * n) for n in (0, 1, 2, 2, 4, 3, 6, 2, 7)]
    assert [len(part) for part in found] == [1, 1, 1, 0, 1, 1, 1, 0, 1]
    assert [part[0].actor for part in found if part] == ["0", "1", "0", "0", "1", "0", "1"]
    assert (receiver.duplicates, receiver.late) == (1, 1)


def test_xsens_round_trip():
    motion, character = live_made.walk()
    sample = live_made.in_plan(xsens.PLAN, motion, character, 30)
    found = xsens.XsensReceiver().feed(xsens.encode(sample, 5, 500), 0.0)[0]
    assert np.abs(found.positions - sample.positions).max() < 1e-6
    assert rotation.angle(found.rotations, sample.rotations).max() < 1e-6


@pytest.mark.named("live/mocapframe_packet_v3.bin")
def test_natnet_recorded_frames(shared):
    frame = natnet.decode((shared / "live" / "mocapframe_packet_v3.bin").read_bytes())
    assert isinstance(frame, natnet.NatNetFrame)
    assert frame.number == 162734
    assert frame.bodies.ids.tolist() == [2]
    assert frame.bodies.is_tracked.all()
    assert frame.bodies.positions[0].tolist() == pytest.approx([0.174447, 1.447131, -0.734304], abs=1e-6)
    assert np.linalg.norm(frame.bodies.rotations[0]) == pytest.approx(1.0, abs=1e-6)
    assert frame.bodies.errors[0] == pytest.approx(0.000515, abs=1e-6)
    assert len(frame.unlabeled) == 5
    assert (frame.labels >> 16).tolist() == [2] * 5 + [0]
    assert frame.seconds == pytest.approx(1356.1166667)
    assert not frame.models_changed


@pytest.mark.named("live/mocapframe_packet_occluded_v3.bin")
def test_natnet_recorded_occlusion(shared):
    frame = natnet.decode((shared / "live" / "mocapframe_packet_occluded_v3.bin").read_bytes())
    assert isinstance(frame, natnet.NatNetFrame)
    assert frame.number == 269007
    assert frame.is_occluded.tolist() == [True, False, False, False]
    assert list(frame.marker_sets) == ["FakeTree", "all"]
    assert frame.marker_sets["all"].shape == (5, 3)
    assert frame.seconds == pytest.approx(8966.9)


@pytest.mark.named("live/modeldef_packet_v3.bin")
def test_natnet_recorded_definitions_and_server(shared):
    found = natnet.decode((shared / "live" / "modeldef_packet_v3.bin").read_bytes())
    assert isinstance(found, natnet.Definitions)
    assert [(body.name, body.id, body.parent, body.markers) for body in found.bodies] == [("RaceQuad", 2, -1, 5)]
    assert found.marker_sets["all"] == tuple(f"RaceQuad_{n}" for n in range(1, 6))
    server = natnet.decode((shared / "live" / "serverinfo_packet_v3.bin").read_bytes())
    assert server == natnet.ServerInfo("Motive", (2, 1, 0, 0), (3, 0, 0, 0))


@pytest.mark.named("live/traffic.pcapng")
def test_natnet_recorded_capture(shared):
    """Every UDP payload of the capture decodes, and its frames run at 120 Hz."""
    numbers, seconds = [], []
    for payload in udp_payloads((shared / "live" / "traffic.pcapng").read_bytes()):
        found = natnet.decode(payload)
        if isinstance(found, natnet.NatNetFrame):
            numbers.append(found.number)
            seconds.append(found.seconds)
    assert len(numbers) > 100
    rate = np.diff(numbers) / np.diff(seconds)
    assert np.median(rate) == pytest.approx(120.0, rel=0.01)


def udp_payloads(data: bytes) -> list[bytes]:
    """Return the payloads of a pcapng file's UDP packets over IPv4."""
    found, place = [], 0
    while place + 12 <= len(data):
        kind, size = struct.unpack_from("<II", data, place)
        if kind == 6:
            captured = struct.unpack_from("<I", data, place + 20)[0]
            packet = data[place + 28 : place + 28 + captured]
            at = packet.find(b"\x45")
            if at >= 0 and len(packet) > at + 28 and packet[at + 9] == 17:
                found.append(packet[at + 28 :])
        place += max(size, 12)
    return found


def test_natnet_skeletons_in_default_order_and_by_definition():
    receiver = NatNetReceiver()
    places, turns = np.random.default_rng(0).normal(size=(21, 3)), rotation.identity(21)
    sample = receiver.feed(live_made.natnet_frame(1, {3: (places, turns)}, 0.1), 0.0)[0]
    assert sample.plan.roles["left_foot"] == ("LFoot",)
    assert sample.actor == "3"
    assert receiver.wants_definitions
    bones = [("Hip", -1), ("Ab", 0), ("Chest", 1)]
    receiver.feed(live_made.natnet_definitions({3: ("Ann", bones)}), 0.0)
    assert not receiver.wants_definitions
    sample = receiver.feed(live_made.natnet_frame(2, {3: (places[:3], turns[:3])}, 0.2), 0.0)[0]
    assert (sample.actor, sample.plan.names, sample.plan.is_local) == ("Ann", ("Hip", "Ab", "Chest"), False)
    assert receiver.feed(live_made.natnet_frame(2, {3: (places[:3], turns[:3])}, 0.2), 0.0) == []
    assert receiver.duplicates == 1
    local = np.tile([0.0, 0.1, 0.0], (3, 1))
    receiver.feed(live_made.natnet_definitions({3: ("Ann", bones)}), 0.0)
    assert receiver.feed(live_made.natnet_frame(3, {3: (local, turns[:3])}, 0.3), 0.0)[0].plan.is_local


# Rokoko


def test_rokoko_round_trip():
    motion, character = live_made.walk()
    data = live_made.encoded("rokoko", motion[:3], character, 10.0)
    receiver = rokoko.RokokoReceiver()
    found = [receiver.feed(one, 0.0)[0] for one in data]
    assert found[0].time == pytest.approx(10.0)
    assert found[0].positions[0].tolist() == pytest.approx(motion.root[0].tolist(), abs=1e-5)
    assert receiver.feed(data[2], 0.0) == []
    assert receiver.duplicates == 1
    assert found[0].present.sum() >= 19


def test_rokoko_compressed_with_lz4():
    motion, character = live_made.walk()
    plain = live_made.encoded("rokoko", motion[:1], character)[0]
    # a frame of one raw block, and one whose block is a run: the letter a and 20 copies of it
    raw = lz4.MAGIC + b"\x60\x40\x00" + struct.pack("<I", len(plain) | 0x80000000) + plain + bytes(4)
    assert len(rokoko.RokokoReceiver().feed(raw, 0.0)) == 1
    block = b"\x1fa\x01\x00\x01\x00"
    packed = lz4.MAGIC + b"\x60\x40\x00" + struct.pack("<I", len(block)) + block + bytes(4)
    assert lz4.unpack(packed, 1000) == b"a" * 21
    assert lz4.unpack(packed, 10) is None
    assert lz4.unpack(packed[:-6], 1000) is None


@pytest.mark.parametrize(
    "data",
    [b"{}", b"[]", b"{" * 50_000, b"[" * 60_000, b'{"scene":{"actors":[1,{"body":3},{"body":{"hip":1}}]}}',
     b'{"scene":{"timestamp":1e400,"actors":[{"body":{"hip":{"position":{"x":NaN},"rotation":{}}}}]}}',
     b'{"scene":{"timestamp":' + b"9" * 5000 + b',"actors":[]}}', b"\xff\xfe{}"],
)  # fmt: skip
def test_rokoko_invalid_data_gives_no_poses(data):
    assert rokoko.RokokoReceiver().feed(data, 0.0) == []


# all of them


@pytest.mark.parametrize("protocol", list(RECEIVERS))
def test_damaged_datagrams_never_raise(protocol):
    seeds = live_made.seeds(protocol)
    assert {protocol_of(seed) for seed in seeds} == {protocol}
    receiver = RECEIVERS[protocol]()
    for number, data in enumerate(live_made.mutations(seeds, 3000)):
        for sample in receiver.feed(data, 0.001 * number):
            assert np.isfinite(sample.positions).all()
            assert np.abs(np.linalg.norm(sample.rotations, axis=1) - 1.0).max() < 1e-9
            # otherwise kernels would be compiled for another order when the first packet arrives
            assert sample.positions.flags.c_contiguous
            assert sample.rotations.flags.c_contiguous


@pytest.mark.parametrize("protocol", list(RECEIVERS))
@given(data=st.binary(max_size=300))
@settings(max_examples=60, deadline=None)
def test_random_bytes_never_raise(protocol, data):
    heads = {"vmc": osc.BUNDLE, "xsens": b"MXTP02", "natnet": b"\x07\x00\xff\x00", "rokoko": lz4.MAGIC}
    receiver = RECEIVERS[protocol]()
    receiver.feed(data, 0.0)
    receiver.feed(heads[protocol] + data, 0.0)
    receiver.poll(9.0)


def test_invalid_numbers_are_detected():
    places = [[0, 0, 0], [np.nan, 0, 0], [0, np.inf, 0], [1e9, 0, 0], [0, 0, 0], [0, 0, 0]]
    turns = [[1, 0, 0, 0]] * 4 + [[0, 0, 0, 0], [1.01, 0, 0, 0]]
    positions, rotations, sane = checked(places, turns)
    assert sane.tolist() == [True, False, False, False, False, True]
    assert np.isfinite(positions).all()
    assert np.abs(np.linalg.norm(rotations, axis=1) - 1.0).max() < 1e-12


# recordings


def record(datagrams) -> bytes:
    file = io.BytesIO()
    recorder = recording.Recorder(file)
    for time, sender, data in datagrams:
        recorder.add(data, sender, time)
    return file.getvalue()


def test_recording_round_trip():
    data = record([(10.0, "a", b"one"), (10.5, "b", b""), (10.6, "a", b"x" * 60_000)])
    found = list(recording.parse(io.BytesIO(data)))
    assert [(round(d.time, 6), d.sender, len(d.data)) for d in found] == [(0.0, 0, 3), (0.5, 1, 0), (0.6, 0, 60_000)]


def test_a_truncated_recording_gives_whole_records():
    data = record([(0.1 * n, "a", bytes([n]) * 20) for n in range(5)])
    for end in range(8, len(data)):
        found = list(recording.parse(io.BytesIO(data[:end])))
        assert len(found) == (end - 8) // 36
    damaged = bytearray(data)
    damaged[60] ^= 1
    assert len(list(recording.parse(io.BytesIO(bytes(damaged))))) == 1


def test_reading_another_file_as_recording_raises(tmp_path):
    path = tmp_path / "x.datagrams"
    path.write_bytes(b"HIERARCHY\nROOT")
    with pytest.raises(FormatError, match="recording"):
        list(recording.read(path))
    assert not recording.is_recording(path)
    with pytest.raises(FormatError):
        list(recording.read(tmp_path / "none"))
