"use strict";

{
  const kinds = { results: flexarm.Results, modes: flexarm.Modes, still: flexarm.Still };
  const data = flexarm.data();
  new kinds[data.kind](data);
}
