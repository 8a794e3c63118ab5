"""What a fit returns: numbers, their information, verdicts."""
