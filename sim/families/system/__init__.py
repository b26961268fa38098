"""Systems of tiles from a user's file."""
