"""What flexarm costs, measured: `make bench`."""
