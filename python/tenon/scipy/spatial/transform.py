"""Rotations of space, with the names of jax.scipy.spatial.transform: trees of unit quaternions (x, y, z, w)."""

import typing

from tenon import _core
from tenon.errors import ShapeError
from tenon.numpy import array, asarray, concatenate

__all__ = ["Rotation", "Slerp"]


class Rotation(typing.NamedTuple):
    """One rotation, or several: `quat` is [..., 4].

    >>> quarter = Rotation.from_euler("z", 90.0, degrees=True)
    >>> quarter.apply(asarray([1.0, 0.0, 0.0])).round(6).tolist()
    [0.0, 1.0, 0.0]
    """

    quat: typing.Any

    @classmethod
    def concatenate(cls, rotations):
        """The rotations of several, one behind the other."""
        return cls(concatenate([r.quat for r in rotations]))

    @classmethod
    def from_euler(cls, seq, angles, degrees=False):
        """One after another about the axes of `seq`, one to three of "xyz", or of "XYZ" for axes that turn with the rotation."""
        return cls(_core.rotation_from_euler(seq, asarray(angles), degrees))

    @classmethod
    def from_matrix(cls, matrix):
        """Of orthogonal matrices [..., 3, 3]."""
        return cls(_core.rotation_from_matrix(asarray(matrix)))

    @classmethod
    def from_mrp(cls, mrp):
        """Of vectors along the axis, as long as the tangent of a quarter of the angle."""
        return cls(_core.rotation_from_mrp(asarray(mrp)))

    @classmethod
    def from_quat(cls, quat):
        """Of quaternions of any length but 0."""
        return cls(_core.rotation_from_quat(asarray(quat)))

    @classmethod
    def from_rotvec(cls, rotvec, degrees=False):
        """Of vectors along the axis, as long as the angle."""
        return cls(_core.rotation_from_rotvec(asarray(rotvec), degrees))

    @classmethod
    def identity(cls, num=None, dtype=float):
        """No rotation."""
        if num is not None:
            raise NotImplementedError("Rotation.identity: num is not here; broadcast the quaternion of one.")
        return cls(array([0.0, 0.0, 0.0, 1.0], dtype=dtype))

    @classmethod
    def random(cls, random_key, num=None):
        raise NotImplementedError("Rotation.random is not here: Rotation.from_quat(tn.random.normal(key, (num, 4))) is uniform.")

    def __getitem__(self, indexer):
        if self.single:
            raise ShapeError("Rotation: one rotation has no elements.")
        return Rotation(self.quat[indexer])

    def __len__(self):
        if self.single:
            raise ShapeError("Rotation: one rotation has no length.")
        return self.quat.shape[0]

    def __mul__(self, other):
        return Rotation(_core.rotation_product(self.quat, other.quat))

    def apply(self, vectors, inverse=False):
        """Vectors [..., 3] rotated, or rotated back."""
        return _core.rotation_apply(self.quat, asarray(vectors), inverse)

    def as_euler(self, seq, degrees=False):
        """Three angles about the axes of `seq`; see from_euler()."""
        return _core.rotation_as_euler(seq, self.quat, degrees)

    def as_matrix(self):
        return _core.rotation_as_matrix(self.quat)

    def as_mrp(self):
        return _core.rotation_as_mrp(self.quat)

    def as_rotvec(self, degrees=False):
        return _core.rotation_as_rotvec(self.quat, degrees)

    def as_quat(self, canonical=False, scalar_first=False):
        """The quaternions; `canonical`: those whose last component that is not 0 is positive; `scalar_first`: (w, x, y, z)."""
        return _core.rotation_as_quat(self.quat, canonical, scalar_first)

    def inv(self):
        return Rotation(_core.rotation_inv(self.quat))

    def magnitude(self):
        """The angle, from 0 to π."""
        return _core.rotation_magnitude(self.quat)

    def mean(self, weights=None):
        """The rotation with the least squares of distances from these."""
        return Rotation(_core.rotation_mean(self.quat, weights))

    @property
    def single(self):
        """Whether it is one rotation, without an axis of several."""
        return self.quat.ndim == 1


class Slerp(typing.NamedTuple):
    """Rotations between ones at known times, about a fixed axis each: Slerp.init(times, rotations), called at other times.

    >>> ends = Rotation.from_euler("z", asarray([[0.0], [90.0]]), degrees=True)
    >>> float(Slerp.init(asarray([0.0, 1.0]), ends)(0.5).as_euler("xyz", degrees=True).round(3)[2])
    45.0
    """

    times: typing.Any
    timedelta: typing.Any
    rotations: Rotation
    rotvecs: typing.Any

    @classmethod
    def init(cls, times, rotations):
        if not isinstance(rotations, Rotation):
            raise _core.OptionError(f"Slerp.init: rotations are a Rotation, not {rotations!r:.60}.")
        if rotations.single or len(rotations) == 1:
            raise ShapeError("Slerp.init: there are at least two rotations.")
        times = asarray(times)
        if times.ndim != 1 or times.shape[0] != len(rotations):
            raise ShapeError(f"Slerp.init: times of shape {times.shape} for {len(rotations)} rotations; there is one each.")
        times, steps, first, rotvecs = _core.slerp_init(times, rotations.quat)
        return cls(times, steps, Rotation(first), rotvecs)

    def __call__(self, times):
        at = asarray(times, dtype=self.times.dtype)
        if at.ndim > 1:
            raise ShapeError(f"Slerp: times are one number or a vector. Their shape is {at.shape}.")
        return Rotation(_core.slerp(self.times, self.timedelta, self.rotations.quat, self.rotvecs, at))
