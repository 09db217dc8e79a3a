"""The equations of motion as expressions to read and export."""
