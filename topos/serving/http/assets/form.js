// The form that sends a request: the text in it is the request, a drawing only writes in the text.

class TryForm {
  constructor() {
    this.model = byId("try-model");
    this.number = byId("example-row");
    this.body = byId("body");
    this.answer = byId("answer");
    this.example = null;
    this.versions = new Map();
    this.drawings = [];
    this.asked = 0;
    this.underWay = 0;
    this.model.addEventListener("change", () => this.choose());
    this.number.addEventListener("change", () => this.load());
    this.body.addEventListener("input", () => this.read());
    byId("restore").addEventListener("click", () => this.restore());
    byId("try-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.body.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.send();
    });
  }

  // Takes the served models; an example is loaded again where another version is served.
  take(models) {
    const names = models.map((model) => model.name);
    const before = [...this.model.options].map((option) => option.value);
    if (names.join("\n") !== before.join("\n")) setOptions(this.model, names.map((name) => [name, name]));
    const version = models.find((model) => model.name === this.model.value)?.version;
    const fresh = this.versions.get(this.model.value) === version;
    this.versions = new Map(models.map((model) => [model.name, model.version]));
    if (this.model.value && !(fresh && this.example)) this.choose();
  }

  get path() {
    return `v2/models/${encodeURIComponent(this.model.value)}/infer`;
  }

  choose() {
    this.number.value = "1";
    setText(byId("address"), `POST /${this.path}`);
    this.load();
  }

  // What is under way keeps the button: an example that is yet to come has the answer to expect.
  begin() {
    this.underWay += 1;
    byId("send").disabled = true;
  }

  end() {
    this.underWay -= 1;
    byId("send").disabled = this.underWay > 0;
  }

  async load() {
    const mine = (this.asked += 1);
    this.begin();
    const most = this.example?.model === this.model.value ? Math.max(1, this.example.count) : 1;
    const number = Math.min(most, Math.max(1, Math.floor(Number(this.number.value)) || 1));
    this.number.value = String(number);
    const query = new URLSearchParams({ model: this.model.value, number: number - 1 });
    let content;
    try {
      const response = await ask(`example.json?${query}`);
      content = await response.json();
      if (!response.ok) content = { note: content.error ?? response.statusText, body: null };
    } catch (error) {
      content = { note: `No example came: ${error.message}`, body: null };
    }
    // An answer that was overtaken by a later question is of no use.
    if (mine === this.asked) this.show(content);
    this.end();
  }

  show(example) {
    byId("try-note").hidden = !example.note;
    setText(byId("try-note"), example.note);
    // Where none came, what stands in the form stays.
    if (example.body === null) return;
    this.example = example;
    byId("example").hidden = example.count < 2;
    this.number.max = example.count;
    setText(byId("example-count"), `of ${example.count}`);
    this.drawings = example.drawings.map((spec) => new Drawing(spec, (values) => this.write(spec.name, values)));
    byId("drawings").replaceChildren(...this.drawings.map((drawing) => drawing.node));
    this.restore();
  }

  restore() {
    if (!this.example) return;
    this.body.value = this.example.body;
    this.read();
  }

  // Shows the text in the drawings as far as it makes sense there.
  read() {
    this.tellShell();
    let inputs;
    try {
      ({ inputs } = JSON.parse(this.body.value));
    } catch {
      return;
    }
    for (const drawing of this.drawings) {
      const data = inputs?.find?.((input) => input?.name === drawing.spec.name)?.data?.flat?.(Infinity);
      if (data?.length === drawing.values.length && data.every((item) => typeof item === "number")) drawing.take(data);
    }
  }

  // Writes a drawing into the text, or into the example where the text is no request any more.
  write(name, values) {
    let request;
    try {
      request = JSON.parse(this.body.value);
      request.inputs.find((input) => input.name === name).data = values;
    } catch {
      request = JSON.parse(this.example.body);
      request.inputs.find((input) => input.name === name).data = values;
    }
    this.body.value = formatted(request);
    this.tellShell();
  }

  tellShell() {
    const compact = this.body.value.replace(/\s*\n\s*/g, " ").replaceAll("'", "'\\''");
    const secret = token ? " \\\n  -H \"Authorization: Bearer $TOKEN\"" : "";
    setText(byId("shell"), `curl -s ${root}${this.path} \\\n  -H 'Content-Type: application/json'${secret} \\\n  -d '${compact}'`);
  }

  async send() {
    if (this.underWay > 0) return;
    this.begin();
    const own = this.example && this.body.value === this.example.body;
    const expected = own ? this.example.results : null;
    const start = performance.now();
    try {
      const headers = { "Content-Type": "application/json" };
      const response = await ask(this.path, { method: "POST", headers, body: this.body.value });
      const text = await response.text();
      const seconds = (performance.now() - start) / 1000;
      this.answer.replaceChildren(...answered(response, text, seconds, expected));
      setText(byId("raw-text"), text.slice(0, 20000));
      byId("raw").hidden = false;
    } catch (error) {
      this.answer.replaceChildren(verdict(false, `No answer: ${error.message}`));
      byId("raw").hidden = true;
    } finally {
      // The numbers of the answer are for whoever looks for them; what it comes to is spoken.
      const told = [...this.answer.querySelectorAll("p")].map((each) => each.textContent);
      byId("answer-spoken").textContent = told.join(". ");
      this.end();
    }
  }
}

// A request as the server writes its examples: a line for each row of an input's last axis.
function formatted(request) {
  const inputs = request.inputs.map(({ data, ...head }) => {
    const numbers = (data ?? []).flat(Infinity).map((item) => JSON.stringify(item));
    const width = head.shape?.length > 1 ? head.shape.at(-1) || 1 : numbers.length || 1;
    const lines = [];
    for (let at = 0; at < numbers.length; at += width) lines.push(`      ${numbers.slice(at, at + width).join(", ")}`);
    const inner = lines.length > 1 ? `\n${lines.join(",\n")}\n    ` : numbers.join(", ");
    return `    ${JSON.stringify(head).slice(0, -1)}, "data": [${inner}]}`;
  });
  const rest = Object.entries(request).filter(([name]) => name !== "inputs");
  const others = rest.map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{\n${[...others, `  "inputs": [\n${inputs.join(",\n")}\n  ]`].join(",\n")}\n}`;
}
