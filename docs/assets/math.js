// Formulas as MathML, which browsers draw themselves: no fonts, no style sheet, no network.
document.addEventListener("DOMContentLoaded", () => {
  for (const span of document.querySelectorAll(".arithmatex")) {
    const display = span.textContent.trim().startsWith("\\[");
    const source = span.textContent.trim().slice(2, -2);
    katex.render(source, span, { displayMode: display, output: "mathml", throwOnError: false });
  }
});
