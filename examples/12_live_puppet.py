"""Drive a character by datagrams over a bad network, without sockets or clocks: what `footplant puppet` is made of."""

from footplant import samples, save
from footplant.io import load_character
from footplant.live.faults import Faults, with_noise
from footplant.live.show import TakeRecorder
from footplant.live.stage import LiveStage, PoseEncoder

performer = samples.load("walk")
motion = with_noise(performer.motion.resample(60.0), millimetres=2.0, degrees=1.0)
suit = PoseEncoder("vmc", performer.character)  # what a capture system would send
datagrams = ((f / 60.0, suit.encode(motion.root[f], motion.rotations[f], f / 60.0)) for f in range(len(motion)))

target = load_character("sample:sally")  # or "avatar.vrm"
stage, avatar, take = LiveStage("vmc", target), PoseEncoder("vmc", target), TakeRecorder(target.skeleton)
sent = 0
for now, datagram in Faults(loss=0.05, jitter=0.002, duplicate=0.02).apply(datagrams):
    stage.feed(datagram, "suit", now)
    for shown in stage.poses(now):
        pose = shown.pose
        sent += len(avatar.encode(pose.root, pose.rotations, shown.time))  # what an avatar would receive
        take.add(shown.time, pose.root, pose.rotations)

actor = stage.actors[0]
print(f"performer: {actor.note}")
print(f"{stage.datagrams} datagrams in, {actor.poses} poses out ({sent} bytes), {stage.count('duplicates')} came twice")
print("wrote", save("sally_live.bvh", take.motion(60.0), character=target))
