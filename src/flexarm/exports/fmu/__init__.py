"""Models as FMUs, for programs that co-simulate or integrate with the Functional Mock-up Interface."""
