"""What is drawn in a figure, as numbers and texts: axes, labels, limits, the data of every line."""

import numpy as np


def drawn(figure):
    """One table for each pair of axes that shows data, plain enough for JSON."""
    return [_axes(axes) for axes in figure.axes if axes.axison and _has_data(axes)]


def keep_what_is_saved():
    """From now on every figure that this process saves leaves what it shows in the list that is returned."""
    from matplotlib.figure import Figure

    kept, save = [], Figure.savefig

    def saved(figure, *arguments, **options):
        save(figure, *arguments, **options)
        kept.append(drawn(figure))

    Figure.savefig = saved
    return kept


def lines(axes):
    """The data (2, points) of every line that has a label, by that label."""
    return {line["label"]: np.array([line["x"], line["y"]]) for line in axes["lines"] if line["label"]}


def assert_readable(tables):
    """A reader sees what is what: axes with names, curves of finite numbers inside the limits, told apart.

    One legend may do for axes with the same curves.
    """
    assert tables, "nothing is drawn"
    legend = any(axes["legend"] for axes in tables)
    for axes in tables:
        where = axes["title"] or axes["y"]
        assert axes["x"], f"{where}: the axis across has no name"
        assert axes["y"] or axes["title"], f"{where}: the axis upwards has no name"
        for line in axes["lines"]:
            data = np.array([line["x"], line["y"]], dtype=float)
            shown = np.isfinite(data).all(axis=0)
            assert shown.any(), f"{where}: {line['label']} has no finite number"
            low, high = np.sort([axes["x limits"], axes["y limits"]], axis=1).T
            inside = (data[:, shown] >= low[:, None]) & (data[:, shown] <= high[:, None])
            assert inside.all(axis=0).any(), f"{where}: {line['label']} is nowhere inside the limits"
        assert len(axes["lines"]) < 2 or legend or axes["title"], f"{where}: several curves and no legend"
        assert legend or not lines(axes), f"{where}: curves have names that are not shown"


def _has_data(axes):
    return bool(axes.lines or axes.collections or axes.patches or axes.images)


def _axes(axes):
    below = [*axes.get_shared_x_axes().get_siblings(axes), *_in_line(axes, "colspan")]
    beside = [*axes.get_shared_y_axes().get_siblings(axes), *_in_line(axes, "rowspan")]
    return {
        "title": axes.get_title(),
        "x": next((each.get_xlabel() for each in [axes, *below] if each.get_xlabel()), ""),
        "y": next((each.get_ylabel() for each in [axes, *beside] if each.get_ylabel()), ""),
        "x limits": list(map(float, axes.get_xlim())),
        "y limits": list(map(float, axes.get_ylim())),
        "scales": [axes.get_xscale(), axes.get_yscale()],
        "legend": axes.get_legend() is not None or any(axes.figure.legends),
        "lines": [_line(line) for line in axes.lines if _in_data(line)],
    }


def _in_line(axes, span):
    """Those above and below, or beside, where only the outer ones have names (`label_outer`)."""
    place = axes.get_subplotspec()
    others = [each for each in axes.figure.axes if place and each.get_subplotspec()]
    return [each for each in others if getattr(each.get_subplotspec(), span) == getattr(place, span)]


def _in_data(line):
    """Not a mark right across the axes, which counts in shares of them."""
    return all(line.get_transform().contains_branch_seperately(line.axes.transData))


def _line(line):
    label = str(line.get_label())
    x, y = (np.ravel(np.asarray(data, dtype=float)).tolist() for data in (line.get_xdata(), line.get_ydata()))
    return {"label": "" if label.startswith("_") else label, "x": x, "y": y}


def style_faults(figure):
    """What of a figure does not follow the house style, a line each: cards, colours, letters, curves told apart."""
    from matplotlib.colors import to_hex
    from matplotlib.text import Text

    from flexarm import style

    dark = figure.get_gid() == "flexarm-dark"
    paper, ink = (style.DARK_PAPER, style.DARK_INK) if dark else (style.PAPER, style.INK)
    faults = [] if figure.get_gid() else ["it is no card of the house"]
    if to_hex(figure.get_facecolor()) != paper:
        faults.append(f"the card is {to_hex(figure.get_facecolor())}")
    known = {ink, style.SOFT, *style.COLOURS}
    widths = {style.CURVE, style.THIN, style.BROAD, style.FINE}
    for axes in figure.axes:
        where = axes.get_title() or axes.get_ylabel()
        for line in axes.lines:
            if to_hex(line.get_color()) not in known:
                faults.append(f"{where}: a line is {to_hex(line.get_color())}")
            if not _only_points(line) and line.get_linewidth() not in widths:
                faults.append(f"{where}: a line is {line.get_linewidth()} points wide")
        looks = {}
        for line in axes.lines:
            if not str(line.get_label()).startswith("_"):
                look = (
                    None if _only_points(line) else (str(line._unscaled_dash_pattern), line.get_linewidth()),
                    *_mark(line),
                )
                if look in looks:
                    faults.append(f"{where}: {line.get_label()} and {looks[look]} differ in colour alone")
                looks[look] = line.get_label()
        texts = [text for text in axes.findobj(Text) if text.get_text()]
        faults += [
            f"{where}: {text.get_text()!r} is {to_hex(text.get_color())}"
            for text in texts
            if to_hex(text.get_color()) not in known
        ]
        for part in (*axes.patches, *axes.collections):
            for color in {*map(to_hex, np.reshape(part.get_facecolor(), (-1, 4)))} if not part.get_gid() else ():
                if color not in {*known, paper}:
                    faults.append(f"{where}: a face is {color}")
    texts = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    faults += [
        f"{text.get_text()!r} is {to_hex(text.get_color())}" for text in texts if to_hex(text.get_color()) != ink
    ]
    return faults


def _mark(line):
    """Form, size, and whether it is filled."""
    none = line.get_marker() in ("None", "", " ", "none")
    return () if none else (line.get_marker(), line.get_markersize(), str(line.get_markerfacecolor()) == "none")


def _only_points(line):
    return line.get_linestyle() in ("None", "", " ", "none")
