// A grid to draw an input on: one cell a number, by pointer or by keyboard.

const SIDE = 256;

class Drawing {
  // `spec` is what an example tells of an input: name, rows, columns, low, high, whole.
  constructor(spec, changed) {
    this.spec = spec;
    this.changed = changed;
    this.values = new Array(spec.rows * spec.columns).fill(spec.low);
    this.cursor = [0, 0];
    this.erasing = false;
    this.cell = Math.max(8, Math.floor(SIDE / Math.max(spec.columns, spec.rows)));
    this.canvas = element("canvas", {
      width: spec.columns * this.cell, height: spec.rows * this.cell, tabindex: "0", role: "application",
      "aria-label": `${spec.name}: a drawing of ${spec.rows} by ${spec.columns} cells. `
        + "Arrow keys move, space paints, backspace erases.",
    });
    this.spoken = element("span", { class: "unseen", "aria-live": "polite" });
    this.soft = element("input", { type: "checkbox", id: `soft-${spec.name}`, checked: true });
    const clear = element("button", { type: "button", class: "plain" }, "Clear");
    clear.addEventListener("click", () => {
      this.values.fill(this.spec.low);
      this.finish();
    });
    this.node = element("fieldset", { class: "drawing" },
      element("legend", {}, `Draw ${spec.name}`), this.canvas, this.spoken,
      element("div", { class: "row" }, clear, this.soft,
        element("label", { for: `soft-${spec.name}` }, "soft brush"),
        element("span", { class: "quiet" }, "Shift or right button erases")));
    this.listen();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
  }

  take(values) {
    this.values = values.map(Number);
    this.paint();
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.erasing = event.shiftKey || event.button === 2;
      this.stroke(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) this.stroke(event);
    });
    canvas.addEventListener("pointerup", () => this.finish());
    canvas.addEventListener("keydown", (event) => this.key(event));
    for (const name of ["focus", "blur"]) canvas.addEventListener(name, () => this.paint());
  }

  stroke(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = ((event.clientX - box.left) / box.width) * this.spec.columns;
    const row = ((event.clientY - box.top) / box.height) * this.spec.rows;
    this.dab(row, column);
    this.paint();
  }

  // Inks each cell by how near its middle is to a place, given in cells.
  dab(row, column) {
    const { low, high } = this.spec;
    const reach = this.soft.checked ? 1.1 : 0.5;
    for (let i = Math.floor(row - 1); i <= row + 1; i += 1) {
      for (let j = Math.floor(column - 1); j <= column + 1; j += 1) {
        if (i < 0 || j < 0 || i >= this.spec.rows || j >= this.spec.columns) continue;
        const inside = i === Math.floor(row) && j === Math.floor(column);
        const far = Math.hypot(row - i - 0.5, column - j - 0.5);
        const ink = inside ? 1 : this.soft.checked ? Math.max(0, 1 - far / reach) : 0;
        this.ink(i * this.spec.columns + j, low + ink * (high - low), ink);
      }
    }
  }

  ink(at, value, ink) {
    if (this.erasing) {
      if (ink === 1) this.values[at] = this.spec.low;
      return;
    }
    const wanted = this.spec.whole ? Math.round(value) : Number(value.toPrecision(4));
    this.values[at] = Math.max(this.values[at], wanted);
  }

  key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    if (move) {
      const limits = [this.spec.rows, this.spec.columns];
      this.cursor = this.cursor.map((place, axis) => (place + move[axis] + limits[axis]) % limits[axis]);
    } else if (event.key === " " || event.key === "Backspace" || event.key === "Delete") {
      this.erasing = event.key !== " ";
      this.dab(this.cursor[0] + 0.5, this.cursor[1] + 0.5);
      this.changed(this.values);
    } else return;
    event.preventDefault();
    this.paint();
    const [row, column] = this.cursor;
    const value = this.values[row * this.spec.columns + column];
    setText(this.spoken, `row ${row + 1}, column ${column + 1}: ${spelled(value)}`);
  }

  finish() {
    this.paint();
    this.changed(this.values);
  }

  paint() {
    const context = this.canvas.getContext("2d");
    const colour = (name) => getComputedStyle(this.canvas).getPropertyValue(name);
    const { rows, columns, low, high } = this.spec;
    const { cell } = this;
    context.clearRect(0, 0, columns * cell, rows * cell);
    context.fillStyle = colour("--ink");
    this.values.forEach((value, at) => {
      context.globalAlpha = Math.min(1, Math.max(0, (value - low) / (high - low)));
      context.fillRect((at % columns) * cell, Math.floor(at / columns) * cell, cell, cell);
    });
    context.globalAlpha = 1;
    context.strokeStyle = colour("--line");
    for (let at = 1; at < columns; at += 1) this.rule(context, at * cell, 0, at * cell, rows * cell);
    for (let at = 1; at < rows; at += 1) this.rule(context, 0, at * cell, columns * cell, at * cell);
    if (document.activeElement === this.canvas) {
      context.strokeStyle = colour("--accent");
      context.lineWidth = 3;
      context.strokeRect(this.cursor[1] * cell + 1.5, this.cursor[0] * cell + 1.5, cell - 3, cell - 3);
      context.lineWidth = 1;
    }
  }

  rule(context, x1, y1, x2, y2) {
    context.beginPath();
    context.moveTo(x1 + 0.5, y1 + 0.5);
    context.lineTo(x2 + 0.5, y2 + 0.5);
    context.stroke();
  }
}
