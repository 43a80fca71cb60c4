// What the server answered: its results as numbers and bars, or its refusal in its own words.

const MOST_BARS = 32;
const MOST_SHOWN = 256;
const SPECIAL = { NaN, Infinity, "-Infinity": -Infinity };

const valued = (item) => (typeof item === "string" ? SPECIAL[item] : Number(item));

// Returns how the outputs differ from the oracle's, in words, and whether that is allowed.
function judged(outputs, expected) {
  let worst = null;
  for (const wanted of expected) {
    const found = outputs.find((output) => output.name === wanted.name);
    if (!found) return { good: false, words: `${wanted.name} is missing` };
    const values = found.data.flat(Infinity);
    if (values.length !== wanted.data.length) return { good: false, words: `${wanted.name} has ${values.length} numbers, the oracle's has ${wanted.data.length}` };
    for (let at = 0; at < values.length; at += 1) {
      const [ours, theirs] = [valued(values[at]), valued(wanted.data[at])];
      const distance = Object.is(ours, theirs) || ours === theirs ? 0 : Math.abs(ours - theirs);
      // A NaN is no distance, and so is further than any.
      const share = distance === 0 ? 0 : distance <= wanted.allowed ? distance / wanted.allowed : Infinity;
      if (worst === null || share > worst.share || (share === worst.share && distance > worst.distance)) {
        worst = { name: wanted.name, distance, share, allowed: wanted.allowed };
      }
    }
  }
  if (worst === null || worst.distance === 0) return { good: true, words: "Equal to the oracle's answer, number by number." };
  const far = `${worst.name} is at most ${brief(worst.distance)} from the oracle's answer`;
  const limit = brief(worst.allowed);
  if (worst.share <= 1) return { good: true, words: `Agrees with the oracle: ${far}, within the envelope of ${limit}.` };
  return { good: false, words: `Outside the envelope: ${worst.name} is ${brief(worst.distance)} from the oracle's answer, and ${limit} is allowed.` };
}

function bars(values) {
  const numbers = values.map(valued);
  const finite = numbers.filter(Number.isFinite);
  const low = Math.min(0, ...finite);
  const span = Math.max(0, ...finite) - low || 1;
  const most = numbers.indexOf(Math.max(...finite));
  const rows = values.map((value, at) => {
    const fill = element("div", { class: "fill" });
    if (Number.isFinite(numbers[at])) {
      fill.style.left = `${(100 * (Math.min(0, numbers[at]) - low)) / span}%`;
      fill.style.width = `${(100 * Math.abs(numbers[at])) / span}%`;
    }
    return element("tr", { class: at === most ? "most" : "" }, element("td", { class: "number" }, String(at)),
      element("td", { class: "number" }, spelled(value)),
      element("td", { "aria-hidden": "true" }, element("div", { class: "track" }, fill)));
  });
  const note = most < 0 ? "no number is finite" : `highest: number ${most}`;
  return element("table", { class: "values" }, element("caption", {}, note), element("tbody", {}, ...rows));
}

function shown(output) {
  const values = output.data.flat(Infinity);
  const width = output.shape.at(-1) ?? 1;
  const title = element("h3", {}, `${output.name} `, element("span", { class: "quiet" }, `${output.datatype}[${output.shape.join(", ")}]`));
  const groups = [];
  if (width > 1 && width <= MOST_BARS && values.length <= 8 * MOST_BARS) {
    for (let at = 0; at < values.length; at += width) groups.push(bars(values.slice(at, at + width)));
  } else {
    const more = values.length > MOST_SHOWN ? `, and ${whole.format(values.length - MOST_SHOWN)} more` : "";
    groups.push(element("pre", { tabindex: "0" }, values.slice(0, MOST_SHOWN).map(spelled).join(", ") + more));
  }
  return element("div", {}, title, ...groups);
}

const verdict = (good, ...children) => element("p", { class: `verdict ${good ? "good" : "bad"}` }, ...children);

// Returns what to show of a response; `expected` is what the oracle said, if the request was its own.
function answered(response, text, seconds, expected) {
  const status = element("p", {}, element("span", { class: `pill ${response.ok ? "good" : "bad"}` }, `${response.status} ${response.statusText}`.trim()),
    ` in ${duration(seconds)}`);
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    return [status, verdict(false, text ? `No JSON came: ${text.slice(0, 500)}` : "The response is empty.")];
  }
  if (!response.ok) {
    const { error } = content;
    return [status, verdict(false, typeof error === "string" ? error : text.slice(0, 2000))];
  }
  const parts = [status];
  if (expected) {
    const { good, words } = judged(content.outputs, expected);
    parts.push(verdict(good, words));
  }
  return [...parts, ...content.outputs.map(shown)];
}
