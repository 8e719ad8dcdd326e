"""What Amends promises, as a manifest of requirements that the tests must cover, both ways."""
