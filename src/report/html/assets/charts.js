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

  const font = "system-ui, sans-serif";
  const config = {
    font,
    background: null,
    aria: false,
    view: {stroke: null},
    axis: {labelFont: font, titleFont: font, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelLimit: 220},
    legend: {labelFont: font, titleFont: font, titleFontWeight: "normal"},
  };

  const connect_legend = (figure, view) => {
    const hidden = new Set();
    for (const button of figure.querySelectorAll(".legend button")) {
      button.addEventListener("click", () => {
        const name = button.dataset.name;
        if (!hidden.delete(name)) hidden.add(name);
        button.setAttribute("aria-pressed", String(!hidden.has(name)));
        view.signal("hidden", [...hidden]).runAsync();
      });
    }
  };

  const draw = async (figure) => {
    const plot = figure.querySelector(".plot");
    const text = (id) => document.getElementById(id).textContent;
    const data = JSON.parse(figure.querySelector("script.data").textContent);
    const spec = fill(JSON.parse(text(`spec-${figure.dataset.spec}`)), data);
    const narrow = matchMedia("(max-width: 600px)").matches;
    if (narrow && typeof spec.height === "number") spec.height = 300;
    plot.replaceChildren();
    const {view} = await vegaEmbed(plot, spec, {
      mode: "vega-lite",
      renderer: "svg",
      ast: true,
      expr: vega.expressionInterpreter,
      config: narrow ? {...config, axis: {...config.axis, labelLimit: 110}} : config,
      actions: {export: {svg: true, png: true}, source: false, compiled: false, editor: false},
      loader: {load: () => Promise.reject(new Error("this page loads nothing"))},
      i18n: {SVG_ACTION: "Save as SVG", PNG_ACTION: "Save as PNG"},
      downloadFileName: `doxlab-${figure.dataset.spec}`,
    });
    for (const summary of plot.querySelectorAll("details > summary")) summary.setAttribute("aria-label", "Save this chart");
    connect_legend(figure, view);
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
  addEventListener("load", () => setTimeout(() => figures.forEach(start), 300));
})();
