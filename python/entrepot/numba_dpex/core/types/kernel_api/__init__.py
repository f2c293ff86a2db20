"""Types of the kernel API's objects."""
