"""Arms from robot files: URDF, the format of ROS, MJCF, the format of MuJoCo, and SDF, the format of Gazebo.

`xml` parses elements with their line numbers, and `values` checks numbers. `urdf`, `mjcf` and `sdf` turn them into a
`robot`, and `assembly` turns a robot into an arm. MuJoCo runs in a separate process (`mjcf_process`). `sdf_files` finds
included files, `sdf_frames` resolves the poses of frames, and `sdf_gearboxes` makes joints follow others. `compounds`
makes several joints of one with several axes. `urdf_elements` reads numbers and poses of URDF, and `urdf_loops` the
elements that close loops.
"""

from flexarm.description.robots.reading import (
    RobotReport,
    UrdfReport,
    from_mjcf,
    from_sdf,
    from_urdf,
    robot_report,
    urdf_report,
)

__all__ = ["RobotReport", "UrdfReport", "from_mjcf", "from_sdf", "from_urdf", "robot_report", "urdf_report"]
