"""Arms from robot files: URDF, the format of ROS, and MJCF, the format of MuJoCo.

`xml` parses elements with their line numbers. `urdf` and `mjcf` turn them into a `robot`, and `assembly` turns a robot
into an arm. MuJoCo runs in a separate process (`mjcf_process`).
"""

from flexarm.description.robots.reading import (
    RobotReport,
    UrdfReport,
    from_mjcf,
    from_urdf,
    robot_report,
    urdf_report,
)

__all__ = ["RobotReport", "UrdfReport", "from_mjcf", "from_urdf", "robot_report", "urdf_report"]
