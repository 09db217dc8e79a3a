"""Arms from URDF files, the format in which ROS describes robots."""

from flexarm.description.robots.reading import UrdfReport, from_urdf, urdf_report

__all__ = ["UrdfReport", "from_urdf", "urdf_report"]
