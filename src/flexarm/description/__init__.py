"""Description of an arm, written by the user and validated once: arm, links, joints, bodies and sections."""
