"use strict";

// Draws curves below each other over one axis, with marks, a cursor that tells values, and a zoom.
function drawCurves(place) {
  let data = JSON.parse(place.querySelector("script").textContent);
  const width = 1100, left = 64, right = 1080, panelHeight = 96, drawn = 66, top = 8;
  let first, last, from, to, anchor = null;
  const svg = make("svg", { role: "img" });
  place.append(svg);
  measure();

  function measure() {
    first = data.at[0];
    last = Math.max(data.at[data.at.length - 1], first + 1e-9);
    svg.setAttribute("viewBox", `0 0 ${width} ${top + panelHeight * data.panels.length + 40}`);
  }

  function make(name, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    return element;
  }
  const x = (at) => left + ((at - from) / (to - from)) * (right - left);
  const at = (x) => from + ((x - left) / (right - left)) * (to - from);
  const short = (number) => {
    const size = Math.abs(number);
    return number.toFixed(size >= 100 || number === Math.round(number) ? 0 : size >= 1 ? 1 : 3);
  };

  // The places between the ends, and one on each side, so that curves reach the rim.
  function seen() {
    let begin = 0, end = data.at.length;
    while (begin + 1 < end && data.at[begin + 1] < from) begin += 1;
    while (end - 1 > begin && data.at[end - 1] > to) end -= 1;
    return [begin, Math.min(end + 1, data.at.length)];
  }

  function show() {
    svg.replaceChildren();
    const [begin, end] = seen();
    const bottom = top + panelHeight * data.panels.length;
    for (let mark = 0; mark <= 10; mark += 1) {
      const where = from + ((to - from) * mark) / 10;
      svg.append(make("line", { class: "grid", x1: x(where), x2: x(where), y1: top, y2: bottom }));
      svg.append(make("text", { class: "mark", x: x(where), y: bottom + 14, "text-anchor": "middle" }, short(where)));
    }
    svg.append(make("text", { x: (left + right) / 2, y: bottom + 32, "text-anchor": "middle" }, data.axis));
    data.panels.forEach((panel, index) => {
      const base = top + panelHeight * (index + 1) - 8;
      const values = panel.values.slice(begin, end);
      const most = values.reduce((most, value) => Math.max(most, value), 0) || 1;
      const y = (value) => base - (value / most) * drawn;
      const inside = make("svg", { x: left, y: base - drawn - 4, width: right - left, height: drawn + 8,
        viewBox: `${left} ${base - drawn - 4} ${right - left} ${drawn + 8}`, preserveAspectRatio: "none" });
      if (data.points) {
        values.forEach((value, step) => {
          inside.append(make("circle", { class: "point", r: 1.8, cx: x(data.at[begin + step]), cy: y(value) }));
        });
      } else {
        let path = "";
        values.forEach((value, step) => {
          const place = begin + step;
          const next = data.at[place + 1] ?? last;
          path += `${path ? "L" : "M"}${x(data.at[place])} ${y(value)}`;
          if (data.zooms) path += `L${x(next)} ${y(value)}`;
        });
        inside.append(make("path", { class: "area", d: `${path}L${right} ${base}L${left} ${base}Z` }));
        inside.append(make("path", { class: "curve", d: path }));
      }
      svg.append(inside);
      svg.append(make("line", { class: "grid", x1: left, x2: right, y1: base, y2: base }));
      svg.append(make("text", { x: left, y: base - drawn - 8 }, panel.title));
      svg.append(make("text", { class: "mark", x: left - 6, y: base - drawn + 4, "text-anchor": "end" }, short(most)));
      svg.append(make("text", { class: "mark", x: left - 6, y: base, "text-anchor": "end" }, "0"));
      svg.append(make("text", { class: "mark told", x: right, y: base - drawn - 8, "text-anchor": "end" }, ""));
    });
    svg.append(make("rect", { class: "chosen", y: top, width: 0, height: bottom - top }));
    svg.append(make("line", { class: "cursor", y1: top, y2: bottom, x1: -9, x2: -9 }));
  }

  const pointer = (event) => {
    const box = svg.getBoundingClientRect();
    return Math.min(right, Math.max(left, ((event.clientX - box.left) / box.width) * width));
  };

  function tell(event) {
    const px = pointer(event), where = at(px);
    const line = svg.querySelector(".cursor");
    line.setAttribute("x1", px);
    line.setAttribute("x2", px);
    let step = data.at.findIndex((one) => one > where);
    step = Math.max(0, step < 0 ? data.at.length - 1 : step - 1);
    svg.querySelectorAll(".told").forEach((text, index) => {
      text.textContent = `${short(data.panels[index].values[step])} at ${short(data.at[step])}`;
    });
    if (anchor !== null) {
      const chosen = svg.querySelector(".chosen");
      chosen.setAttribute("x", Math.min(anchor, px));
      chosen.setAttribute("width", Math.abs(anchor - px));
    }
  }

  function zoom(begin, end) {
    if (end - begin <= (last - first) * 1e-6) return;
    from = begin;
    to = end;
    place.dataset.from = from;
    place.dataset.to = to;
    show();
  }

  svg.addEventListener("pointermove", tell);
  if (data.zooms) {
    svg.addEventListener("pointerdown", (event) => { anchor = pointer(event); svg.setPointerCapture(event.pointerId); });
    svg.addEventListener("pointerup", (event) => {
      const ends = [at(anchor ?? left), at(pointer(event))].sort((one, other) => one - other);
      const wide = anchor !== null && Math.abs(anchor - pointer(event)) > 4;
      anchor = null;
      // What was clicked stays, so that a second click makes it a double one.
      if (wide) zoom(ends[0], ends[1]); else svg.querySelector(".chosen").setAttribute("width", 0);
    });
    svg.addEventListener("dblclick", () => zoom(first, last));
  }
  zoom(first, last);

  // Takes other numbers; who looks at a stretch goes on to look at it.
  place.take = (other) => {
    const sees_all = from === first && to === last;
    data = other;
    measure();
    if (sees_all) zoom(first, last); else show();
  };
}

document.querySelectorAll(".curves").forEach(drawCurves);
