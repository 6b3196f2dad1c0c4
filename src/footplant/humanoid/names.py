"""Read joint names: the side, the body part, and whether the joint is a helper rather than a bone.

A name is split into words (camel case, digits, punctuation, and known words written together, as in "lfemur" or
"leftupleg"); the words, in any order, are looked up in one table. The skeleton's shape is not used here.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache

_LEFT_WORDS = """
left l lft lt 左 gauche links linke linker izquierda izquierdo izq sinistra sinistro sx esquerda esquerdo левая левый
левое 왼쪽
"""
_RIGHT_WORDS = """
right r rgt rt 右 droite droit rechts rechte rechter derecha derecho destra destro dx direita direito правая правый
правое 오른쪽
"""
LEFT, RIGHT = frozenset(_LEFT_WORDS.split()), frozenset(_RIGHT_WORDS.split())

VOCABULARY: dict[str, dict[float, str]] = {
    "hips": {
        1.0: "hips, pelvis, hip, mid hip", 0.9: "spine base", 0.6: "cog, 下半身", 0.5: "waist",
        0.4: "センター", 0.35: "root",
    },
    "spine": {
        1.0: "spine, abdomen, chest, torso, thorax, trunk, lumbar, spine shoulder, 上半身",
        0.9: "ab, back, stomach, vertebra, ribcage",
        0.8: "belly, tummy", 0.6: "waist, sternum", 0.3: "body, spine base",
    },
    "neck": {1.0: "neck, lower neck, upper neck, cervical, 首"},
    "head": {1.0: "head, skull, 頭"},
    "jaw": {1.0: "jaw, mandible, temporomandibular", 0.5: "chin"},
    "eye": {1.0: "eye, eyeball, 目"},
    "clavicle": {
        1.0: "clavicle, clav, collar, collarbone, sternoclavicular, 肩", 0.9: "inner shoulder", 0.7: "scapula",
        0.6: "shoulder, shldr", 0.5: "acromioclavicular",
    },
    "upper_arm": {1.0: "upper arm, up arm, shldr, humerus, 腕", 0.8: "bicep", 0.7: "arm", 0.6: "shoulder"},
    "lower_arm": {
        1.0: "fore arm, lower arm, low arm, lo arm, elbow, radius, ひじ, 肘", 0.9: "ulna", 0.25: "arm",
    },
    "hand": {1.0: "hand, wrist, 手首", 0.9: "radiocarpal", 0.8: "palm"},
    "thumb": {1.0: "thumb, 親指"},
    "index": {1.0: "index, pointer, 人指"},
    "middle": {1.0: "middle, 中指", 0.9: "mid", 0.8: "middle hand", 0.5: "fingers", 0.3: "finger"},
    "ring": {1.0: "ring, 薬指"},
    "little": {1.0: "little, pinky, pinkie, pink, 小指"},
    "upper_leg": {1.0: "thigh, femur, up leg, upper leg, 足", 0.5: "leg", 0.3: "hip joint"},
    "lower_leg": {1.0: "knee, shin, calf, tibia, low leg, lower leg, lo leg, ひざ", 0.6: "leg"},
    "foot": {1.0: "foot, ankle, 足首", 0.9: "talocrural"},
    "toes": {1.0: "toe, toes, big toe, toe base, ball, fore foot, つま先", 0.4: "metatarsal, midtarsal", 0.2: "foot"},
    "": {0.0: "buttock, finger base"},
}  # fmt: skip
"""Body part → score 0 to 1 → word groups, in any order; the longest matching group wins. Words under the empty part
belong to none of the others."""

LANGUAGES: dict[str, dict[str, str]] = {
    "French": {
        "hips": "bassin, hanches", "spine": "colonne, vertebre, dos, ventre, poitrine, buste", "neck": "cou, nuque",
        "head": "tete, crane", "jaw": "machoire", "eye": "oeil", "clavicle": "clavicule, epaule", "upper_arm": "bras",
        "lower_arm": "avant bras, coude", "hand": "main, poignet", "thumb": "pouce", "middle": "majeur",
        "ring": "annulaire", "little": "auriculaire", "upper_leg": "cuisse, hanche",
        "lower_leg": "jambe, genou, mollet", "foot": "pied, cheville", "toes": "orteil, orteils",
    },
    "German": {
        "hips": "hufte, huefte, becken", "spine": "wirbelsaule, wirbelsaeule, wirbel, rucken, ruecken, brust, bauch",
        "neck": "hals, nacken", "head": "kopf", "jaw": "kiefer", "eye": "auge",
        "clavicle": "schlusselbein, schluesselbein, schulter", "upper_arm": "ober arm",
        "lower_arm": "unter arm, ellbogen", "hand": "handgelenk",
        "thumb": "daumen", "index": "zeigefinger", "middle": "mittelfinger", "ring": "ringfinger",
        "upper_leg": "ober schenkel", "lower_leg": "unter schenkel, knie", "foot": "fuss, knochel, knoechel",
        "toes": "zeh, zehe, zehen",
    },
    "Spanish": {
        "hips": "cadera, caderas", "spine": "columna, espalda, pecho, torax", "neck": "cuello", "head": "cabeza",
        "jaw": "mandibula", "eye": "ojo", "clavicle": "clavicula, hombro", "upper_arm": "brazo",
        "lower_arm": "ante brazo, codo", "hand": "mano, muneca", "thumb": "pulgar", "index": "indice", "ring": "anular",
        "little": "menique", "upper_leg": "muslo", "lower_leg": "pierna, pantorrilla, rodilla", "foot": "pie, tobillo",
        "toes": "dedos pie",
    },
    "Italian": {
        "hips": "bacino, fianchi", "spine": "colonna, schiena, petto", "neck": "collo", "head": "testa",
        "clavicle": "clavicola, spalla", "upper_arm": "braccio", "lower_arm": "avam braccio, gomito", "hand": "polso",
        "thumb": "pollice", "middle": "medio", "upper_leg": "coscia", "lower_leg": "gamba, ginocchio, polpaccio",
        "foot": "piede, caviglia",
    },
    "Portuguese": {
        "hips": "quadril", "spine": "coluna, costas, peito", "neck": "pescoco", "head": "cabeca", "clavicle": "ombro",
        "upper_arm": "braco", "lower_arm": "ante braco, cotovelo", "hand": "mao, pulso", "thumb": "polegar",
        "upper_leg": "coxa", "lower_leg": "perna, joelho, panturrilha", "foot": "tornozelo",
    },
    "Russian": {
        "hips": "таз", "spine": "позвоночник, спина, грудь", "neck": "шея", "head": "голова", "clavicle": "ключица",
        "upper_arm": "плечо", "lower_arm": "предплечье, локоть", "hand": "кисть, рука", "upper_leg": "бедро",
        "lower_leg": "голень, колено", "foot": "стопа",
    },
    "Chinese": {
        "hips": "骨盆, 臀部, 髋", "spine": "脊柱, 脊椎, 胸, 腰", "neck": "颈, 脖子", "head": "头",
        "clavicle": "锁骨, 肩膀", "upper_arm": "上臂, 大臂",
        "lower_arm": "前臂, 小臂, 手肘", "hand": "手掌, 手腕, 手", "upper_leg": "大腿",
        "lower_leg": "小腿, 膝盖", "foot": "脚踝, 脚, 脚掌", "toes": "脚趾",
    },
    "Japanese": {
        "hips": "骨盤, 腰", "spine": "背骨, 胸", "clavicle": "鎖骨", "upper_arm": "上腕", "lower_arm": "前腕",
        "hand": "手", "upper_leg": "太もも, 大腿", "lower_leg": "すね, 下腿, 膝", "foot": "足首", "toes": "つまさき",
    },
    "Korean": {
        "hips": "골반, 엉덩이", "spine": "척추, 허리, 가슴", "neck": "목", "head": "머리", "clavicle": "쇄골, 어깨",
        "upper_arm": "상완, 위팔", "lower_arm": "하완, 아래팔, 팔꿈치", "hand": "손, 손목", "upper_leg": "허벅지",
        "lower_leg": "종아리, 무릎", "foot": "발, 발목", "toes": "발가락",
    },
}  # fmt: skip
"""Language → body part → word groups as in `VOCABULARY`, without accents; their score is 0.9, or 0.6 for a shoulder."""
_SHOULDERS = frozenset({"epaule", "schulter", "hombro", "spalla", "ombro", "肩膀", "어깨", "плечо"})
_FRENCH_SIDES = {"g": "left", "d": "right"}
_ENGLISH_TOO = frozenset({"main", "pie", "dos", "medio"})
"""Words that mean something else in English; they count only with a side."""

_HELPERS = """
ik pole target ctrl control controller slot weapon sword shield gun prop props end nub tip null effector mch vis helper
aux goal hint locator armor attach socket holder handle footsteps camera heel site marker proxy pivot rect glut delt
deltoid muscle offset master switch parent drv driver swing corrective top aim look
"""
_OTHERS = """
lid eyelid brow eyebrow lip lips cheek tongue teeth tooth nose nostril ear mouth oris levator oculi orbicularis
temporalis risorius special hair bang ponytail breast boob bust pec pectoral tail skirt cape cloth coat scarf dress
sleeve hood hat helmet glasses wing horn navel jiggle glute butt belt bag bow ribbon face facial forehead temple antenna
"""
_FILLERS = """
upper lower up low lo fore base joint bone jnt big mid inner outer bend share skeleton biped bip def org rig character
proximal intermediate distal phalanx metacarpal carpal in small meta armature reference
"""
_ANIMALS = """
dog wolf fox cat horse pony bear lion tiger cow deer sheep goat pig paw hoof hock fetlock pastern muzzle snout mane
withers hind hindleg rearleg backleg frontleg foreleg
"""
TWIST = frozenset({"twist", "roll", "tweak", "bendy"})
HELPER = frozenset(_HELPERS.split())
"""Words in names of joints that control, hold or end others."""
OTHER = frozenset(_OTHERS.split())
"""Words in names of real joints without a role: face, hair, clothes."""
ANIMAL = frozenset(_ANIMALS.split())
"""Words in names of joints that only animals have; a person in a costume has some of them too, but stands upright."""
METACARPAL = frozenset({"metacarpal", "in", "palm", "carpal", "meta"})


def _by_words() -> dict[frozenset[str], dict[str, float]]:
    """Return the vocabulary inverted: words → part → score."""
    out: dict[frozenset[str], dict[str, float]] = {}
    for part, rows in VOCABULARY.items():
        for score, row in rows.items():
            for words in row.split(", "):
                entry = out.setdefault(frozenset(words.split()), {})
                if part:
                    entry[part] = score
    for parts in LANGUAGES.values():
        for part, row in parts.items():
            for words in row.split(", "):
                entry = out.setdefault(frozenset(words.split()), {})
                entry.setdefault(part, 0.6 if words in _SHOULDERS else 0.9)
                if words in _SHOULDERS:
                    entry.setdefault("upper_arm", 0.6)
    return out


PARTS = _by_words()
_WORDS = frozenset(
    {word for key in PARTS for word in key} | TWIST | HELPER | OTHER | METACARPAL | set(_FILLERS.split())
) | {word for word in LEFT | RIGHT if len(word) > 2 or not word.isascii()}
_FRENCH = frozenset(word for row in LANGUAGES["French"].values() for group in row.split(", ") for word in group.split())
_PIECES = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\x00-\x7f]+")
_VERTEBRA = re.compile(
    r"^(?:j?(?:L[1-5]|T\d{1,2}|C[1-7])(?:S1|L[1-5]|T\d{1,2}|C[1-7]|Head)?|v(?:l[1-5]|t\d{1,2}|c[1-7]))$"
)
"""Xsens ("L5", "jL5S1", "jT1C7") and H-ANIM ("vl5", "vt12", "vc7")."""
_SEPARATOR = re.compile(r"[^0-9A-Za-z\x80-\U0010ffff]")
_RUNNING_NUMBER = re.compile(r"_[0-9]{1,4}$")
_NEARLY_ALL = 0.9
_PLURALS = {"thighs": "thigh", "eyes": "eye", "mid2": "mid", "pinkys": "pinky", "fing": "finger", "ankles": "ankle"}
_GENERIC = {
    "leg": {"upper_leg": 0.5, "lower_leg": 0.5, "foot": 0.3, "toes": 0.2},
    "arm": {"clavicle": 0.1, "upper_arm": 0.5, "lower_arm": 0.5, "hand": 0.3},
}
"""Numbered joints of a limb ("leg_1" … "leg_4"), where only the position in the chain tells."""
_GENERIC_UNLESS = frozenset({"upper", "lower", "up", "low", "lo", "fore"})
_FINGER_ORDER = ("thumb", "index", "middle", "ring", "little")


@dataclass(frozen=True)
class Reading:
    """The interpretation of one joint name."""

    side: str | None
    """"left", "right" or None."""
    words: tuple[str, ...]
    """All words of the name, lower case, without the side."""
    parts: dict[str, float]
    """Body part → score of the words, 0 to 1; empty when the name tells nothing."""
    kind: str
    """"bone", "twist" (takes part of a limb's twist), "helper" (control, holder or end) or "other" (face, hair …)."""
    key: str
    """The name without its side: joints with equal keys and opposite sides are mirror partners."""

    def score(self, part: str) -> float:
        """Return how well the name fits a part: 1 certain, 0 unknown, −1 another part."""
        if self.kind in ("helper", "other"):
            return -1.0
        if self.kind == "twist":
            return -0.7
        if not self.parts:
            return 0.0
        return self.parts.get(part, -1.0)


@lru_cache(maxsize=64)
def read_all(names: tuple[str, ...]) -> tuple[Reading, ...]:
    """Read all names of a skeleton, without their common prefix and running numbers."""
    prefix = _shared_prefix(names)
    bare = [name.removeprefix(prefix) or name for name in names]
    numbers = [number.group() for name in bare if (number := _RUNNING_NUMBER.search(name))]
    # exporters that count nodes give each a different number; numbers of fingers and vertebrae repeat
    if len(numbers) >= _NEARLY_ALL * len(names) and len(set(numbers)) == len(numbers):
        bare = [_RUNNING_NUMBER.sub("", name) or name for name in bare]
    return tuple(read(name) for name in bare)


def _shared_prefix(names: tuple[str, ...]) -> str:
    """Return the longest prefix, up to a separator, of nearly all names: the name of the character or the rig."""
    counts = Counter(name[: cut.end()] for name in names for cut in _SEPARATOR.finditer(name) if cut.end() < len(name))
    shared = [prefix for prefix, count in counts.items() if count >= max(_NEARLY_ALL * len(names), 5)]
    return max(shared, key=len, default="")


@cache
def read(name: str) -> Reading:
    """Read one joint name."""
    bare = _without_accents(name.split("|")[-1].split(":")[-1])
    vertebra = _VERTEBRA.match(bare.rsplit("_", 1)[-1])
    if vertebra:
        part = "neck" if bare.rsplit("_", 1)[-1].lstrip("j").startswith(("C", "T1C", "vc")) else "spine"
        return Reading(None, (bare.lower(),), {part: 0.9}, "bone", bare.lower())
    words = [word for piece in _PIECES.findall(bare) for word in _cut(piece.lower())]
    side, words = _take_side(words)
    if side is None and _FRENCH & set(words):
        letter = next((word for word in words if word in _FRENCH_SIDES), None)
        if letter is not None:
            side, words = _FRENCH_SIDES[letter], [word for word in words if word != letter]
    singular = tuple(_PLURALS.get(word, word) for word in words)
    letters = [word for word in singular if not word.isdigit()]
    kind = _kind(letters, bare)
    return Reading(side, singular, _fit(singular, letters, side), kind, " ".join(singular))


def _without_accents(name: str) -> str:
    """Return a name with Latin letters only where they had accents; other scripts are left as they are."""
    if name.isascii():
        return name
    plain = (unicodedata.normalize("NFKD", c)[0] if "LATIN" in unicodedata.name(c, "") else c for c in name)
    return "".join(plain).replace("ß", "ss").replace("œ", "oe").replace("Œ", "Oe")


def _cut(piece: str) -> list[str]:
    """Split a piece into known words written together, with a side letter at either end; else return it whole."""
    if piece in _WORDS or piece in LEFT or piece in RIGHT or (len(piece) < 3 and piece.isascii()):
        return [piece]
    best: list[list[str] | None] = [[]] + [None] * len(piece)
    for end in range(1, len(piece) + 1):
        for start in range(end):
            word, before = piece[start:end], best[start]
            edge = (start == 0 or end == len(piece)) and word in ("l", "r")
            if before is None or not (word in _WORDS or edge):
                continue
            candidate = [*before, word]
            known = best[end]
            if known is None or len(candidate) < len(known):
                best[end] = candidate
    return best[-1] or [piece]


def _take_side(words: list[str]) -> tuple[str | None, list[str]]:
    """Return the side, preferring whole words to single letters, and the words without it."""
    for length in (2, 1):
        for position, word in enumerate(words):
            if (len(word) >= length or ord(word[0]) > 127) and (word in LEFT or word in RIGHT):
                return ("left" if word in LEFT else "right"), words[:position] + words[position + 1 :]
    return None, words


def _kind(letters: list[str], bare: str) -> str:
    found = set(letters)
    if found & TWIST and not found & {"ik", "control", "ctrl", "mch"}:
        return "twist"
    if found & HELPER or bare.startswith("__") or (letters[:1] == ["p"] and len(letters) > 1):
        return "helper"
    return "other" if found & OTHER else "bone"


def _fit(words: tuple[str, ...], letters: list[str], side: str | None) -> dict[str, float]:
    """Return the parts of the body that a name may mean, each with a score of 0 to 1."""
    found = set(letters)
    if "finger" in found and found & {"thumb", "index", "pointer", "middle", "mid", "ring", "little", "pinky"}:
        found.discard("finger")
    special = _special_part(words, found)
    if special:
        return special
    found = _without_qualifiers(found, letters, side)
    numbered = found & {"leg", "arm"} if any(word.isdigit() for word in words) else set()
    if len(numbered) == 1 and not found & _GENERIC_UNLESS:
        return dict(_GENERIC[numbered.pop()])
    if side is None:
        found -= _ENGLISH_TOO
    return _best_parts(found, side)


def _special_part(words: tuple[str, ...], found: set[str]) -> dict[str, float]:
    """Return the part of names that the table of words cannot read: foot_index (a toe), numbered fingers, eyes."""
    if "foot" in found and "index" in found:
        return {"toes": 0.9}
    numbered = _numbered_finger(words) if "finger" in found else {}
    if not numbered and "eye" in found and not found & OTHER:
        return {"eye": 1.0}
    return numbered


def _without_qualifiers(found: set[str], letters: list[str], side: str | None) -> set[str]:
    """Drop the words of a finger's name that say where it is: the hand of "LeftHandIndex1", the middle of a finger."""
    found = set(found)
    if found & {"thumb", "index", "pointer", "ring", "little", "pinky", "pinkie", "pink"}:
        found -= {"hand", "palm", "base", "middle"}
    middle_of_hand = "middle" in found and "hand" in found and "in" in found
    mid_with_side = side is not None and "mid" in found and "hip" not in found
    middle_with_side = side is not None and "middle" in found and letters.index("middle") > 0
    if middle_of_hand or mid_with_side or middle_with_side:
        found.discard("hand")
    return found


def _best_parts(found: set[str], side: str | None) -> dict[str, float]:
    """Return the parts whose entries in the table explain the most words of a name."""
    matches = [key for key in PARTS if key <= found]
    if not matches:
        return {}
    most = max(len(key) for key in matches)
    fit: dict[str, float] = {}
    for key in matches:
        if len(key) == most:
            for part, score in PARTS[key].items():
                fit[part] = max(fit.get(part, 0.0), score)
    if side is not None and set(fit) == {"hips"}:
        # "LeftHip" is the thigh's joint; "pelvis.L" is only its parent
        return {"upper_leg": 0.9} if "hip" in found or "hips" in found else {}
    by_one_word = any(len(key) == 1 for key in matches)
    if by_one_word and "toes" in fit and "foot" in fit and found & {"toe", "toes", "ball"}:
        return {"toes": fit["toes"]}
    return fit


def _numbered_finger(words: tuple[str, ...]) -> dict[str, float]:
    """Read numbered fingers: Bip01's Finger0 (thumb) … Finger4 with Finger01, Finger02; MakeHuman's finger1-1 …"""
    after = words[words.index("finger") + 1 :]
    numbers = [word for word in after if word.isdigit() and len(word) < 3]
    if not numbers:
        return {}
    if len(numbers) >= 2:
        number = int(numbers[0]) - 1
    else:
        number = int(numbers[0][0])
    return {_FINGER_ORDER[number]: 0.9} if 0 <= number < 5 else {}
