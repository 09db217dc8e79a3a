"""The mechanics of an arm: from a description to the recursions and all quantities of a model, as CasADi expressions.

- Links: `body` is their interface. `rigid`, `beam`, `finite`, `telescope` (with `telescope_shapes`), `segmented` and
  `segment` are the kinds, with `lumps` on them.
- Beams: `shaped`, `fields`, `second`, `expansion`, `series`, `modal` and `tensors` have their kinematics and integrals,
  `turning`, `strain` and `damping` the inertia of their sections, their strain energy and their losses.
- Force elements: `elements` is their interface. `friction`, `springs` (with stops and backlash) and `motors` act along
  joints, which `drive` adds to their links. `outside` has forces, contacts, struts, cables, bushings and a moving base,
  `stations` the sections on which they act, and `orbit` the gradient of gravity. The force of a potential is its
  gradient by CasADi (`elements.gradient`).
- Recursions: `chain` makes the tree of bodies, `spatial` has the elementary transforms, `moving` a body in motion, and
  `dynamics` the recursions. `lean` reduces frames, `combination` combines modes, and `links` joins segments.
  `remembered` lets the quantities of a model share the recursions' results. `closures` adds the reactions of closed
  loops, and `gears` eliminates the coordinates of joints that follow others.
- Results: `quantities` has one function for each quantity of a model. `factors` and `drawing` have further ones,
  and `obstacles` distances from obstacles.
- Parameters: `parameters` gives them names. `nominal` and `varied` are for those that vary.
"""
