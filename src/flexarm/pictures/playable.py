"""Which arms a page can play with; asked of the description alone, so that asking loads nothing that takes long."""

from flexarm.description.arm import Arm


def unplayable(arm: Arm) -> str:
    """Why a page cannot follow what drives an arm, or what acts from outside; "" where it can."""
    if arm.free:
        return ": its base is free, which a page does not follow; look at a run of it, flexarm view, or give base=None"
    bare = arm.without_drives()
    if more := (*bare.states, *bare.exogenous):
        how = "smooth friction of contacts, forces=() and base=None"
        return f" has {more[0]}, which a page does not follow; give {how}"
    if more := (*arm.states, *arm.exogenous):
        how = "give arm.without_drives(), or smooth friction"
        return f": its drives have {more[0]}, which a page does not follow; {how}"
    if "V" in arm.input_units:
        name = arm.inputs[arm.input_units.index("V")]
        return f": the input {name!r} is a voltage; the page's controllers give torques: give arm.without_drives()"
    return ""
