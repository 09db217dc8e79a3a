"""Studies in TOML files or in the catalogue: a scenario, the parameters that vary, and the evaluation."""

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, Literal, final

from pydantic import BeforeValidator, Field

from flexarm import checks
from flexarm.checks import NOT_NEGATIVE, POSITIVE, Described, Fault, number, shown
from flexarm.description.load import NAMED_BY, catalogued, located, printable, read_toml, seen_from
from flexarm.errors import DescriptionError, errors_in
from flexarm.scenario import Scenario, load_scenario
from flexarm.simulation.performance import BAND
from flexarm.studies.conduct import Progress, conduct
from flexarm.studies.entry import planned
from flexarm.studies.plan import Plan

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from xarray import Dataset


def _table(value: object) -> Any:
    if not isinstance(value, Mapping):
        raise Fault("", f"is {shown(value)}; it must be a table")
    return dict(value)


@final
class Study(Described):
    """Runs of a scenario for many values of parameters. The fields are arguments of `study`.

    Parameters
    ----------
    name : str
        Name of the study.
    scenario : str, dict or Scenario
        Name of a bundled scenario, path of a scenario's .toml file (relative to the file of the study), or its tables.
    arm : dict
        Fields of the arm that differ from the scenario, such as a payload.
    parameters : dict
        Parameters that vary, as in `study`.
    design : str or dict
        Design of the study, as in `study`.
    keep, knows, band, after, chunk
        As in `study`.
    description : str
        Description of the study in words.
    """

    name: Annotated[str, checks.title]
    description: Annotated[str, checks.text] = ""
    scenario: Any
    arm: Annotated[dict[str, Any], BeforeValidator(_table)] = Field(default_factory=dict)
    parameters: Annotated[dict[str, Any], BeforeValidator(_table)]
    design: Any = "latin-hypercube"
    keep: Any = None
    knows: Literal["nominal", "true"] = "nominal"
    band: Annotated[float, number("", POSITIVE)] = BAND
    after: Annotated[float, number("s", NOT_NEGATIVE)] = 0.0
    chunk: Any = None

    def loaded_scenario(self) -> Scenario:
        """Return the scenario itself, with its arm as an object."""
        given = self.scenario
        with errors_in("scenario", "Scenario"):
            if isinstance(given, Mapping):
                given = Scenario(**{"name": self.name, **given})
            elif not isinstance(given, Scenario):
                given = load_scenario(given)
        arm = given.loaded_arm()
        with errors_in("arm", "Arm"):
            return given.replace(arm=arm.replace(**self.arm))  # type: ignore[no-any-return]

    def plan(self, runs: int | None = None) -> Plan:
        """Return the checked plan of the study, optionally with another number of runs."""
        return planned(
            self.loaded_scenario(),
            self.parameters,
            self.design,
            runs=runs,
            keep=self.keep,
            knows=self.knows,
            band=self.band,
            after=self.after,
            chunk=self.chunk,
            name=self.name,
            where="",
        )

    def run(
        self,
        executor: "Executor | str | int | None" = None,
        folder: str | PathLike[str] | None = None,
        progress: Progress | bool = True,
        runs: int | None = None,
    ) -> "Dataset":
        """Return the result of the study, see `study`."""
        return conduct(self.plan(runs), executor, folder, progress)


def bundled_studies() -> tuple[str, ...]:
    """Return the sorted names of the studies that come with the package."""
    return catalogued("study")


def load_study(name_or_path: str | PathLike[str]) -> Study:
    """Return a bundled study by its name, or a study from the path of a .toml file.

    Raises `DescriptionError` with a line that begins with the file's name.
    """
    file, given, folder = located("load_study", "study", name_or_path)
    table = read_toml(file, given)
    if "links" in table or ("until" in table and "arm" in table):
        what = "an arm" if "links" in table else "a scenario"
        raise DescriptionError(f"{printable(given)}: this is {what}, {NAMED_BY['study']}")
    scenario = table.get("scenario")
    if folder is not None and isinstance(scenario, str) and scenario.endswith(".toml"):
        table["scenario"] = str(folder / scenario)
    if isinstance(scenario, dict) and "arm" in scenario:
        scenario["arm"] = seen_from(folder, scenario["arm"])
    with errors_in(printable(given), "Study"):
        study = Study(**table)
        study.plan()
    return study
