"""What is seen of an arm and of its motion: pages for the browser, and pictures that move."""
