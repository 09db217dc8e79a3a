"""Frames of an SDF model: their poses, and the links with which they move.

A `Scope` holds the frames of one model, or those of the world, by name. Names of nested models lead on: "hand::palm" is
the frame "palm" of the model "hand". A reference never leads out of its model. Therefore the poses of a scope are
computed in the frame of its model as soon as the model is read, before those of the model that contains it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from flexarm.checks import Fault, unknown_name
from flexarm.description.robots.place import HERE, Posed
from flexarm.description.robots.sdf_files import File
from flexarm.description.robots.xml import Element

MODEL, WORLD, BETWEEN = "__model__", "world", "::"


@dataclass
class Part:
    """A frame that an element defines: a link, a joint, a <frame> or a nested model.

    Attributes
    ----------
    raw : the pose as written, relative to the frame `relative`
    attached : the frame with which a joint or a <frame> moves
    inside : the frames of a nested model
    placement : the frame in a nested model that has the pose `raw`
    plain : True for a model whose name is not part of the names in it
    pose : the pose in the scope's frame, once it is computed
    link : the link with which a joint or a <frame> moves, or None for the world, once `linked` is True
    """

    kind: str
    name: str
    file: File
    element: Element
    raw: Posed
    relative: str
    attached: str = ""
    inside: "Scope | None" = None
    placement: str = ""
    plain: bool = False
    pose: Posed | None = None
    link: "Part | None" = None
    linked: bool = False

    def wrong(self, said: str) -> Fault:
        """Return an error in this element."""
        return self.file.wrong(self.element, f"{self.kind} {self.name!r}: {said}")


@dataclass
class Scope:
    """The frames of a model or of the world.

    Attributes
    ----------
    static : True if nothing in it moves, as in the world
    world : True for the world
    canonical : the link with which the frame of the model moves, or "" for the first link
    parts : all elements with a frame, in the order of the file
    merged : for names from merged models, the part that holds the merged model
    """

    static: bool
    world: bool = False
    canonical: str = ""
    parts: list[Part] = field(default_factory=list)
    merged: dict[str, Part] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._named: dict[str, Part] = {}
        self._leader = ""

    def add(self, part: Part) -> None:
        """Add an element. Raises `Fault` if its name is taken.

        Up to version 1.6 a joint may have the name of another element, which then has the frame of this name.
        """
        other = self._named.get(part.name)
        if part.name in self.merged:
            raise part.wrong("a merged model has a frame of this name")
        if other is not None and (part.file.minor > 6 or (part.kind == "joint") is (other.kind == "joint")):
            raise part.wrong("is defined twice" if part.kind == other.kind else f"a {other.kind} has the same name")
        self.parts.append(part)
        if other is None or other.kind == "joint":
            self._named[part.name] = part

    def merge(self, part: Part) -> None:
        """Add a model whose contents count as those of this scope."""
        assert part.inside is not None
        self.parts.append(part)
        for name in part.inside.names():
            if name in self._named or name in self.merged:
                raise part.wrong(f"the name {name!r} of the merged model is taken")
            self.merged[name] = part

    def names(self) -> Iterator[str]:
        """Return the names of all frames, without those in nested models."""
        yield from self._named
        yield from self.merged

    def find(self, path: str) -> "tuple[Part, str] | None":
        """Return the part to which a path leads, and the rest of the path in the model of this part."""
        if (part := self._named.get(path)) is not None:
            return part, ""
        if path in self.merged:
            return self.merged[path], path
        head, _, rest = path.partition(BETWEEN)
        if head in self.merged:
            return self.merged[head], path
        part = self._named.get(head)
        return None if part is None or part.inside is None else (part, rest)

    # poses

    def settle(self) -> None:
        """Compute the poses of all parts in the frame of this scope. Raises `Fault` for a reference to itself."""
        for part in self.parts:
            waiting: list[Part] = []
            ring: set[int] = set()
            at: Part | None = part
            while at is not None and at.pose is None:
                if id(at) in ring:
                    ways = " on ".join(repr(each.name) for each in [*waiting[waiting.index(at) :], at][:6])
                    raise at.wrong(f"its pose depends on itself: {ways}")
                ring.add(id(at))
                waiting.append(at)
                at = self._base(at)
            for each in reversed(waiting):
                each.pose = self._posed(each)

    def _base(self, part: Part) -> Part | None:
        """Return the part of this scope to whose frame a pose refers, or None for the frame of the scope."""
        return None if self.is_own(part.relative) else self.found(part, part.relative)[0]

    def _posed(self, part: Part) -> Posed:
        pose = self.pose(part.relative, part).then(part.raw)
        if part.placement:
            assert part.inside is not None
            pose = pose.then(part.inside.pose(part.placement, part).inverse())
        return pose

    def pose(self, path: str, by: Part) -> Posed:
        """Return the pose of a frame to which a part refers, in the frame of this scope."""
        if self.is_own(path):
            return HERE
        part, rest = self.found(by, path)
        assert part.pose is not None
        if not rest:
            return part.pose
        assert part.inside is not None
        return part.pose.then(part.inside.pose(rest, by))

    def is_own(self, path: str) -> bool:
        """Return True if a path means the frame of this scope."""
        return path in ("", MODEL) or (self.world and path == WORLD)

    def found(self, by: Part, path: str) -> tuple[Part, str]:
        """Return the part to which a path leads, and the rest, as `find` does. Raises `Fault` if there is none."""
        found = self.find(path)
        if found is None:
            names = [name for name in self.names() if name != by.name]
            raise by.wrong(unknown_name("refers to the unknown frame", path, names))
        return found

    # links

    def link(self, path: str, by: Part) -> Part | None:
        """Return the link with which a frame moves, or None for the world. Raises `Fault`."""
        scope, passed = self, set[tuple[int, str]]()
        ways: list[Part] = []
        found: Part | None = None
        while True:
            if (id(scope), path) in passed:
                raise by.wrong(f"the frame {path!r} is attached to itself")
            passed.add((id(scope), path))
            if scope.is_own(path):
                if scope.static:
                    break
                path = scope.canonical or scope.first(by)
                continue
            part, rest = scope.found(by, path)
            if rest:
                assert part.inside is not None
                scope, path = part.inside, rest
            elif part.kind == "link":
                found = part
                break
            elif part.linked:
                found = part.link
                break
            elif part.inside is not None:
                scope, path = part.inside, MODEL
            else:
                ways.append(part)
                path = part.attached
        for each in ways:
            each.link, each.linked = found, True
        return found

    def first(self, by: Part) -> str:
        """Return the link with which the frame of a model moves: the first link, or that of the first model."""
        self._leader = self._leader or self._found_leader(by)
        return self._leader

    def _found_leader(self, by: Part) -> str:
        for part in self.parts:
            if part.kind == "link":
                return part.name
            if part.kind == "merged":
                assert part.inside is not None
                if (link := next((x for x in part.inside.parts if x.kind == "link"), None)) is not None:
                    return link.name
        for part in self.parts:
            if part.inside is not None:
                return part.name
        raise by.wrong("refers to a model without links")


def every(scope: Scope, prefix: str = "", pose: Posed = HERE) -> Iterator[tuple[str, Scope, Posed]]:
    """Return a scope and all scopes in it, each after the one that contains it.

    Each comes with the beginning of its names, "hand::", and with the pose of its frame in the world.
    """
    yield prefix, scope, pose
    for part in scope.parts:
        if part.inside is not None and part.pose is not None:
            name = prefix if part.plain else f"{prefix}{part.name}{BETWEEN}"
            yield from every(part.inside, name, pose.then(part.pose))
