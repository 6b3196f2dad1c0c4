"""Methods: each solves a whole motion under constraints, one file under its published name."""

from __future__ import annotations

from footplant.errors import ConstraintError
from footplant.problem import Ik, Method

NAMES = ("hierarchical", "filtered", "perframe", "warping", "perkey", "spacetime")
"""Every method, by the name that commands take."""
WITH_EXACT_PASS = ("hierarchical", "filtered", "spacetime")
"""Those that can leave out their last pass, in which constraints are enforced exactly."""


def method_of(name: str, *, exact: bool = True, ik: Ik | None = None) -> Method:
    """A method by its name. exact: whether those that can end on an exact pass do. ik: what poses single frames."""
    if name == "hierarchical":
        from footplant.solve.methods.hierarchical import Hierarchical

        return Hierarchical(ik, exact=exact)
    if name == "filtered":
        from footplant.solve.methods.filtered import Filtered

        return Filtered(ik, exact=exact)
    if name == "perframe":
        from footplant.solve.methods.perframe import PerFrame

        return PerFrame(ik)
    if name == "warping":
        from footplant.solve.methods.warping import Warping

        return Warping(ik)
    if name == "perkey":
        from footplant.solve.methods.perkey import PerKey

        return PerKey(ik)
    if name == "spacetime":
        from footplant.solve.methods.spacetime import Spacetime

        return Spacetime(exact=exact, ik=ik)
    raise ConstraintError(f"expected a method among {', '.join(NAMES)}; got {name!r}")
