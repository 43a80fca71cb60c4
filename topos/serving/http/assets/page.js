// The page itself: asks for the status every two seconds while somebody looks, and shows it.

const SECONDS_APART = 2;

const plot = new Plot(byId("plot"), byId("plot-caption"), byId("plot-table"));
const form = new TryForm();
let latest = null;
let paused = false;
let timer = 0;

function sum(models, count) {
  return models.reduce((total, model) => total + count(model), 0);
}

const values = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);

function tiles(status) {
  const { models, timeline } = status;
  const finished = sum(models, (model) => values(model.counters.outcomes));
  const failed = sum(models, (model) => values(model.counters.outcomes) - (model.counters.outcomes.ok ?? 0));
  const calls = sum(models, (model) => values(model.counters.calls));
  const rows = sum(models, (model) => model.counters.rows);
  return [
    ["Requests", whole.format(finished)],
    ["Failed", whole.format(failed), failed > 0],
    ["In queue", whole.format(sum(models, (model) => model.waiting))],
    ["Batches", whole.format(calls)],
    ["Rows a batch", calls ? digits.format(rows / calls) : "–"],
    ["p50, 5 min", duration(timeline.all.percentiles[0])],
    ["p99, 5 min", duration(timeline.all.percentiles[2])],
  ];
}

function showTiles(status) {
  const list = byId("tiles");
  const content = tiles(status);
  if (list.children.length !== content.length) {
    list.replaceChildren(...content.map(([name]) => element("div", {}, element("dt", {}, name), element("dd", {}))));
  }
  content.forEach(([, text, bad], at) => {
    const cell = list.children[at].lastChild;
    setText(cell, text);
    cell.className = bad ? "bad" : "";
  });
}

function facts(pairs) {
  return element("dl", { class: "facts" }, ...pairs.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
}

function ports(title, list) {
  const rows = list.map((port) => element("tr", {}, element("td", {}, element("code", {}, port.name)), element("td", {}, element("code", {}, shapeText(port)))));
  return element("table", {}, element("caption", {}, title), element("tbody", {}, ...rows));
}

function outcomes(counts) {
  const parts = Object.entries(counts).map(([name, count]) => `${whole.format(count)} ${name}`);
  return parts.join(", ") || "none yet";
}

function card(model) {
  const { counters } = model;
  const state = element("span", { class: `pill ${model.ready ? "good" : "bad"}` }, model.ready ? "ready" : "not ready");
  const head = element("div", { class: "row" }, element("h3", {}, model.name), state, element("span", { class: "grow" }), element("code", { class: "quiet" }, model.version));
  const calls = Object.entries(counters.calls).map(([rows, count]) => `${whole.format(count)} of ${counted(Number(rows), "row")}`);
  const about = [
    ["runtime", model.runtime],
    ["batch sizes", model.rows.length ? model.rows.join(", ") : "one call at a time"],
    ["weights", size(model.weights)],
    ["requests", outcomes(counters.outcomes)],
    ["batches", calls.length ? `${calls.join(", ")}, ${counted(counters.padding, "row")} of padding` : "none yet"],
    ["queue", whole.format(model.waiting)],
  ];
  if (counters.restarts) about.push(["restarts", whole.format(counters.restarts)]);
  if (counters.reloads || counters.refused_reloads) about.push(["reloads", `${counters.reloads} done, ${counters.refused_reloads} refused`]);
  return element("article", { class: "card" }, head, model.reason ? element("p", { class: "reason" }, model.reason) : null,
    facts(about), ports("Inputs", model.inputs), ports("Results", model.results));
}

// Cards are made anew only where a model changed, so that a selection in another stays.
function showModels(models) {
  const holder = byId("models");
  const known = new Map([...holder.children].map((node) => [node.dataset.content, node]));
  const nodes = models.map((model) => {
    const content = JSON.stringify(model);
    const node = known.get(content) ?? card(model);
    node.dataset.content = content;
    return node;
  });
  if (nodes.some((node, at) => holder.children[at] !== node) || nodes.length !== holder.children.length) holder.replaceChildren(...nodes);
}

function showState(words, kind) {
  setText(byId("state"), words);
  byId("state").className = `pill ${kind}`;
}

function showPlot() {
  if (!latest) return;
  const { timeline } = latest;
  const name = byId("plot-model").value;
  const empty = { slots: timeline.all.slots.map(() => [0, 0, null, null, null]), histogram: [], percentiles: [] };
  plot.show(timeline, name ? timeline.models[name] ?? empty : timeline.all, document.querySelector("input[name=plot]:checked").value);
}

function show(status) {
  latest = status;
  const ready = status.models.filter((model) => model.ready).length;
  const all = status.models.length;
  showState(ready === all ? "ready" : `${ready} of ${all} ready`, ready === all ? "good" : ready ? "" : "bad");
  setText(byId("server"), `version ${status.version || "unknown"}, up ${age(status.uptime)}`);
  byId("content").hidden = false;
  byId("token-form").hidden = true;
  showTiles(status);
  const names = status.models.map((model) => model.name);
  if (byId("plot-model").options.length !== names.length + 1) setOptions(byId("plot-model"), [["", "all models"], ...names.map((each) => [each, each])]);
  showPlot();
  showModels(status.models);
  form.take(status.models);
}

function wantToken() {
  showState("locked", "");
  byId("content").hidden = true;
  const field = byId("token-form");
  if (token) setText(byId("token-reason"), "The server does not take that token.");
  if (!field.hidden) return;
  field.hidden = false;
  byId("token").focus();
}

async function refresh() {
  clearTimeout(timer);
  try {
    const response = await ask("status.json");
    if (response.status === 401 || response.status === 403) {
      wantToken();
      return;
    }
    if (!response.ok) throw new Error(`the server answers ${response.status}`);
    show(await response.json());
  } catch (error) {
    showState("unreachable", "bad");
    setText(byId("server"), error.message);
  }
  if (!paused && !document.hidden) timer = setTimeout(refresh, SECONDS_APART * 1000);
}

for (const link of document.querySelectorAll("footer a")) link.href = root + link.getAttribute("href");
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value.trim();
  byId("token").value = "";
  refresh();
});
byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", String(paused));
  setText(byId("pause"), paused ? "Resume" : "Pause");
  if (paused) clearTimeout(timer);
  else refresh();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !paused && latest) refresh();
});
byId("plot-model").addEventListener("change", showPlot);
for (const choice of document.querySelectorAll("input[name=plot]")) choice.addEventListener("change", showPlot);
refresh();
