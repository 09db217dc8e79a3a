"""Pictures of environments: the arm's neutral axes, its joints, its tip and the tip's target."""

from typing import Any, final

import numpy as np

from flexarm import style
from flexarm.arrays import Array
from flexarm.gymnasium.episodes import Episodes
from flexarm.model.drawing import drawn
from flexarm.plots.camera import chosen_camera, floor, upright

SIDE = 4.0
"""Side of a picture [inch]."""
DOTS = 100
"""Dots per inch."""


@final
class Picture:
    """Drawing of arms of one kind, with a camera that shows all of their reach."""

    def __init__(self, episodes: Episodes):
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        self._episodes = episodes
        model = episodes.ground.model
        here = drawn(model, episodes.ground.q)[0][..., :3].reshape(-1, 3)
        turned = drawn(model, episodes.ground.posture(episodes.ground.joints + _turns(model))[0])[0][..., :3]
        across, size = np.ptp(np.vstack([here, turned.reshape(-1, 3)]), axis=0), 1.05 * episodes.ground.reach
        up = upright(model.arm.gravity)
        camera = chosen_camera(None, across, size, up)
        self._camera, base = camera, here[0]
        middle = camera.seen(base)
        box = np.array([middle - size, middle + size])
        figure = style.figure(SIDE, SIDE, False, dpi=DOTS)
        axes = figure.add_axes((0.18, 0.14, 0.8, 0.84) if camera.axes else (0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(*box[:, 0])
        axes.set_ylim(*box[:, 1])
        axes.set_aspect("equal")
        floor(axes, camera, up, np.array([base - size, base + size]), box, size)
        look: dict[str, Any] = {"linewidth": style.BROAD, "marker": "o", "markevery": [0], "zorder": 2}
        self._links = [axes.plot([], [], **look, color=style.curve(i)["color"])[0] for i in range(len(model.arm.links))]
        self._wanted = axes.plot([], [], **style.pole(0) | {"color": style.INK, "zorder": 3})[0]
        self._canvas = FigureCanvasAgg(style.finished(figure))

    def of(self, i: int) -> Array:
        """Return a picture of one of the arms, (height, width, 3) of bytes."""
        episodes = self._episodes
        q = episodes.state[i, : episodes.ground.model.nq]
        model = episodes.ground.model
        model = model.at(episodes.stepper.p[i]) if model.varied else model
        stations, _ = drawn(model, q)
        for line, points in zip(self._links, stations[..., :3], strict=True):
            line.set_data(*self._camera.seen(points).T)
        self._wanted.set_data(*self._camera.seen(episodes.wanted[0][i])[:, None])
        self._canvas.draw()
        return np.array(self._canvas.buffer_rgba())[..., :3].copy()


def _turns(model: Any) -> Array:
    """Return small random joint motions that show the plane in which an arm moves, (5, j)."""
    return 0.1 * np.random.default_rng(1).normal(size=(5, len(model.arm.driven)))
