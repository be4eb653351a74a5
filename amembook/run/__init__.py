"""What runs, keeps, judges and reads the studies of the book."""
