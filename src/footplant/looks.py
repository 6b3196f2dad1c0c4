"""What a skin looks like: its meshes, materials, textures and morph targets, as far as file formats share them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from numpy.typing import NDArray

from footplant import rotation


@dataclass(frozen=True, eq=False)
class Texture:
    """One picture."""

    name: str
    """Without an ending; with it where the file names a picture that is not at hand."""
    mime: str
    """"image/png" or "image/jpeg"; "" where the picture is not at hand."""
    data: bytes
    """The picture's file; empty where it is not at hand: FBX refers to it by name, other formats drop it."""


@dataclass(frozen=True)
class Material:
    """One surface."""

    name: str
    color: tuple[float, float, float, float] = (0.72, 0.74, 0.78, 1.0)
    """Red, green, blue and opacity, 0 to 1, linear; multiplied with the texture."""
    texture: int | None = None
    """Index into `Looks.textures`, or None."""
    normal: int | None = None
    """The texture of a normal map in tangent space, or None."""
    specular: int | None = None
    """The texture of the specular colour, or None."""


@dataclass(frozen=True, eq=False)
class MorphTarget:
    """One shape that a mesh can be blended towards."""

    name: str
    vertices: NDArray
    """(n,) vertices of the skin that it moves."""
    offsets: NDArray
    """(n, 3) in the skin's units and axes: how far at full weight."""


@dataclass(frozen=True, eq=False)
class MeshPart:
    """One mesh of the file: a range of the skin's triangles."""

    name: str
    start: int
    """First triangle of the skin."""
    stop: int
    """End of its triangles."""
    materials: NDArray
    """(T,) index into `Looks.materials` for each triangle."""
    uvs: NDArray | None
    """(T, 3, 2) texture coordinates of every corner, v upwards; None without."""
    morphs: tuple[MorphTarget, ...] = ()


@dataclass(frozen=True, eq=False)
class Looks:
    """The looks of a skin."""

    parts: tuple[MeshPart, ...]
    materials: tuple[Material, ...]
    textures: tuple[Texture, ...] = ()

    def at_hand(self) -> Looks:
        """Return the looks without textures whose pictures are missing."""
        kept = [number for number, texture in enumerate(self.textures) if texture.data]
        if len(kept) == len(self.textures):
            return self
        places: dict[int | None, int] = {number: place for place, number in enumerate(kept)}
        materials = tuple(
            replace(
                material, texture=places.get(material.texture), normal=places.get(material.normal),
                specular=places.get(material.specular),
            )
            for material in self.materials
        )  # fmt: skip
        return replace(self, materials=materials, textures=tuple(self.textures[number] for number in kept))


def scaled_looks(looks: Looks, factor: float) -> Looks:
    """Return the looks with morph targets in other units."""
    return converted_looks(looks, factor, rotation.IDENTITY)


def converted_looks(looks: Looks, factor: float, turn: NDArray) -> Looks:
    """Return the looks with morph targets scaled and rotated, by a quaternion (4,), like the vertices."""
    parts = tuple(
        replace(
            part,
            morphs=tuple(
                replace(morph, offsets=rotation.rotate(turn, morph.offsets) * factor) for morph in part.morphs
            ),
        )
        for part in looks.parts
    )
    return replace(looks, parts=parts)
