"""Agents that are built on Amends as any user would build them: on its front door, and on nothing behind it."""
