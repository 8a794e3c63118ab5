"""Programs of scalar operations: their arrays, and how a traced function becomes one."""
