"""Visualization of an arm and of its motion: pages for the browser, films and pictures."""
