"""The arm's numbers that vary. (Stands in for `Model(vary=)` until that is there.)"""

from flexarm.description.arm import Arm
from flexarm.mechanics.chain import named_chain
from flexarm.mechanics.parameters import Ledger, Parameter, fitting
from flexarm.model import Model


def parameters(arm: Arm, pattern: str) -> list[Parameter]:
    ledger = Ledger()
    named_chain(arm, ledger)
    return fitting([p for p in ledger.parameters.values() if not p.modal], pattern)


def at(arm: Arm, values: dict[str, float]) -> Model:
    for name, value in values.items():
        owner, _, field = name.partition(".")
        if owner == "payload":
            assert arm.payload is not None
            arm = arm.replace(payload=arm.payload.replace(**{field: value}))
            continue
        links = []
        for link in arm.links:
            if link.name == owner:
                part = "body" if field in type(link.body).model_fields else "joint"
                link = link.replace(**{part: getattr(link, part).replace(**{field: value})})
            links.append(link)
        arm = arm.replace(links=links)
    return Model(arm)
