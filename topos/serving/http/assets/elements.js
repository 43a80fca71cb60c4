"use strict";
// What the parts of the page share: elements, numbers for people, and requests to the server.
// Text of the server is only ever set as text, never as markup.

const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function drawn(tag, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

function setText(node, text) {
  // A screen reader and a selection notice a write, so what stays the same is left alone.
  if (node.textContent !== text) node.textContent = text;
}

// Keeps the options of a select, and its choice where that is still one.
function setOptions(select, options) {
  const kept = select.value;
  select.replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
  if (options.some(([value]) => value === kept)) select.value = kept;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

const counted = (number, noun) => `${whole.format(number)} ${noun}${number === 1 ? "" : "s"}`;

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1e-3) return `${digits.format(seconds * 1e6)} µs`;
  if (seconds < 1) return `${digits.format(seconds * 1e3)} ms`;
  return `${digits.format(seconds)} s`;
}

function age(seconds) {
  if (seconds < 120) return `${whole.format(seconds)} s`;
  if (seconds < 7200) return `${whole.format(seconds / 60)} min`;
  if (seconds < 172800) return `${whole.format(seconds / 3600)} h`;
  return `${whole.format(seconds / 86400)} days`;
}

function size(bytes) {
  if (bytes === null || bytes === undefined) return "unknown";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < units.length - 1; unit += 1) bytes /= 1024;
  return `${unit ? digits.format(bytes) : whole.format(bytes)} ${units[unit]}`;
}

function brief(number) {
  const small = number !== 0 && Math.abs(number) < 1e-3;
  return small ? number.toExponential(1) : digits.format(number);
}

function spelled(number) {
  if (typeof number !== "number" || Number.isInteger(number)) return String(number);
  return String(Number(number.toPrecision(6)));
}

const shapeText = (port) => `${port.datatype}[${port.shape.map((n) => (n < 0 ? "rows" : n)).join(", ")}]`;

// The bearer token: nowhere but here, so that it goes with the page.
let token = "";

// The URL of the server's root, which a proxy may show below a prefix: the page stands there.
const root = location.origin + location.pathname.replace(/\/*$/, "/");

// `path` is below the root, and has no slash in front.
function ask(path, options = {}) {
  const headers = { ...(options.headers ?? {}) };
  if (token) headers.Authorization = `Bearer ${token}`;
  return fetch(root + path, { cache: "no-store", credentials: "same-origin", ...options, headers });
}
