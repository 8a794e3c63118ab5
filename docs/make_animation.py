"""Draw the README's animation: the demo's quadruped trots, and is pulled aside with the mouse.

The live viewer is filmed in a browser without a window: python docs/make_animation.py [BROWSER]
"""

import os

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import subprocess
import sys
import tempfile
import time

import numpy as np
from PIL import Image

from graftsim.viewer.demos import LaikagoTrot
from graftsim.viewer.live.viewer import Viewer
from graftsim.viewer.motion import quaternions

OUT = "docs/images/laikago.webp"
WIDTH, HEIGHT, SHOWN, FPS, BEGIN, SECONDS = 960, 540, (640, 360), 20, 1.0, 4.0
# The pull, s: from, to; and how the pointer moves meanwhile, m/s: along with the robot, and aside.
PULL, POINTER = (2.0, 2.8), np.array([0.25, 0.4, 0.0])
EYE, FIELD = np.array([1.35, -1.75, 0.55]), np.deg2rad(32.0)


def main(browser: str) -> None:
    """Steps the viewer frame by frame, and asks the browser for a picture of each."""
    scene = LaikagoTrot().scene()
    dt = float(scene.simulator.dt)
    with (
        tempfile.TemporaryDirectory() as profile,
        Viewer(scene.simulator, scene.state, policy=scene.policy, port=0, playing=False) as viewer,
    ):
        viewer.arrows.scale = 1.5
        viewer.step(round(BEGIN / dt))
        shown = subprocess.Popen(
            [browser, "--headless=new", "--no-sandbox", "--use-gl=angle",
             "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
             f"--window-size={WIDTH},{HEIGHT + 200}", f"--user-data-dir={profile}",
             "--remote-debugging-port=0", viewer.url],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            images = film(viewer, dt)
        finally:
            shown.terminate()
            shown.wait()
    pictures = [Image.fromarray(x[..., :3]).resize(SHOWN, Image.Resampling.LANCZOS) for x in images]
    pictures[0].save(
        OUT, save_all=True, append_images=pictures[1:], duration=round(1000 / FPS), loop=0,
        quality=60, method=6,
    )  # fmt: skip
    print(f"{OUT}: {len(pictures)} frames, {os.path.getsize(OUT) / 1e3:.0f} kB")


def film(viewer: Viewer, dt: float) -> list[np.ndarray]:
    """Pictures [h, w, 3] of each frame, the camera beside the trunk."""
    late = time.monotonic() + 180
    while not viewer._server.get_clients():
        if time.monotonic() > late:
            raise SystemExit("The browser did not open the page within three minutes.")
        time.sleep(0.2)
    client = next(iter(viewer._server.get_clients().values()))
    # The page fades in.
    time.sleep(8.0)
    images, frames, held = [], round(SECONDS * FPS), None
    for k in range(frames):
        now = BEGIN + k / FPS
        trunk = np.asarray(viewer.state.q[:3])
        if PULL[0] <= now < PULL[1]:
            phase = "start" if held is None else "update"
            held = trunk + np.array([0.0, 0.15, 0.0]) if held is None else held
            end = held + (now - PULL[0]) * POINTER
            viewer.loop.ask(lambda p=phase, a=held, b=end: viewer.hand.drag(0, p, a, b))
        elif held is not None:
            viewer.loop.ask(viewer.hand.release)
        viewer.step(round(1 / FPS / dt))
        time.sleep(0.15)
        place = np.array([trunk[0], 0.0, 0.0])
        images.append(picture(client, place + EYE, place + np.array([0.0, 0.0, 0.27])))
        print(f"\r{k + 1}/{frames}", end="", flush=True)
    print()
    return images


def picture(client, eye: np.ndarray, at: np.ndarray) -> np.ndarray:
    """What a camera at `eye` that looks at a point sees."""
    forward = (at - eye) / np.linalg.norm(at - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right = right / np.linalg.norm(right)
    turn = np.stack([right, np.cross(forward, right), forward], 1)
    return client.get_render(
        HEIGHT, WIDTH, wxyz=quaternions(turn[None])[0], position=eye, fov=FIELD, timeout=60.0
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "chromium")
