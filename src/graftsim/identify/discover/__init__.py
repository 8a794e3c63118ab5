"""Finding the missing effect: score tests, formulas, sparsity."""
