// The ladder diagram: two lifelines, time downwards, packets as arrows from when they were sent to when they arrived.
"use strict";
(() => {
  const root = document.querySelector(".ladder");
  if (!root) return;
  const ladders = JSON.parse(root.querySelector("script.ladders").textContent);
  const drawing = root.querySelector(".drawing");
  const told = root.querySelector(".told");
  const transport_list = root.querySelector(".which-transport");
  const lookup_list = root.querySelector(".which-lookup");
  const svg_name = "http://www.w3.org/2000/svg";
  const height = 640, top = 46, bottom = 20;
  const shorten_waits = root.querySelector(".shorten-waits");

  // What is shown lies between `from` and `to`, on an axis of ms in which long waits may be shortened.
  let ladder = null, axis = null, from = 0, to = 1, chosen = -1;

  const make = (name, attributes, parent, text) => {
    const element = document.createElementNS(svg_name, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent?.append(element);
    return element;
  };
  const ms = (value) => `${value.toLocaleString("en", {maximumFractionDigits: Math.abs(value) < 1000 ? 1 : 0})} ms`;
  const number = (value) => value.toLocaleString("en", {maximumFractionDigits: 6});
  const least = 0.5;  // ms that can be seen at least

  // Time on the link of the packets that arrived, which also those that did not would have had.
  const way_of = (one) => {
    const ways = one.packets.filter((p) => p.delivered != null).map((p) => p.delivered - p.sent).sort((a, b) => a - b);
    return ways.length ? ways[Math.floor(ways.length / 2)] : 20;
  };

  // The pieces of the axis: from when to when, where they begin, how long they are. Times in which no packet is under
  // way become short where they would squeeze the rest together.
  const axis_of = (one, shortened) => {
    const way = way_of(one);
    const moves = one.packets.map((p) => [p.sent, p.delivered ?? p.sent + way]).sort((a, b) => a[0] - b[0]);
    const end = Math.max(one.ms ?? 0, ...moves.map((m) => m[1]), 1);
    const waits = [];
    let until = 0;
    for (const [begin, arrival] of [...moves, [end, end]]) {
      if (begin - until > 3 * way) waits.push([until + way / 4, begin - way / 4]);
      until = Math.max(until, arrival);
    }
    const waiting = waits.reduce((sum, [a, b]) => sum + b - a, 0);
    const is_shortened = shortened && waiting > 0.3 * end;
    const pieces = [];
    let time = 0, at = 0;
    const add = (stop, is_wait) => {
      if (stop <= time) return;
      const length = is_wait ? Math.min(stop - time, 0.1 * (end - waiting)) : stop - time;
      pieces.push({time, stop, at, length, is_wait});
      at += length;
      time = stop;
    };
    if (is_shortened) for (const [a, b] of waits) { add(a, false); add(b, true); }
    add(end * 1.02, false);
    const place = (t) => {
      const piece = pieces.findLast((one) => t >= one.time) ?? pieces[0];
      return piece.at + ((t - piece.time) * piece.length) / (piece.stop - piece.time);
    };
    return {way, pieces, place, end: at, can_shorten: waiting > 0.3 * end};
  };

  const describe = (i) => {
    const p = ladder.packets[i];
    const arrival = p.delivered == null ? p.fate : `arrived ${ms(p.delivered)}`;
    return `Packet ${i} ${p.up ? "to the server" : "to the client"}, sent ${ms(p.sent)}, ${arrival}, ${p.bytes.toLocaleString("en")} bytes: ${p.carried || "not read"}`;
  };

  // Steps of 1, 2 or 5 times a power of ten, about 60 pixels apart.
  const step_of = (span) => {
    const rough = (span * 60) / (height - top - bottom);
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  };

  const shorten = (text, width) => {
    const letters = Math.max(0, Math.floor(width / 6.6));
    return text.length > letters ? `${text.slice(0, Math.max(0, letters - 1))}…` : text;
  };

  const render = () => {
    drawing.replaceChildren();
    const width = Math.max(300, drawing.clientWidth);
    const narrow = width < 560;
    const margin = narrow ? 64 : width < 900 ? 170 : 250;
    const left = margin, right = width - (narrow ? 22 : margin);
    const y = (time) => top + ((axis.place(time) - from) / (to - from)) * (height - top - bottom);
    const svg = make("svg", {viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true"}, drawing);
    const clip = make("clipPath", {id: "ladder-clip"}, svg);
    make("rect", {x: 0, y: top - 18, width, height: height - top - bottom + 30}, clip);
    const body = make("g", {"clip-path": "url(#ladder-clip)"}, svg);

    make("text", {x: left, y: 18, class: "end"}, svg, "client");
    make("text", {x: right, y: 18, class: narrow ? "end far" : "end"}, svg, "server");
    if (narrow) make("text", {x: left - 20, y: 18, class: "tick"}, svg, "ms");
    const step = step_of(to - from);
    for (const piece of axis.pieces) {
      const y1 = y(piece.time), y2 = y(piece.stop - 1e-9);
      if (y2 < top || y1 > height - bottom) continue;
      if (piece.is_wait) {
        make("rect", {x: left, width: right - left, y: y1, height: y2 - y1, class: "cut"}, body);
        make("text", {x: (left + right) / 2, y: (y1 + y2) / 2 + 4, class: "cut"}, body, `${ms(piece.stop - piece.time)} without a packet, shortened`);
        continue;
      }
      // Only what can be seen has ticks, however long the axis is.
      const first = Math.max(piece.time, piece.time + from - piece.at), last = Math.min(piece.stop, piece.time + to - piece.at);
      for (let t = Math.ceil(first / step) * step; t <= last; t += step) {
        const rounded = Number(t.toPrecision(9));
        make("line", {x1: left, x2: right, y1: y(t), y2: y(t), class: "grid"}, body);
        make("text", {x: narrow ? left - 20 : 58, y: y(t) + 4, class: "tick"}, body, narrow ? number(rounded) : `${number(rounded)} ms`);
      }
    }

    // What the time went for, at the side where it was spent.
    const used = {client: [], server: []};
    for (const span of ladder.spans) {
      const y1 = y(span.begin), y2 = y(span.begin + span.ms);
      if (y2 < top - 6 || y1 > height - bottom + 6) continue;
      const at_server = span.at === "server";
      if (span.at === "c2s" || span.at === "s2c") {
        if (span.kind === "extra" || span.kind === "wait") make("rect", {x: left, width: right - left, y: y1, height: Math.max(1, y2 - y1), class: `span ${span.kind} way`}, body);
        if (narrow) continue;
      } else {
        const box = make("rect", {x: at_server ? right : left - 14, width: 14, y: y1, height: Math.max(1, y2 - y1), class: `span ${span.kind}`}, body);
        make("title", {}, box, `${span.name}, ${ms(span.ms)}`);
      }
      const side = at_server || span.at === "s2c" ? "server" : "client";
      const shown = Math.min(Math.max((Math.max(y1, top) + Math.min(y2, height - bottom)) / 2 + 4, top + 4), height - bottom);
      if (narrow || y2 - y1 < 3 || used[side].some((other) => Math.abs(other - shown) < 13)) continue;
      used[side].push(shown);
      const own = span.at === side;
      const x = side === "server" ? right + 20 : left - 20;
      make("text", {x, y: shown, class: `name ${side} ${own ? span.kind : "passing"}`}, body, shorten(`${span.name} ${ms(span.ms)}`, (side === "server" ? width - right - 24 : left - 82) * (own && span.kind === "wait" ? 0.93 : 1)));
    }

    make("line", {x1: left, x2: left, y1: top - 6, y2: height - bottom + 6, class: "life"}, body);
    make("line", {x1: right, x2: right, y1: top - 6, y2: height - bottom + 6, class: "life"}, body);
    if (ladder.ms != null) {
      make("line", {x1: left - 14, x2: right + 14, y1: y(ladder.ms), y2: y(ladder.ms), class: "answer"}, body);
      make("text", {x: (left + right) / 2, y: y(ladder.ms) + 14, class: "answer"}, body, `answer, ${ms(ladder.ms)}`);
    }

    const awaited = new Set(ladder.spans.filter((s) => s.at === "c2s" || s.at === "s2c").flatMap((s) => s.packets));
    const labels = ladder.ms == null ? [] : [y(ladder.ms) + 8];
    ladder.packets.forEach((p, i) => {
      const arrives = p.delivered != null;
      const x1 = p.up ? left : right, x2 = p.up ? right : left;
      const y1 = y(p.sent);
      const way = arrives ? p.delivered - p.sent : axis.way;
      const part = arrives ? 1 : 0.5;
      const xe = x1 + (x2 - x1) * part, ye = y(p.sent + way * part);
      if (Math.max(y1, ye) < top - 6 || Math.min(y1, ye) > height - bottom + 6) return;
      const kind = `packet ${p.up ? "up" : "down"}${arrives ? "" : " gone"}${awaited.has(i) ? " awaited" : ""}${i === chosen ? " chosen" : ""}`;
      const group = make("g", {class: kind, "data-packet": i}, body);
      make("line", {x1, y1, x2: xe, y2: ye, class: "hit"}, group);
      make("line", {x1, y1, x2: xe, y2: ye, class: "shaft"}, group);
      const angle = (Math.atan2(ye - y1, xe - x1) * 180) / Math.PI;
      if (arrives) make("path", {d: "M0 0L-9 -4L-9 4Z", transform: `translate(${xe} ${ye}) rotate(${angle})`, class: "head"}, group);
      else make("path", {d: "M-6 -6L6 6M-6 6L6 -6", transform: `translate(${xe} ${ye})`, class: "cross"}, group);
      const label_y = (y1 + ye) / 2 - 5;
      const flat = Math.abs(angle % 180) < 70 || Math.abs(angle % 180) > 110;
      if (flat && !labels.some((other) => Math.abs(other - label_y) < 14)) {
        labels.push(label_y);
        const middle = (x1 + xe) / 2;
        const turn = Math.atan2(Math.abs(ye - y1), Math.abs(xe - x1)) * (180 / Math.PI) * (p.up ? 1 : -1);
        make("text", {x: middle, y: label_y, class: "carried", transform: `rotate(${turn} ${middle} ${(y1 + ye) / 2})`}, group, shorten(p.carried, Math.abs(xe - x1) - 24));
      }
      make("title", {}, group, describe(i));
      group.addEventListener("pointerenter", () => tell(i, false));
      group.addEventListener("click", () => tell(i, true));
    });
    drawing.dataset.from = from;
    drawing.dataset.to = to;
  };

  const tell = (i, choose) => {
    told.textContent = describe(i);
    if (choose) { chosen = i; render(); }
  };

  const show = (new_from, new_to) => {
    const whole = axis.end;
    const span = Math.min(Math.max(new_to - new_from, least), whole);
    from = Math.min(Math.max(new_from, 0), whole - span);
    to = from + span;
    render();
  };
  const zoom = (factor, at = (from + to) / 2) => show(at - (at - from) * factor, at + (to - at) * factor);
  const all = () => show(0, axis.end);

  const select = () => {
    ladder = ladders.find((one) => one.transport === transport_list.value && one.which === lookup_list.value) ?? ladders[0];
    axis = axis_of(ladder, shorten_waits.checked);
    shorten_waits.closest("label").hidden = !axis.can_shorten;
    chosen = -1;
    const lost = ladder.packets.filter((p) => p.delivered == null).length;
    told.textContent = `${ladder.transport}, ${ladder.which}: ${ladder.ms == null ? ladder.outcome : ms(ladder.ms)}, ${ladder.packets.length} packets, ${lost} lost.`;
    all();
  };

  const fill = (list, names) => list.replaceChildren(...[...new Set(names)].map((name) => new Option(name, name)));
  const fill_lookups = () => {
    const before = lookup_list.value;
    const names = ladders.filter((one) => one.transport === transport_list.value).map((one) => one.which);
    fill(lookup_list, names);
    if (names.includes(before)) lookup_list.value = before;
  };
  fill(transport_list, ladders.map((one) => one.transport));
  transport_list.value = ladders.some((one) => one.transport === "DoT") ? "DoT" : ladders[0].transport;
  fill_lookups();
  lookup_list.selectedIndex = lookup_list.options.length - 1;
  transport_list.addEventListener("change", () => { fill_lookups(); select(); });
  lookup_list.addEventListener("change", select);
  shorten_waits.addEventListener("change", select);

  root.querySelector(".buttons").addEventListener("click", (event) => {
    const what = event.target.dataset.do;
    if (what === "in") zoom(0.6);
    if (what === "out") zoom(1 / 0.6);
    if (what === "all") all();
  });
  drawing.addEventListener("keydown", (event) => {
    const move = (part) => show(from + (to - from) * part, to + (to - from) * part);
    const go = (by) => {
      const i = Math.min(Math.max(chosen + by, 0), ladder.packets.length - 1);
      const p = ladder.packets[i];
      const at = axis.place(p.sent);
      if (at < from || at > to) show(at - (to - from) / 4, at + ((to - from) * 3) / 4);
      tell(i, true);
    };
    const keys = {
      "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: all,
      ArrowUp: () => move(-0.2), ArrowDown: () => move(0.2), ArrowLeft: () => go(-1), ArrowRight: () => go(1),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  // Only where it was clicked before: else the wheel is for the page.
  drawing.addEventListener("wheel", (event) => {
    if (document.activeElement !== drawing) return;
    event.preventDefault();
    const share = (event.clientY - drawing.getBoundingClientRect().top - top) / (height - top - bottom);
    zoom(event.deltaY < 0 ? 0.8 : 1.25, from + (to - from) * Math.min(Math.max(share, 0), 1));
  }, {passive: false});
  let held = null;
  drawing.addEventListener("pointerdown", (event) => {
    drawing.focus();
    if (event.pointerType === "mouse") held = {y: event.clientY, from, to};
  });
  addEventListener("pointermove", (event) => {
    if (!held || Math.abs(event.clientY - held.y) < 4) return;
    const by = ((held.y - event.clientY) / (height - top - bottom)) * (held.to - held.from);
    show(held.from + by, held.to + by);
  });
  addEventListener("pointerup", () => { held = null; });

  root.hidden = false;
  select();
  new ResizeObserver(() => render()).observe(drawing);
})();
