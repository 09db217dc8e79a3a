"""From a model to a machine: code for a controller's board, loops in real time, and twins of measured rigs."""
