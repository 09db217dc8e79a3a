"""Identification of an arm's parameters from measured data."""
