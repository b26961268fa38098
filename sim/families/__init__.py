"""What commands of one family do."""
