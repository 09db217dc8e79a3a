"""The recipe for conda packages agrees with pyproject.toml, and the workflow file with the repository."""

import re
import shlex
import tomllib
from importlib import metadata
from pathlib import Path

import yaml

import flexarm as fa

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))

NAMES = {"matplotlib": "matplotlib-base"}
"""Names of packages on conda-forge that differ from those on PyPI. `matplotlib` also installs a graphical toolkit."""

# -- conda -------------------------------------------------------------------------------------------------------------


def test_the_recipe_has_the_dependencies_of_the_project():
    expected = {}
    for line in PROJECT["dependencies"]:
        name, bounds = re.fullmatch(r"([\w-]+)(.*)", line).groups()
        expected[NAMES.get(name, name)] = bounds
    python, *others = RECIPE["requirements"]["run"]
    assert dict(line.split(" ", 1) for line in others) == expected
    assert python == "python >=${{ python_min }}"
    assert PROJECT["requires-python"] == f">={RECIPE['context']['python_min']}"


def test_the_recipe_builds_what_the_project_builds():
    assert RECIPE["schema_version"] == 1
    assert RECIPE["context"]["name"] == PROJECT["name"]
    assert RECIPE["context"]["version"] == fa.__version__
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert RECIPE["about"]["license_file"] == PROJECT["license-files"]
    assert RECIPE["about"]["summary"] == PROJECT["description"]
    assert (ROOT / "conda" / RECIPE["source"]["path"]).resolve() == ROOT
    assert RECIPE["build"]["noarch"] == "python"
    (command,) = RECIPE["build"]["python"]["entry_points"]
    assert dict([command.split(" = ")]) == PROJECT["scripts"]
    system = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    assert {*system["requires"]} < {*RECIPE["requirements"]["host"]}


# -- workflow ----------------------------------------------------------------------------------------------------------


def commands(job):
    return [shlex.split(step["run"]) for step in job["steps"] if "run" in step]


def test_the_workflow_runs_on_three_systems_with_every_version_of_python():
    matrix = WORKFLOW["jobs"]["systems"]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["system"]} == {"ubuntu", "macos", "windows"}
    known = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert matrix["python"] == known
    assert all(isinstance(version, str) for version in matrix["python"])  # 3.10 would be the number 3.1
    assert WORKFLOW[True].keys() >= {"push", "pull_request"}  # YAML reads the key `on` as true


def test_the_commands_of_the_workflow_exist():
    for command in commands(WORKFLOW["jobs"]["systems"]):
        assert command[0] == "python"
        if command[1] == "-m":
            metadata_of = {"pip": "pip", "pytest": "pytest"}.get(command[2])
            assert metadata.version(metadata_of) if metadata_of else command[2] == "compileall"
    (install, *_) = commands(WORKFLOW["jobs"]["systems"])
    extras = re.fullmatch(r"\.\[(.*)\]", install[-1])[1].split(",")
    assert {*extras} <= PROJECT["optional-dependencies"].keys()
    assert (ROOT / install[install.index("-c") + 1]).is_file()
    (check,) = commands(WORKFLOW["jobs"]["complete"])
    file = ROOT / check[0]
    assert file.is_file()
    assert file.read_text(encoding="utf-8").startswith("#!")


def test_the_options_of_pytest_in_the_workflow_are_known(pytestconfig):
    (options,) = [each[3:] for each in commands(WORKFLOW["jobs"]["systems"]) if each[2:3] == ["pytest"]]
    known = {name for group in pytestconfig._parser._groups for option in group.options for name in option.names()}
    given = {each.partition("=")[0] for each in options if each.startswith("-")}
    assert given <= known


def test_each_step_uses_an_action_or_runs_a_command():
    for job in WORKFLOW["jobs"].values():
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/none@v1"))
