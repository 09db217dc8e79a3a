"""Arms from robot files: URDF, the format of ROS, and MJCF, the format of MuJoCo."""

from flexarm.description.robots.reading import (
    RobotReport,
    UrdfReport,
    from_mjcf,
    from_urdf,
    robot_report,
    urdf_report,
)

__all__ = ["RobotReport", "UrdfReport", "from_mjcf", "from_urdf", "robot_report", "urdf_report"]
