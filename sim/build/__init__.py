"""From a component to a program that simulates it."""
