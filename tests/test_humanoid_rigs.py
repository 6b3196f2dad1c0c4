"""Roles of the rigs that exist in the wild, built from the mannequin's shape under their names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from figures import Rig, build, nameless, shuffled, turned_at_random
from footplant import humanoid

_FINGERS = [
    (f"@Hand{finger}{joint}", "@Hand" if joint == 1 else f"@Hand{finger}{joint - 1}",
     (0.80 + 0.03 * joint - (0.05 if finger == "Thumb" else 0.0), 1.42, z + (0.02 * joint if finger == "Thumb" else 0)))
    for finger, z in (("Thumb", 0.0), ("Index", 0.01), ("Middle", -0.015), ("Ring", -0.035), ("Pinky", -0.055))
    for joint in (1, 2, 3)
]  # fmt: skip
_FINGER_ROLES = {
    role: ",".join(f"@Hand{name}{joint}" for joint in (1, 2, 3))
    for role, name in (
        ("thumb", "Thumb"),
        ("index", "Index"),
        ("middle", "Middle"),
        ("ring", "Ring"),
        ("little", "Pinky"),
    )
}
_MIXAMO = (
    "clavicle=P@Shoulder; upper_arm=P@Arm; lower_arm=P@ForeArm; hand=P@Hand; "
    "upper_leg=P@UpLeg; lower_leg=P@Leg; foot=P@Foot; toes=P@ToeBase"
)
_UNREAL = (
    "clavicle=clavicle_@; upper_arm=upperarm_@; lower_arm=lowerarm_@; hand=hand_@; "
    "upper_leg=thigh_@; lower_leg=calf_@; foot=foot_@; toes=ball_@"
)

RIGS = {
    "mixamo": Rig(
        "mixamorig:Hips", "mixamorig:Spine,mixamorig:Spine1,mixamorig:Spine2", "mixamorig:Head",
        _MIXAMO.replace("P@", "mixamorig:@"), "mixamorig:Neck",
        extras=[("mixamorig:HeadTop_End", "mixamorig:Head", (0, 1.75, 0)),
                ("mixamorig:@Toe_End", "mixamorig:@ToeBase", (0.1, 0.01, 0.2))],
    ),
    "mixamo with fingers": Rig(
        "Hips", "Spine,Spine1,Spine2", "Head", _MIXAMO.replace("P@", "@"), "Neck",
        extras=_FINGERS, roles=_FINGER_ROLES,
    ),
    "HumanIK in Maya": Rig(
        "Character1_Hips", "Character1_Spine,Character1_Spine1,Character1_Spine2,Character1_Spine3", "Character1_Head",
        _MIXAMO.replace("P@", "Character1_@"), "Character1_Neck,Character1_Neck1", roots="Character1_Reference",
        extras=[("Character1_@ArmRoll", "Character1_@Arm", (0.32, 1.42, -0.025)),
                ("Character1_@ForeArmRoll", "Character1_@ForeArm", (0.6, 1.42, -0.025)),
                ("Character1_@UpLegRoll", "Character1_@UpLeg", (0.09, 0.7, 0.0))],
        roles={"upper_arm_twist": "Character1_@ArmRoll", "lower_arm_twist": "Character1_@ForeArmRoll",
               "upper_leg_twist": "Character1_@UpLegRoll"},
    ),
    "3ds Max biped, arms on the neck": Rig(
        "Bip01 Pelvis", "Bip01 Spine,Bip01 Spine1,Bip01 Spine2", "Bip01 Head",
        "clavicle=Bip01 @ Clavicle; upper_arm=Bip01 @ UpperArm; lower_arm=Bip01 @ Forearm; hand=Bip01 @ Hand; "
        "upper_leg=Bip01 @ Thigh; lower_leg=Bip01 @ Calf; foot=Bip01 @ Foot; toes=Bip01 @ Toe0",
        "Bip01 Neck", ("L", "R"), "Bip01", arms_on="Bip01 Neck",
        extras=[("Bip01 HeadNub", "Bip01 Head", (0, 1.75, 0)), ("Bip01 Footsteps", "Bip01", (0, 0, 0)),
                ("Bip01 @ Finger0", "Bip01 @ Hand", (0.74, 1.41, 0.02)),
                ("Bip01 @ Finger01", "Bip01 @ Finger0", (0.77, 1.40, 0.04)),
                ("Bip01 @ Finger1", "Bip01 @ Hand", (0.80, 1.42, -0.02)),
                ("Bip01 @ Finger11", "Bip01 @ Finger1", (0.84, 1.42, -0.02))],
        roles={"thumb": "Bip01 @ Finger0,Bip01 @ Finger01", "index": "Bip01 @ Finger1,Bip01 @ Finger11"},
    ),
    "3ds Max biped, legs on the spine": Rig(
        "Bip001 Pelvis", "Bip001 Spine,Bip001 Spine1", "Bip001 Head",
        "clavicle=Bip001 @ Clavicle; upper_arm=Bip001 @ UpperArm; lower_arm=Bip001 @ Forearm; hand=Bip001 @ Hand; "
        "upper_leg=Bip001 @ Thigh; lower_leg=Bip001 @ Calf; foot=Bip001 @ Foot; toes=Bip001 @ Toe0",
        "Bip001 Neck", ("L", "R"), "Bip001", legs_on="Bip001 Spine",
    ),
    "Valve": Rig(
        "ValveBiped.Bip01_Pelvis", "ValveBiped.Bip01_Spine,ValveBiped.Bip01_Spine1,ValveBiped.Bip01_Spine2",
        "ValveBiped.Bip01_Head1",
        "clavicle=ValveBiped.Bip01_@_Clavicle; upper_arm=ValveBiped.Bip01_@_UpperArm; "
        "lower_arm=ValveBiped.Bip01_@_Forearm; hand=ValveBiped.Bip01_@_Hand; upper_leg=ValveBiped.Bip01_@_Thigh; "
        "lower_leg=ValveBiped.Bip01_@_Calf; foot=ValveBiped.Bip01_@_Foot; toes=ValveBiped.Bip01_@_Toe0",
        "ValveBiped.Bip01_Neck1", ("L", "R"),
    ),
    "Poser": Rig(
        "hip", "abdomen,chest", "head",
        "clavicle=@Collar; upper_arm=@Shldr; lower_arm=@ForeArm; hand=@Hand; "
        "upper_leg=@Thigh; lower_leg=@Shin; foot=@Foot; toes=@Toe", "neck", ("l", "r"), "BODY",
    ),
    "DAZ Genesis 3": Rig(
        "hip", "abdomenLower,abdomenUpper,chestLower,chestUpper", "head",
        "clavicle=@Collar; upper_arm=@ShldrBend; lower_arm=@ForearmBend; hand=@Hand; "
        "upper_leg=@ThighBend; lower_leg=@Shin; foot=@Foot; toes=@Toe", "neckLower,neckUpper", ("l", "r"),
        extras=[("@ThighTwist", "@ThighBend", (0.09, 0.7, 0.005)), ("@ShldrTwist", "@ShldrBend", (0.32, 1.42, -0.025)),
                ("@Pectoral", "chestUpper", (0.08, 1.30, 0.08)), ("@Eye", "head", (0.03, 1.63, 0.08))],
        roles={"upper_leg_twist": "@ThighTwist", "upper_arm_twist": "@ShldrTwist", "eye": "@Eye"},
    ),
    "Rigify": Rig(
        "DEF-spine", "DEF-spine.001,DEF-spine.002,DEF-spine.003", "DEF-spine.006",
        "clavicle=DEF-shoulder.@; upper_arm=DEF-upper_arm.@; lower_arm=DEF-forearm.@; hand=DEF-hand.@; "
        "upper_leg=DEF-thigh.@; lower_leg=DEF-shin.@; foot=DEF-foot.@; toes=DEF-toe.@",
        "DEF-spine.004,DEF-spine.005", ("L", "R"), "root",
        extras=[("DEF-pelvis.@", "DEF-spine", (0.1, 1.0, 0.05)), ("DEF-breast.@", "DEF-spine.003", (0.1, 1.3, 0.1)),
                ("DEF-thigh.@.001", "DEF-thigh.@", (0.09, 0.7, 0.005)), ("MCH-foot_ik.@", "root", (0.09, 0.08, -0.01))],
        roles={},
    ),
    "Blender game rig": Rig(
        "hips", "spine,chest", "head",
        "upper_arm=upperarm.@; lower_arm=lowerarm.@; hand=wrist.@; "
        "upper_leg=upperleg.@; lower_leg=lowerleg.@; foot=foot.@; toes=toes.@", "", ("l", "r"), "root",
        extras=[("hand.@", "wrist.@", (0.78, 1.42, -0.02)), ("handslot.@", "hand.@", (0.85, 1.40, -0.02)),
                ("kneeIK.@", "root", (0.09, 0.49, 0.6)), ("control-toe-roll.@", "root", (0.09, 0.02, 0.2)),
                ("control-heel-roll.@", "control-toe-roll.@", (0.09, 0.02, -0.1)),
                ("IK-foot.@", "control-heel-roll.@", (0.09, 0.08, -0.01)), ("handIK.@", "root", (0.7, 1.42, 0))],
    ),
    "Unreal mannequin": Rig(
        "pelvis", "spine_01,spine_02,spine_03", "head", _UNREAL, "neck_01", ("l", "r"), "root",
        extras=[("upperarm_twist_01_@", "upperarm_@", (0.3, 1.42, -0.025)),
                ("lowerarm_twist_01_@", "lowerarm_@", (0.6, 1.42, -0.025)),
                ("thigh_twist_01_@", "thigh_@", (0.09, 0.7, 0.0)), ("calf_twist_01_@", "calf_@", (0.09, 0.3, 0.0)),
                ("ik_foot_root", "root", (0, 0, 0)), ("ik_foot_@", "ik_foot_root", (0.09, 0.08, -0.01)),
                ("ik_hand_root", "root", (0, 0, 0)), ("ik_hand_gun", "ik_hand_root", (-0.7, 1.42, 0)),
                ("ik_hand_@", "ik_hand_gun", (0.7, 1.42, 0))],
        roles={"upper_arm_twist": "upperarm_twist_01_@", "lower_arm_twist": "lowerarm_twist_01_@",
               "upper_leg_twist": "thigh_twist_01_@", "lower_leg_twist": "calf_twist_01_@"},
    ),
    "Unreal mannequin with five vertebrae": Rig(
        "pelvis", "spine_01,spine_02,spine_03,spine_04,spine_05", "head", _UNREAL,
        "neck_01,neck_02", ("l", "r"), "root",
    ),
    "VRoid": Rig(
        "J_Bip_C_Hips", "J_Bip_C_Spine,J_Bip_C_Chest,J_Bip_C_UpperChest", "J_Bip_C_Head",
        "clavicle=J_Bip_@_Shoulder; upper_arm=J_Bip_@_UpperArm; lower_arm=J_Bip_@_LowerArm; hand=J_Bip_@_Hand; "
        "upper_leg=J_Bip_@_UpperLeg; lower_leg=J_Bip_@_LowerLeg; foot=J_Bip_@_Foot; toes=J_Bip_@_ToeBase",
        "J_Bip_C_Neck", ("L", "R"), "Root",
        extras=[("J_Sec_@_Bust1", "J_Bip_C_UpperChest", (0.08, 1.3, 0.1)),
                ("J_Sec_Hair1_01", "J_Bip_C_Head", (0, 1.7, -.1)),
                ("J_Sec_Hair2_01", "J_Sec_Hair1_01", (0, 1.5, -0.2)),
                ("J_Sec_Hair3_01", "J_Sec_Hair2_01", (0, 1.2, -0.2)),
                ("J_Sec_@_Skirt_01", "J_Bip_C_Hips", (0.15, 0.9, 0)),
                ("J_Sec_@_Skirt_02", "J_Sec_@_Skirt_01", (0.2, 0.6, 0)),
                ("J_Sec_@_Skirt_03", "J_Sec_@_Skirt_02", (0.22, 0.4, 0)),
                ("J_Adj_@_FaceEye", "J_Bip_C_Head", (0.03, 1.62, .06))],
    ),
    "VRM bone names": Rig(
        "hips", "spine,chest,upperChest", "head",
        "clavicle=@Shoulder; upper_arm=@UpperArm; lower_arm=@LowerArm; hand=@Hand; "
        "upper_leg=@UpperLeg; lower_leg=@LowerLeg; foot=@Foot; toes=@Toes", "neck", ("left", "right"),
        extras=[("@Eye", "head", (0.03, 1.62, 0.08)), ("jaw", "head", (0, 1.58, 0.05))], roles={"eye": "@Eye"},
    ),
    "Character Creator": Rig(
        "CC_Base_Hip", "CC_Base_Waist,CC_Base_Spine01,CC_Base_Spine02", "CC_Base_Head",
        "clavicle=CC_Base_@_Clavicle; upper_arm=CC_Base_@_Upperarm; lower_arm=CC_Base_@_Forearm; hand=CC_Base_@_Hand; "
        "upper_leg=CC_Base_@_Thigh; lower_leg=CC_Base_@_Calf; foot=CC_Base_@_Foot; toes=CC_Base_@_ToeBase",
        "CC_Base_NeckTwist01", ("L", "R"), "CC_Base_BoneRoot",
        extras=[("CC_Base_@_ThighTwist01", "CC_Base_@_Thigh", (0.09, 0.8, 0.0)),
                ("CC_Base_@_ThighTwist02", "CC_Base_@_ThighTwist01", (0.09, 0.65, 0.0)),
                ("CC_Base_@_Breast", "CC_Base_Spine02", (0.1, 1.3, 0.1))],
        roles={"upper_leg_twist": "CC_Base_@_ThighTwist01,CC_Base_@_ThighTwist02"},
    ),
    "SMPL": Rig(
        "Pelvis", "Spine1,Spine2,Spine3", "Head",
        "clavicle=@_Collar; upper_arm=@_Shoulder; lower_arm=@_Elbow; hand=@_Wrist; "
        "upper_leg=@_Hip; lower_leg=@_Knee; foot=@_Ankle; toes=@_Foot", "Neck", ("L", "R"),
        extras=[("@_Hand", "@_Wrist", (0.8, 1.42, -0.02))],
    ),
    "SMPL-X": Rig(
        "pelvis", "spine1,spine2,spine3", "head",
        "clavicle=@_collar; upper_arm=@_shoulder; lower_arm=@_elbow; hand=@_wrist; "
        "upper_leg=@_hip; lower_leg=@_knee; foot=@_ankle; toes=@_foot", "neck", ("left", "right"),
        extras=[("jaw", "head", (0, 1.58, 0.05)), ("@_eye_smplhf", "head", (0.03, 1.62, 0.08)),
                ("@_index1", "@_wrist", (0.8, 1.42, -0.01)), ("@_index2", "@_index1", (0.83, 1.42, -0.01)),
                ("@_middle1", "@_wrist", (0.8, 1.42, -0.03)), ("@_middle2", "@_middle1", (0.83, 1.42, -0.03)),
                ("@_thumb1", "@_wrist", (0.74, 1.41, 0.01)), ("@_thumb2", "@_thumb1", (0.77, 1.40, 0.03))],
        roles={"index": "@_index1,@_index2", "middle": "@_middle1,@_middle2", "thumb": "@_thumb1,@_thumb2",
               "eye": "@_eye_smplhf"},
    ),
    "Rokoko": Rig(
        "Hips", "Spine1,Spine2,Spine3,Spine4", "Head",
        "clavicle=@Shoulder; upper_arm=@Arm; lower_arm=@ForeArm; hand=@Hand; "
        "upper_leg=@Thigh; lower_leg=@Shin; foot=@Foot; toes=@Toe", "Neck", roots="Root",
    ),
    "Xsens MVN": Rig(
        "Pelvis", "L5,L3,T12,T8", "Head",
        "clavicle=@Shoulder; upper_arm=@UpperArm; lower_arm=@Forearm; hand=@Hand; "
        "upper_leg=@UpperLeg; lower_leg=@LowerLeg; foot=@Foot; toes=@Toe", "Neck",
    ),
    "Xsens joints": Rig(
        "Pelvis", "jL5S1,jL4L3,jL1T12,jT9T8", "jC1Head",
        "clavicle=j@T4Shoulder; upper_arm=j@Shoulder; lower_arm=j@Elbow; hand=j@Wrist; "
        "upper_leg=j@Hip; lower_leg=j@Knee; foot=j@Ankle; toes=j@BallFoot", "jT1C7",
    ),
    "mocopi": Rig(
        "root", "torso_1,torso_2,torso_3,torso_4,torso_5,torso_6,torso_7", "head",
        "clavicle=@_shoulder; upper_arm=@_up_arm; lower_arm=@_low_arm; hand=@_hand; "
        "upper_leg=@_up_leg; lower_leg=@_low_leg; foot=@_foot; toes=@_toes", "neck_1,neck_2", ("l", "r"),
    ),
    "Perception Neuron": Rig(
        "Hips", "Spine,Spine1,Spine2,Spine3", "Head",
        "clavicle=@Shoulder; upper_arm=@Arm; lower_arm=@ForeArm; hand=@Hand; "
        "upper_leg=@UpLeg; lower_leg=@Leg; foot=@Foot",
        "Neck", extras=[("@InHandIndex", "@Hand", (0.75, 1.42, -0.01)),
                        ("@HandIndex1", "@InHandIndex", (0.8, 1.42, -0.01)),
                        ("@HandIndex2", "@HandIndex1", (0.83, 1.42, -0.01))],
        roles={"index": "@HandIndex1,@HandIndex2"},
    ),
    "OptiTrack": Rig(
        "Skeleton_Hip", "Skeleton_Ab,Skeleton_Chest", "Skeleton_Head",
        "clavicle=Skeleton_@Shoulder; upper_arm=Skeleton_@UArm; lower_arm=Skeleton_@FArm; hand=Skeleton_@Hand; "
        "upper_leg=Skeleton_@Thigh; lower_leg=Skeleton_@Shin; foot=Skeleton_@Foot; toes=Skeleton_@Toe",
        "Skeleton_Neck", ("L", "R"),
    ),
    "Vicon": Rig(
        "Hips", "Ab,Chest", "Head",
        "clavicle=@Collar; upper_arm=@Shoulder; lower_arm=@Elbow; hand=@Wrist; "
        "upper_leg=@Hip; lower_leg=@Knee; foot=@Ankle; toes=@Toes", "Neck",
    ),
    "CMU ASF": Rig(
        "root", "lowerback,upperback,thorax", "head",
        "clavicle=@clavicle; upper_arm=@humerus; lower_arm=@radius; hand=@wrist; "
        "upper_leg=@femur; lower_leg=@tibia; foot=@foot; toes=@toes", "lowerneck,upperneck", ("l", "r"),
        extras=[("@hand", "@wrist", (0.80, 1.42, -0.02)), ("@fingers", "@hand", (0.85, 1.42, -0.02)),
                ("@thumb", "@wrist", (0.78, 1.41, 0.02))],
        roles={"lower_arm_twist": "@wrist", "hand": "@hand"},
    ),
    "H-ANIM, level of articulation 1": Rig(
        "HumanoidRoot", "vl5", "skullbase",
        "upper_arm=@_shoulder; lower_arm=@_elbow; hand=@_wrist; "
        "upper_leg=@_hip; lower_leg=@_knee; foot=@_ankle; toes=@_midtarsal", "", ("l", "r"), legs_on="sacroiliac",
        extras=[("sacroiliac", "HumanoidRoot", (0, 0.92, 0))],
    ),
    "H-ANIM 2 in X3D": Rig(
        "hanim_humanoid_root", "hanim_vl5,hanim_vl3,hanim_vl1,hanim_vt10,hanim_vt6,hanim_vt1", "hanim_skullbase",
        "clavicle=hanim_@_sternoclavicular; upper_arm=hanim_@_shoulder; lower_arm=hanim_@_elbow; "
        "hand=hanim_@_radiocarpal; upper_leg=hanim_@_hip; lower_leg=hanim_@_knee; foot=hanim_@_talocrural; "
        "toes=hanim_@_metatarsal", "hanim_vc4,hanim_vc2", ("l", "r"), legs_on="hanim_sacroiliac",
        extras=[("hanim_sacroiliac", "hanim_humanoid_root", (0, 0.92, 0)),
                ("hanim_@_eyeball_joint", "hanim_skullbase", (0.03, 1.62, 0.08)),
                ("hanim_@_index1", "hanim_@_radiocarpal", (0.8, 1.42, -0.01)),
                ("hanim_@_index2", "hanim_@_index1", (0.83, 1.42, -0.01))],
        roles={"eye": "hanim_@_eyeball_joint", "index": "hanim_@_index1,hanim_@_index2"},
    ),
    "Second Life": Rig(
        "mPelvis", "mTorso,mChest", "mHead",
        "clavicle=mCollar@; upper_arm=mShoulder@; lower_arm=mElbow@; hand=mWrist@; "
        "upper_leg=mHip@; lower_leg=mKnee@; foot=mAnkle@", "mNeck",
        extras=[("mFoot@", "mAnkle@", (0.1, 0.02, 0.12)), ("mToe@", "mFoot@", (0.1, 0.01, 0.19)),
                ("mEye@", "mHead", (0.03, 1.62, 0.08))], roles={"eye": "mEye@", "toes": "mToe@"},
    ),
    "Kinect": Rig(
        "SpineBase", "SpineMid,SpineShoulder", "Head",
        "upper_arm=Shoulder@; lower_arm=Elbow@; hand=Wrist@; upper_leg=Hip@; lower_leg=Knee@; foot=Ankle@; toes=Foot@",
        "Neck", extras=[("Hand@", "Wrist@", (0.78, 1.42, -0.02)), ("HandTip@", "Hand@", (0.85, 1.42, -0.02)),
                        ("Thumb@", "Wrist@", (0.76, 1.41, 0.02))],
    ),
    "OpenPose": Rig(
        "MidHip", "Spine", "Head",
        "upper_arm=@Shoulder; lower_arm=@Elbow; hand=@Wrist; "
        "upper_leg=@Hip; lower_leg=@Knee; foot=@Ankle; toes=@BigToe",
        "Neck", ("L", "R"), extras=[("@Heel", "@Ankle", (0.09, 0.0, -0.06)), ("@Eye", "Head", (0.03, 1.62, 0.08)),
                                    ("@Ear", "Head", (0.07, 1.62, 0.0)), ("Nose", "Head", (0, 1.6, 0.1))],
    ),
    "LAFAN1": Rig(
        "Hips", "Spine,Spine1,Spine2", "Head",
        "clavicle=@Shoulder; upper_arm=@Arm; lower_arm=@ForeArm; hand=@Hand; "
        "upper_leg=@UpLeg; lower_leg=@Leg; foot=@Foot; toes=@Toe", "Neck",
    ),
    "thigh and shin called leg": Rig(
        "Hips", "Spine1,Spine2,Chest", "Head",
        "clavicle=@Shoulder; upper_arm=@Arm; lower_arm=@ForeArm; hand=@Hand; "
        "upper_leg=@Leg; lower_leg=@Shin; foot=@Foot; toes=@ToeBase", "Neck1,Neck2", roots="Root",
    ),
    "MikuMikuDance": Rig(
        "下半身", "上半身,上半身2", "頭",
        "clavicle=@肩; upper_arm=@腕; lower_arm=@ひじ; hand=@手首; "
        "upper_leg=@足; lower_leg=@ひざ; foot=@足首; toes=@つま先",
        "首", ("左", "右"), "センター", extras=[("@目", "頭", (0.03, 1.62, 0.08))], roles={"eye": "@目"},
    ),
    "arms on a control beside the spine": Rig(
        "body_ctrl", "spine_1,spine_2,spine_3", "skull",
        "upper_arm=upper_arm_@; lower_arm=lower_arm_@; hand=palm_@; "
        "upper_leg=thigh_@; lower_leg=shin_@; foot=foot_@; toes=toes_@", "neck", ("l", "r"), "global",
        extras=[("torso_ctrl", "body_ctrl", (0, 1.4, 0)), ("pelvis", "body_ctrl", (0, 0.94, 0)),
                ("knee_pole_@", "global", (0.1, 0.5, 0.6))], arms_on="torso_ctrl", legs_on="pelvis",
    ),
    "words the other way round": Rig(
        "Pelvis", "Spine_Lower,Spine_Upper", "Head",
        "clavicle=Clavicle_@; upper_arm=Arm_Upper_@; lower_arm=Arm_Lower_@; hand=Hand_@; "
        "upper_leg=Leg_Upper_@; lower_leg=Leg_Lower_@; foot=Foot_@; toes=Toe_@", "Neck", ("L", "R"),
    ),
}  # fmt: skip

MAIN = ["hips", "head"] + [
    f"{side}_{part}"
    for side in ("left", "right")
    for part in ("upper_leg", "lower_leg", "foot", "upper_arm", "lower_arm", "hand")
]


def named(skeleton, roles):
    return {role: tuple(skeleton.names[joint] for joint in chain) for role, chain in roles.joints.items()}


@pytest.mark.parametrize("rig", RIGS)
def test_rig_by_name(rig):
    skeleton, expected = build(RIGS[rig])
    roles = humanoid.find_roles(skeleton)
    found = named(skeleton, roles)
    assert {role: found.get(role) for role in expected} == expected
    assert set(roles.joints) == set(roles.confidence) == set(roles.reasons)
    assert all(0 < value <= 1 for value in roles.confidence.values())
    assert roles.overall > 0.8


@pytest.mark.parametrize("rig", RIGS)
def test_rig_in_any_order_position_size_and_direction(rig):
    skeleton, _ = build(RIGS[rig])
    expected = named(skeleton, humanoid.find_roles(skeleton))
    mixed, _ = shuffled(skeleton, 5)
    for figure in (mixed, skeleton.scaled(100.0), mixed.scaled(0.01), turned_at_random(mixed, 7)[0]):
        assert named(figure, humanoid.find_roles(figure)) == expected


@pytest.mark.parametrize("rig", RIGS)
def test_rig_with_name_prefix_or_running_numbers(rig):
    """A character's name as a prefix may contain any word, and some exporters number the nodes in their names."""
    skeleton, _ = build(RIGS[rig])
    expected = humanoid.find_roles(skeleton).joints
    prefixed = tuple(f"vis_left_hand_{name}" for name in skeleton.names)
    numbered = tuple(f"{name}_{number:02d}" for number, name in enumerate(skeleton.names))
    for names in (prefixed, numbered):
        assert humanoid.find_roles(replace(skeleton, names=names)).joints == expected


@pytest.mark.parametrize("rig", RIGS)
def test_rig_without_names(rig):
    skeleton, expected = build(RIGS[rig])
    figure, place = shuffled(skeleton, 3)
    figure, _ = turned_at_random(nameless(figure), 11)
    roles = humanoid.find_roles(figure)
    # joints at one position cannot be distinguished without names, so positions are compared and not joints
    wanted = {role: figure.rest_world[0][place[skeleton.index(expected[role][0])]] for role in MAIN}
    found = {role: figure.rest_world[0][roles[role]] for role in MAIN if role in roles}
    if RIGS[rig].legs_on:
        del wanted["hips"]  # only its name tells a pelvis that carries a spine that carries the legs
    if "hand" in RIGS[rig].roles:
        del wanted["left_hand"], wanted["right_hand"]  # only its name tells a wrist that is a bone of the forearm
    wrong = [role for role in wanted if role not in found or np.linalg.norm(found[role] - wanted[role]) > 0.06]
    assert not wrong
    assert roles.overall < 0.85
