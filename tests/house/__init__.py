"""The rules of the house: tidiness, the front door and packaging, held by tests and not by memory."""
