// The plot of latencies: percentiles over time, or how all of the last minutes are distributed.

const PERCENTILES = ["p50", "p95", "p99"];
const HEIGHT = 260;
const MARGIN = { top: 14, right: 44, bottom: 26, left: 62 };

// Round bounds around values on a logarithmic axis, and its labelled steps between them.
function logarithmic(values, from, to) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const steps = [];
  for (let decade = -6; decade <= 3; decade += 1) {
    for (const digit of [1, 2, 5]) steps.push(Number(`${digit}e${decade}`));
  }
  const least = steps.filter((step) => step <= low).at(-1) ?? steps[0];
  let most = steps.find((step) => step >= high) ?? steps.at(-1);
  if (most <= least) most = steps[steps.indexOf(least) + 1] ?? least * 10;
  const place = (value) => from + ((to - from) * Math.log(value / least)) / Math.log(most / least);
  let ticks = steps.filter((step) => step >= least && step <= most);
  if (ticks.length > 8) ticks = ticks.filter((step) => /^1(e|$)|^0?\.?0*1$|^10*$/.test(String(step)));
  return { place, ticks };
}

class Plot {
  constructor(container, caption, table) {
    this.container = container;
    this.caption = caption;
    this.table = table;
    this.form = "time";
    this.record = null;
    this.series = null;
    this.width = 0;
    new ResizeObserver(() => this.draw(true)).observe(container);
  }

  show(record, series, form) {
    this.record = record;
    this.series = series;
    this.form = form;
    this.draw(false);
  }

