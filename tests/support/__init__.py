"""What tests share and users do not need. Tests import from here, and not each other's helpers."""
