"""Photograph what a first reader sees in a browser: the report of a fit, and the robot.

python benchmarks/first_path.py --keep FOLDER
python docs/make_screenshots.py FOLDER [BROWSER]
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

IMAGES = Path(__file__).parent / "images"
FIT = "double-pendulum-fit"
WIDTH, HEIGHT = 1200, 700
# Page, part of it (left, top, right, bottom) in pixels of a window, width of the picture.
SHOWN = {
    "report": (f"{FIT}/report.html", (0, 0, 1200, 1240), 800),
    "fitted_robot": ("motion.html", (480, 140, 840, 390), 480),
}
ROBOT = [
    sys.executable, "-m", "graftsim", "simulate", f"{FIT}/robot.xml", "--q", "arm1=1.2", "arm2=0.8",
    "--seconds", "2", "--view", "motion.html",
]  # fmt: skip


def photograph(page: Path, box: tuple[int, int, int, int], browser: str) -> Image.Image:
    """The part of a page, light, after its scripts have run."""
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "page.png"
        subprocess.run(
            [browser, "--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
             "--enable-unsafe-swiftshader", "--hide-scrollbars", "--virtual-time-budget=12000",
             f"--user-data-dir={folder}", f"--window-size={WIDTH},{max(HEIGHT, box[3])}",
             f"--screenshot={picture}", page.resolve().as_uri()],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return Image.open(picture).convert("RGB").crop(box)


def main(folder: str, browser: str = "chromium") -> None:
    """A WebP each."""
    subprocess.run(ROBOT, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    for name, (page, box, width) in SHOWN.items():
        picture = photograph(Path(folder) / page, box, browser)
        height = round(picture.height * width / picture.width)
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
        out = IMAGES / f"{name}.webp"
        picture.save(out, quality=60, method=6)
        print(f"{out}: {width} x {height}, {out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