  draw(onlyIfResized) {
    const width = Math.round(this.container.clientWidth);
    if (!this.series || !width || (onlyIfResized && width === this.width)) return;
    this.width = width;
    this.svg = drawn("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img" });
    this.right = width - MARGIN.right;
    this.bottom = HEIGHT - MARGIN.bottom;
    const total = this.series.slots.reduce((sum, slot) => sum + slot[0], 0);
    const minutes = (this.series.slots.length * this.record.slot_seconds) / 60;
    const summary = total
      ? `${counted(total, "request")} answered in the last ${whole.format(minutes)} minutes: `
        + PERCENTILES.map((name, at) => `${name} ${duration(this.series.percentiles[at])}`).join(", ")
      : `No request was answered in the last ${whole.format(minutes)} minutes.`;
    this.svg.setAttribute("aria-label", summary);
    setText(this.caption, summary);
    if (total && this.form === "time") this.overTime();
    else if (total) this.spread();
    else this.empty();
    this.container.replaceChildren(this.svg);
  }

  text(x, y, words, anchor = "middle", kind = "") {
    this.svg.append(drawn("text", { x, y, "text-anchor": anchor, class: kind }, words));
  }

  line(x1, y1, x2, y2, kind) {
    this.svg.append(drawn("line", { x1, y1, x2, y2, class: kind }));
  }

  empty() {
    this.line(MARGIN.left, this.bottom, this.right, this.bottom, "grid");
    this.text(this.width / 2, HEIGHT / 2, "nothing to draw yet: send a request below");
    this.table.replaceChildren();
  }

  overTime() {
    const { slots } = this.series;
    const seconds = this.record.slot_seconds;
    const x = (at) => MARGIN.left + ((this.right - MARGIN.left) * (at + 0.5)) / slots.length;
    // The lowest part is for how many requests there were.
    const floor = this.bottom - 58;
    const values = slots.flatMap((slot) => slot.slice(2)).filter((value) => value !== null);
    const axis = logarithmic(values, floor, MARGIN.top);
    for (const tick of axis.ticks) {
      this.line(MARGIN.left, axis.place(tick), this.right, axis.place(tick), "grid");
      this.text(MARGIN.left - 8, axis.place(tick) + 4, duration(tick), "end");
    }
    this.volumes(slots, x);
    const length = slots.length * seconds;
    // On a phone there is no room for every minute.
    const apart = this.width < 560 ? 120 : 60;
    for (let back = 0; back <= length; back += apart) {
      const at = slots.length - back / seconds - 0.5;
      this.text(x(at), HEIGHT - 8, back ? `−${back / 60} min` : "now", back === length ? "start" : "middle");
    }
    PERCENTILES.forEach((name, place) => this.curve(name, slots.map((slot) => slot[place + 2]), x, axis));
    this.labels(slots, axis);
    this.hover(slots, x);
    this.timeTable(slots, seconds);
  }

  volumes(slots, x) {
    const most = Math.max(...slots.map((slot) => slot[0] + slot[1]));
    const width = Math.max(1, x(1) - x(0) - 1);
    slots.forEach(([answered, failed], at) => {
      const tall = (36 * answered) / most;
      const red = (36 * failed) / most;
      const left = x(at) - width / 2;
      if (answered) this.svg.append(drawn("rect", { x: left, y: this.bottom - tall, width, height: tall, class: "volume" }));
      if (failed) this.svg.append(drawn("rect", { x: left, y: this.bottom - tall - red, width, height: red, class: "failed" }));
    });
    this.line(MARGIN.left, this.bottom, this.right, this.bottom, "grid");
    const rate = most / this.record.slot_seconds;
    this.text(MARGIN.left - 8, this.bottom - 24, `${digits.format(rate)}/s`, "end");
  }

  curve(name, values, x, axis) {
    let path = "";
    values.forEach((value, at) => {
      if (value === null) return;
      const joined = at > 0 && values[at - 1] !== null;
      path += `${joined ? "L" : "M"}${x(at).toFixed(1)} ${axis.place(value).toFixed(1)}`;
      const alone = !joined && (values[at + 1] ?? null) === null;
      if (alone) this.svg.append(drawn("circle", { cx: x(at), cy: axis.place(value), r: 3, class: name }));
    });
    this.svg.append(drawn("path", { d: path, class: name }));
  }

  labels(slots, axis) {
    const last = slots.findLast((slot) => slot[0]);
    // Labels keep their order and a line's height between them.
    let above = Infinity;
    const heights = PERCENTILES.map((name, place) => {
      above = Math.min(axis.place(last[place + 2]) + 4, above - 13);
      return above;
    });
    // At the top of the plot the highest would be cut, and the others follow it down.
    let below = MARGIN.top;
    for (let place = heights.length - 1; place >= 0; place -= 1) {
      heights[place] = Math.max(heights[place], below);
      below = heights[place] + 13;
    }
    PERCENTILES.forEach((name, place) => this.text(this.right + 6, heights[place], name, "start", name));
  }

  hover(slots, x) {
    const hair = drawn("line", { y1: MARGIN.top, y2: this.bottom, class: "hair", visibility: "hidden" });
    const words = drawn("text", { y: MARGIN.top - 3, visibility: "hidden" });
    this.svg.append(hair, words);
    const hide = () => [hair, words].forEach((each) => each.setAttribute("visibility", "hidden"));
    this.svg.addEventListener("pointerleave", hide);
    this.svg.addEventListener("pointermove", (event) => {
      const box = this.svg.getBoundingClientRect();
      const share = ((event.clientX - box.left) * (this.width / box.width) - MARGIN.left) / (this.right - MARGIN.left);
      const at = Math.floor(share * slots.length);
      if (at < 0 || at >= slots.length) return hide();
      const [answered, failed, ...times] = slots[at];
      hair.setAttribute("x1", x(at));
      hair.setAttribute("x2", x(at));
      words.setAttribute("x", x(at));
      words.setAttribute("text-anchor", share < 0.25 ? "start" : share > 0.75 ? "end" : "middle");
      const parts = [`${whole.format(answered)} answered`];
      if (failed) parts.push(`${whole.format(failed)} failed`);
      if (answered) parts.push(...PERCENTILES.map((name, place) => `${name} ${duration(times[place])}`));
      words.textContent = parts.join("  ");
      [hair, words].forEach((each) => each.setAttribute("visibility", "visible"));
    });
  }

  timeTable(slots, seconds) {
    const rows = slots
      .map((slot, at) => [(slots.length - 1 - at) * seconds, ...slot])
      .filter((row) => row[1] || row[2])
      .reverse()
      .map(([back, answered, failed, ...times]) => [back ? `${back} s ago` : "now", whole.format(answered),
        whole.format(failed), ...times.map(duration)]);
    this.fill(["time", "answered", "failed", ...PERCENTILES], rows);
  }

  spread() {
    const counts = this.series.histogram;
    const { edges } = this.record;
    const first = counts.findIndex((count) => count);
    const last = counts.findLastIndex((count) => count);
    const axis = logarithmic([edges[first], edges[last + 1]], MARGIN.left, this.right);
    const most = Math.max(...counts);
    const tall = (count) => ((this.bottom - MARGIN.top - 18) * count) / most;
    for (const tick of axis.ticks) {
      this.line(axis.place(tick), MARGIN.top, axis.place(tick), this.bottom, "grid");
      this.text(axis.place(tick), HEIGHT - 8, duration(tick));
    }
    for (let bin = first; bin <= last; bin += 1) {
      const left = axis.place(edges[bin]);
      const width = Math.max(1, axis.place(edges[bin + 1]) - left - 1);
      const height = counts[bin] ? Math.max(1, tall(counts[bin])) : 0;
      this.svg.append(drawn("rect", { x: left, y: this.bottom - height, width, height, class: "volume" }));
    }
    this.text(MARGIN.left - 8, this.bottom - tall(most) + 4, whole.format(most), "end");
    this.line(MARGIN.left, this.bottom, this.right, this.bottom, "grid");
    let beyond = -Infinity;
    PERCENTILES.forEach((name, place) => {
      const at = axis.place(this.series.percentiles[place]);
      this.line(at, MARGIN.top + 4, at, this.bottom, name);
      // The last may not leave the picture, and the ones before it keep their distance.
      const most = this.width - 14 - 28 * (PERCENTILES.length - 1 - place);
      beyond = Math.min(Math.max(at, beyond + 28), most);
      this.text(beyond, MARGIN.top, name, "middle", name);
    });
    const rows = counts
      .map((count, bin) => [`${duration(edges[bin])} to ${duration(edges[bin + 1])}`, count])
      .filter((row) => row[1])
      .map(([range, count]) => [range, whole.format(count)]);
    this.fill(["latency", "answered"], rows);
  }

  fill(headings, rows) {
    const kind = (at) => ({ class: at ? "number" : "" });
    const head = headings.map((words, at) => element("th", { scope: "col", ...kind(at) }, words));
    const body = rows.map((row) => element("tr", {}, ...row.map((words, at) => element("td", kind(at), words))));
    this.table.replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
  }
}
