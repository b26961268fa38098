"""Observed against claimed: verdicts and their evidence."""
