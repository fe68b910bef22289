"""The test-suite; a package, so that worker processes can import functions that tests define."""
