// Checks that a page is legible and well-formed for those who do not see it: gives a list of what is wrong.
(() => {
  const problems = [];
  const context = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const known = new Map();
  const channels = (color) => {
    if (!known.has(color)) known.set(color, drawn(color));
    return known.get(color);
  };
  const drawn = (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const background = (element) => {
    if (!element) return [255, 255, 255, 1];
    const own = channels(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, background(element.parentElement));
  };
  // WCAG 2.2, relative luminance and contrast ratio.
  const luminance = (color) => {
    const [r, g, b] = color.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const shown = (element) => element.checkVisibility({opacityProperty: true, visibilityProperty: true}) && element.getClientRects().length > 0;

  const seen = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || seen.has(element) || !shown(element) || element.closest("svg, script, style, .skip")) continue;
    seen.add(element);
    const style = getComputedStyle(element);
    const paper = background(element);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    const ratio = contrast(over(channels(style.color), paper), paper);
    if (ratio < needed) problems.push(`contrast ${ratio.toFixed(2)}: ${element.tagName} "${texts.currentNode.data.trim().slice(0, 40)}"`);
  }
  // Text in drawings is on paper, but in bars and cells, which have colours of their own.
  for (const text of document.querySelectorAll(".plot .role-axis text, .plot .role-legend text, .drawing text")) {
    if (!text.textContent || !shown(text)) continue;
    const ratio = contrast(channels(getComputedStyle(text).fill), background(text.closest(".plot, .drawing")));
    if (ratio < 4.5) problems.push(`contrast ${ratio.toFixed(2)}: "${text.textContent.slice(0, 40)}" in a drawing`);
  }

  for (const [selector, count] of [["main", 1], ["header", 1], ["footer", 1], ["h1", 1], ["nav[aria-label]", 1]]) {
    const found = document.querySelectorAll(`${selector}`).length;
    if (found !== count) problems.push(`${found} of ${selector}`);
  }
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const now = Number(heading.tagName[1]);
    if (now > level + 1) problems.push(`heading ${heading.textContent} skips a level`);
    level = now;
  }
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) problems.push(`the id ${id} is there twice`);
  for (const element of document.querySelectorAll("[aria-labelledby]"))
    if (!document.getElementById(element.getAttribute("aria-labelledby"))) problems.push("a label is missing");
  for (const link of document.querySelectorAll("a[href^='#']:not([href='#'])"))
    if (!document.getElementById(link.getAttribute("href").slice(1))) problems.push(`${link.textContent} leads nowhere`);
  for (const element of document.querySelectorAll("button, select, input, summary, [role=img], [role=region], [role=application]")) {
    const name = element.getAttribute("aria-label") || element.closest("label")?.textContent || element.textContent;
    if (!name?.trim()) problems.push(`a ${element.tagName} without a name`);
  }
  for (const table of document.querySelectorAll("main table:not(#vg-tooltip-element table)"))
    if (!table.caption || !table.querySelector("thead th[scope=col]") || !table.querySelector("tbody th[scope=row]"))
      problems.push(`table without caption or headings: ${table.textContent.slice(0, 40)}`);
  for (const box of document.querySelectorAll(".scroll, pre"))
    if (box.scrollWidth > box.clientWidth && box.tabIndex < 0) problems.push("a box that scrolls cannot be reached by keyboard");
  if (!document.documentElement.lang || !document.title) problems.push("no language or no title");
  return problems;
})()
