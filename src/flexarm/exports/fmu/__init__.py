"""A model as an FMU, for whatever program co-simulates or integrates by the Functional Mock-up Interface."""
