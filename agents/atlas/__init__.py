"""Atlas, the reference agent: it works for counsel, proposes writes and says honestly what became of them."""
