"""Environments for Gymnasium: an arm that learns to reach, to track, or to suppress vibration.

    import gymnasium
    import flexarm.gymnasium
    env = gymnasium.make("flexarm/Suppress-v0", arm="canadarm")
    envs = gymnasium.make_vec("flexarm/Suppress-v0", num_envs=64, arm="canadarm")

Importing this module registers the environments, as does `gymnasium.make("flexarm.gymnasium:flexarm/Reach-v0")`. The
module needs the extra `gymnasium`.
"""

try:
    import gymnasium
except ImportError:
    from flexarm.errors import FlexarmError

    raise FlexarmError(
        "flexarm.gymnasium needs Gymnasium, which is not installed: pip install 'flexarm[gymnasium]'"
    ) from None

from flexarm.gymnasium.environments import ArmEnv, ArmVectorEnv
from flexarm.gymnasium.tasks import TASKS, Reach, Suppress, Track

__all__ = ["ArmEnv", "ArmVectorEnv", "Reach", "Suppress", "Track"]

for _name in TASKS:
    gymnasium.register(
        f"flexarm/{_name}-v0",
        entry_point="flexarm.gymnasium:ArmEnv",
        vector_entry_point="flexarm.gymnasium:ArmVectorEnv",
        kwargs={"task": _name},
    )
