"""Check of the arms that a page can simulate. It needs only the description, so that it loads nothing slow."""

from flexarm.description.arm import Arm


def unplayable(arm: Arm) -> str:
    """Return the reason why a page cannot simulate an arm's drives or external loads, or "" if it can."""
    if arm.closures:
        return f" has closures ({arm.closures[0].name}, ...), which the live page does not support; use closures=()"
    if arm.balls:
        name = arm.links[arm.balls[0]].name
        return f" has a ball joint (link {name!r}), which the live page does not support; use angles = true"
    if arm.couplings:
        return " has coupled joints, which the live page does not support; use couplings=()"
    bare = arm.without_drives()
    if more := (*bare.states, *bare.exogenous):
        base = "a base without orbit" if arm.free else "base=None"
        how = f"smooth friction of contacts, forces=(), cables without input and {base}"
        return f" has {more[0]}, which the live page does not support; use {how}"
    if more := (*arm.states, *arm.exogenous):
        how = "use arm.without_drives(), or smooth friction"
        return f": its drives have {more[0]}, which the live page does not support; {how}"
    if "V" in arm.input_units:
        name = arm.inputs[arm.input_units.index("V")]
        return (
            f": the input {name!r} is a voltage; the controllers of the live page return torques: use "
            "arm.without_drives()"
        )
    return ""
