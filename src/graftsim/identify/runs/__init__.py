"""Running a problem: compiled residuals, local solves, gradients, simulations that diverge."""
