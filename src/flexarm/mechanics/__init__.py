"""The mechanics of an arm: from a description to the recursions and all quantities of a model, as CasADi
expressions."""
