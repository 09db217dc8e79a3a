"""Description of an arm, written by the user and validated once.

- `arm` has arms, `links` their links, and `load` reads arms from files. `tables` and `toml_text` read and write TOML,
  and `robots` reads URDF, MJCF and SDF.
- `bodies` has the base class of bodies. `beams` with `sections` and `stations`, and `finite` with `finite_file` and
  `mat_process`, are the flexible ones. `lumps` are fixed to bodies.
- `joints` has the joints and `drives` their drives, with the `parts` of `friction`, `springs` and `motors`. `presets`
  is a catalogue of drives. `gears` has joints that follow other joints, and `compounds` those with several axes.
  `couplings` are between joints, `closures` close loops by joints or by springs, and `tree` has the parents of links.
- `outside` has forces, contacts and a moving base, `struts` springs between points, `cables` cables that only pull,
  `free` a free base, `wheels` its reaction wheels, and `slosh` the liquid in tanks. `obstacles` has spheres and planes
  that an arm must not touch.
- `numbers` finds parameters by their names, and `plausible` warns about values in the wrong unit.
"""
