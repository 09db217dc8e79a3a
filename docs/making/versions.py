"""Publish the built site as one version beside those of earlier releases.

    cd docs && python -m making.versions FOLDER

copies build/site to FOLDER/VERSION, and lists all versions in FOLDER/versions.json, newest first. Pages read this list
for the choice of a version. FOLDER/index.html leads to the newest version.
"""

import json
import re
import shutil
import sys
from pathlib import Path

import flexarm

SITE = Path(__file__).parents[2] / "build" / "site"
INDEX = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={0}/index.html">
<title>flexarm</title>
<a href="{0}/index.html">flexarm {0}</a>
"""


def publish(site: Path, folder: Path, version: str) -> list[str]:
    """Copy a site into its version's folder, and return all versions in the folder, newest first."""
    shutil.rmtree(folder / version, ignore_errors=True)
    shutil.copytree(site, folder / version)
    versions = sorted((path.parent.name for path in folder.glob("*/objects.inv")), key=numbers, reverse=True)
    (folder / "versions.json").write_text(json.dumps(versions) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(INDEX.format(versions[0]), encoding="utf-8")
    return versions


def numbers(version: str) -> list[int]:
    """Return the numbers of a version, so that 0.10 comes after 0.9."""
    return [int(number) for number in re.findall(r"\d+", version)]


if __name__ == "__main__":
    print(*publish(SITE, Path(sys.argv[1]), flexarm.__version__))
