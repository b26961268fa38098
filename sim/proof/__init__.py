"""Properties through a model checker, what they assume, and explorations of every state."""
