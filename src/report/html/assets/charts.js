// Draws the figures: each has the name of a Vega-Lite specification, its data as JSON, and a legend of its own. Expressions
// are interpreted, not compiled, so that the page's policy can forbid eval.
"use strict";
(() => {
  // "$name" in a specification stands for that member of the data.
  const fill = (node, data) => {
    if (typeof node === "string" && node.startsWith("$") && node !== "$schema") {
      return node.slice(1).split(".").reduce((value, key) => value?.[key], data) ?? node;
    }
    if (Array.isArray(node)) return node.map((item) => fill(item, data));
    if (node && typeof node === "object") {
      return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, key === "$schema" ? value : fill(value, data)]));
    }
    return node;
  };

  // The page's colours, so that a chart that is saved looks as it does here.
  const theme_now = () => {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    return {
      ink: color("ink"), quiet: color("quiet"), line: color("line"), paper: color("paper"),
      least: color("least"), most: color("most"),
      narrow: matchMedia("(max-width: 600px)").matches,
    };
  };

  const font = "system-ui, sans-serif";
  const config_of = (theme) => ({
    font,
    background: null,
    aria: false,
    view: {stroke: null},
    axis: {
      labelFont: font, titleFont: font, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", titlePadding: 8,
      labelLimit: theme.narrow ? 110 : 220,
      labelColor: theme.quiet, titleColor: theme.quiet, gridColor: theme.line, domainColor: theme.line, tickColor: theme.line,
    },
    legend: {labelFont: font, titleFont: font, titleFontWeight: "normal", labelColor: theme.quiet, titleColor: theme.quiet},
  });

  const views = new Map();  // figure: what is drawn in it

  // Buttons of the legend hide lines, and keep doing so when the chart is drawn again.
  const hidden_in = (figure) => [...figure.querySelectorAll(".legend [aria-pressed=false]")].map((button) => button.dataset.name);
  for (const button of document.querySelectorAll("figure.chart .legend button")) {
    button.addEventListener("click", () => {
      const figure = button.closest("figure");
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") === "false"));
      views.get(figure)?.signal("hidden", hidden_in(figure)).runAsync();
    });
  }

  const draw = async (figure) => {
    const plot = figure.querySelector(".plot");
    const text = (id) => document.getElementById(id).textContent;
    const theme = theme_now();
    const data = {...JSON.parse(figure.querySelector("script.data").textContent), theme};
    const spec = fill(JSON.parse(text(`spec-${figure.dataset.spec}`)), data);
    if (theme.narrow && typeof spec.height === "number") spec.height = 320;
    plot.replaceChildren();
    // Vega-Lite would warn that rows have a height of their own, which is as it should be.
    const compiled = vegaLite.compile(spec, {config: config_of(theme), logger: vega.logger(vega.Error)});
    const {view} = await vegaEmbed(plot, compiled.spec, {
      mode: "vega",
      renderer: "svg",
      ast: true,
      expr: vega.expressionInterpreter,
      logLevel: vega.Error,
      actions: {export: {svg: true, png: true}, source: false, compiled: false, editor: false},
      loader: {load: () => Promise.reject(new Error("this page loads nothing"))},
      i18n: {SVG_ACTION: "Save as SVG", PNG_ACTION: "Save as PNG"},
      downloadFileName: `doxlab-${figure.dataset.spec}`,
    });
    // To those who do not see it the drawing is one image with a sentence, and the table below has its figures.
    const drawing = plot.querySelector("svg");
    drawing.setAttribute("aria-hidden", "true");
    drawing.parentElement.setAttribute("role", "img");
    drawing.parentElement.setAttribute("aria-label", plot.dataset.label);
    for (const summary of plot.querySelectorAll("details > summary")) summary.setAttribute("aria-label", "Save this chart");
    views.get(figure)?.finalize();
    views.set(figure, view);
    if (figure.querySelector(".legend button")) await view.signal("hidden", hidden_in(figure)).runAsync();
    figure.dataset.drawn = "yes";
  };

  // What is far below waits until it is near, so that the page is there at once; printing needs all.
  const figures = [...document.querySelectorAll("figure.chart")];
  const started = new WeakSet();
  const start = (figure) => {
    if (started.has(figure)) return;
    started.add(figure);
    draw(figure).catch((error) => {
      figure.querySelector(".plot").textContent = `The chart could not be drawn (${error.message}); its figures are below.`;
    });
  };
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) start(entry.target);
  }, {rootMargin: "800px"});
  figures.forEach((figure) => near.observe(figure));
  addEventListener("beforeprint", () => figures.forEach(start));
  const again = () => views.forEach((_, figure) => draw(figure));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  matchMedia("(max-width: 600px)").addEventListener("change", again);
  addEventListener("load", () => setTimeout(() => figures.forEach(start), 300));
})();
