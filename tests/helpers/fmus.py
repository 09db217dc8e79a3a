"""FMUs of both versions, called function by function through FMPy."""

import ctypes
from contextlib import contextmanager
from xml.etree import ElementTree
from zipfile import ZipFile

import fmpy
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave

KINDS = {
    ("2.0", "together"): FMU2Slave, ("2.0", "exchange"): FMU2Model,
    ("3.0", "together"): FMU3Slave, ("3.0", "exchange"): FMU3Model,
}  # fmt: skip


class Called:
    """One instance; values by the names of variables."""

    def __init__(self, path, folder, kind="together", name="", token=None, logging=False):
        self.said = fmpy.read_model_description(str(path))
        two = self.said.fmiVersion == "2.0"
        folder = folder / self.said.guid  # a library that is loaded must not be written again
        if not folder.exists():
            fmpy.extract(str(path), str(folder))
        self.fmu = KINDS[self.said.fmiVersion, kind](
            guid=self.said.guid if token is None else token,
            unzipDirectory=str(folder),
            modelIdentifier=self.said.coSimulation.modelIdentifier,
            instanceName=name or self.said.modelName,
        )
        self.two = two
        self.references = {each.name: each.valueReference for each in self.said.modelVariables}
        self.fmu.instantiate(loggingOn=logging)

    def names(self, causality):
        return [each.name for each in self.said.modelVariables if each.causality == causality]

    @property
    def states(self):
        return [each.derivative.name for each in self.said.modelVariables if each.derivative is not None]

    def begin(self, start=None, time=0.0):
        """Through the initialization, with some start values."""
        if self.two:
            self.fmu.setupExperiment(startTime=time)
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(startTime=time)
        self.set(start or {})
        self.fmu.exitInitializationMode()
        return self

    def get(self, names):
        references = [self.references[name] for name in names]
        return self.fmu.getReal(references) if self.two else self.fmu.getFloat64(references)

    def set(self, values):
        references = [self.references[name] for name in values]
        given = list(map(float, values.values()))
        if given:
            self.fmu.setReal(references, given) if self.two else self.fmu.setFloat64(references, given)

    def step(self, t, h):
        self.fmu.doStep(currentCommunicationPoint=t, communicationStepSize=h)

    def status_of_step(self, t, h):
        """The status that C returns, which `step` does not give: 0 is OK, 1 a warning."""
        if self.two:
            return self.fmu.fmi2DoStep(self.fmu.component, t, h, True)
        flags, last = [ctypes.c_bool() for _ in range(3)], ctypes.c_double()
        return self.fmu.fmi3DoStep(self.fmu.component, t, h, True, *map(ctypes.byref, [*flags, last]))

    def slope(self, unknowns, knowns, seed):
        refer = [[self.references[name] for name in names] for names in (unknowns, knowns)]
        return self.fmu.getDirectionalDerivative(*refer, seed)

    def adjoint(self, unknowns, knowns, seed):
        refer = [[self.references[name] for name in names] for names in (unknowns, knowns)]
        return self.fmu.getAdjointDerivative(*refer, seed, len(knowns))

    def saved(self):
        return self.fmu.getFMUstate() if self.two else self.fmu.getFMUState()

    def restore(self, state):
        self.fmu.setFMUstate(state) if self.two else self.fmu.setFMUState(state)

    def free(self, state):
        self.fmu.freeFMUstate(state) if self.two else self.fmu.freeFMUState(state)

    def in_bytes(self, state):
        return self.fmu.serializeFMUstate(state) if self.two else self.fmu.serializeFMUState(state)

    def from_bytes(self, text):
        return self.fmu.deSerializeFMUstate(text) if self.two else self.fmu.deserializeFMUState(text)


@contextmanager
def called(path, folder, **given):
    """An instance that is let go in the end."""
    found = Called(path, folder, **given)
    try:
        yield found
    finally:
        found.fmu.freeInstance()


def described(path):
    """The root of an FMU's modelDescription.xml."""
    with ZipFile(path) as archive:
        return ElementTree.fromstring(archive.read("modelDescription.xml"))
