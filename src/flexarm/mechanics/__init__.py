"""The mechanics: from a description to the recursions and all that can be asked of them, as CasADi expressions."""
