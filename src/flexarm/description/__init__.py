"""What a user writes: an arm, its links, joints, bodies, sections; validated once."""
