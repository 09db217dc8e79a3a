"""The picture of the packages and their imports on the page Architecture.

    cd docs && python -m making.packages

writes `understand/figures/packages.svg`. The arrows are the imports that grimp finds in the source. An arrow is left
out where a longer path of arrows leads to the same package. A test compares the file with what this module draws.
"""

from pathlib import Path

import grimp

FILE = Path(__file__).parents[1] / "understand" / "figures" / "packages.svg"

PLACES = {
    "cli": (2.0, 0.0),
    "gymnasium": (0.0, 1.0),
    "commands": (2.0, 1.0),
    "jax": (3.0, 1.0),
    "torch": (4.0, 1.0),
    "studies": (1.0, 2.0),
    "problems": (2.0, 2.0),
    "pictures": (3.0, 2.0),
    "hardware": (4.0, 2.0),
    "plots": (0.0, 3.0),
    "scenario": (2.0, 3.0),
    "exports": (4.0, 3.0),
    "robust": (3.0, 3.0),
    "estimation": (0.0, 4.0),
    "control": (1.5, 4.0),
    "optimal": (2.5, 4.0),
    "differentiable": (3.5, 4.0),
    "analysis": (2.0, 5.0),
    "identification": (0.0, 6.0),
    "closed_forms": (4.0, 6.0),
    "simulation": (2.0, 6.0),
    "trajectory": (1.0, 7.0),
    "sensors": (3.0, 7.0),
    "model": (2.0, 8.0),
    "presets": (0.0, 9.0),
    "mechanics": (2.0, 9.0),
    "native": (4.0, 9.0),
    "description": (2.0, 10.0),
    "catalogue": (1.0, 11.0),
    "shapes": (3.0, 11.0),
}
"""Column and row of each package. Arrows point downwards, or sideways."""

SMALL = (
    "__main__ papers drives arrays axes checks files versions errors version progress style attitude quaternions brief"
    " cached child_process escape figure floating forks interrupts renamed"
).split()
"""Former names, and small modules that all packages may use. The picture leaves them out."""

ACROSS, DOWN, WIDTH, HEIGHT, MARGIN = 130, 58, 108, 32, 12
"""Distances and sizes of the boxes, and the margin around the picture, in pixels."""

STYLE = """
text { font: 14px system-ui, sans-serif; text-anchor: middle; fill: #1f2328 }
rect { fill: #eef2f7; stroke: #57606a }
path { fill: none; stroke: #57606a; stroke-width: 1.3; marker-end: url(#head) }
#head path { fill: #57606a; stroke: none; marker-end: none }
@media (prefers-color-scheme: dark) {
text { fill: #d7dae0 }
rect { fill: #262a33; stroke: #9aa3af }
path { stroke: #9aa3af }
#head path { fill: #9aa3af }
}
""".strip()


def packages() -> dict[str, set[str]]:
    """Return the packages that each package imports, without the small ones."""
    graph = grimp.build_graph("flexarm", exclude_type_checking_imports=True, cache_dir=None)
    names = {module.removeprefix("flexarm.") for module in graph.find_children("flexarm")} - {*SMALL}

    def imports(a: str, b: str) -> bool:
        return graph.direct_import_exists(importer=f"flexarm.{a}", imported=f"flexarm.{b}", as_packages=True)

    return {a: {b for b in names if b != a and imports(a, b)} for a in names}


def reduced(imported: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the arrows without those that a longer path replaces."""

    def reached(a: str) -> set[str]:
        return imported[a].union(*(reached(b) for b in imported[a]))

    return sorted((a, b) for a, few in imported.items() for b in few if not any(b in reached(c) for c in few - {b}))


def picture(arrows: list[tuple[str, str]]) -> str:
    """Return the SVG."""
    columns, rows = (max(each) for each in zip(*PLACES.values(), strict=True))
    width, height = (2 * MARGIN + round(count * step + size) for count, step, size in
                     ((columns, ACROSS, WIDTH), (rows, DOWN, HEIGHT)))  # fmt: skip
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<style>\n{STYLE}\n</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M 0 0 L 8 4 L 0 8 z"/></marker></defs>',
        *(_arrow(a, b) for a, b in arrows),
        *(_box(name) for name in PLACES),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _middle(name: str) -> tuple[float, float]:
    column, row = PLACES[name]
    return MARGIN + WIDTH / 2 + column * ACROSS, MARGIN + HEIGHT / 2 + row * DOWN


def _box(name: str) -> str:
    x, y = _middle(name)
    shape = f'<rect x="{x - WIDTH / 2:g}" y="{y - HEIGHT / 2:g}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
    return f'{shape}<text x="{x:g}" y="{y + 5:g}">{name}</text>'


def _arrow(a: str, b: str) -> str:
    """Return an arrow from box a to box b, around the boxes of other rows between them."""
    (x, y), (u, v), side = _middle(a), _middle(b), WIDTH / 2
    right = side if u > x else -side
    if y == v:
        return _path(x + right, y, x + right, y, u - right, v, u - right, v)
    if v - y <= DOWN or x == u:
        y, v, bend = y + HEIGHT / 2, v - HEIGHT / 2, (v - y - HEIGHT) / 2
        return _path(x, y, x, y + bend, u, v - bend, u, v)
    below = any(column == PLACES[a][0] and PLACES[a][1] < row <= PLACES[b][1] for column, row in PLACES.values())
    if below:  # leave from the side
        return _path(x + right, y, u, y, u, y, u, v - HEIGHT / 2)
    return _path(x, y + HEIGHT / 2, x, v, x, v, u - right, v)


def _path(*numbers: float) -> str:
    return '<path d="M {:g} {:g} C {:g} {:g} {:g} {:g} {:g} {:g}"/>'.format(*numbers)


if __name__ == "__main__":
    FILE.write_text(picture(reduced(packages())), encoding="utf-8")
