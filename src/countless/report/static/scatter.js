// Rows in a plane that the reader chooses: canvas with ready-made marks, so that 20,000 rows stay fluid.

const COMPONENT = ['principal component 1', 'principal component 2'];
const GUTTER = 26;
const CELL = 16;

// What an axis can show: the cells of a column, a principal component, or nothing (rows spread out).
function axisChoices(table) {
  const list = table.columns.map((column) => ({
    name: column.name,
    values: column.cells,
    levels: column.levels,
    dates: column.dates,
  }));
  if (table.plane !== null) {
    ['x', 'y'].forEach((key, i) => list.push({
      name: COMPONENT[i],
      title: table.plane.names[i],
      values: table.plane[key],
      levels: null,
    }));
  }
  list.push({ name: 'none (rows spread out)', values: null, levels: null });
  return list;
}

function firstAxes(table, choices) {
  const numbers = table.columns.map((column, j) => j).filter((j) => table.columns[j].levels === null);
  if (table.n_columns === 2 && numbers.length === 2) return [0, 1];
  if (table.plane !== null) return [table.columns.length, table.columns.length + 1];
  return [numbers.length ? numbers[0] : 0, choices.length - 1];
}

// A number between -0.5 and 0.5 that is the same each time for the same row.
function jitter(i) {
  const value = Math.sin(i * 12.9898 + 4.1414) * 43758.5453;
  return value - Math.floor(value) - 0.5;
}

function position(axis, i) {
  if (axis.values === null) return jitter(i);
  const value = axis.values[i];
  return value === null || axis.levels === null ? value : value + 0.6 * jitter(i + 0.37);
}

function extent(axis) {
  if (axis.values === null) return [-0.6, 0.6];
  if (axis.levels !== null) return [-0.6, axis.levels.length - 0.4];
  let low = Infinity;
  let high = -Infinity;
  for (const value of axis.values) {
    if (value === null) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!(low <= high)) return [0, 1];
  const margin = 0.04 * (high - low) || 0.5;
  return [low - margin, high + margin];
}

// The range of an axis; of 99% of the rows where the others lie so far out that these would be a dot.
function middle(axis) {
  const whole = extent(axis);
  if (axis.values === null || axis.levels !== null) return whole;
  const sorted = Float64Array.from(axis.values.filter((value) => value !== null)).sort();
  if (sorted.length < 20) return whole;
  const low = sorted[Math.floor(0.005 * sorted.length)];
  const high = sorted[Math.ceil(0.995 * sorted.length) - 1];
  const margin = 0.15 * (high - low);
  if (!(high > low) || whole[1] - whole[0] < 2.5 * (high - low)) return whole;
  return [Math.max(whole[0], low - margin), Math.min(whole[1], high + margin)];
}

class Scatter {
  constructor(box, table) {
    this.table = table;
    this.choices = axisChoices(table);
    [this.x, this.y] = firstAxes(table, this.choices);
    this.only = new Set();
    this.view = this.firstView();
    this.colour = 'cluster';
    this.n = table.number.length;
    this.radius = this.n <= 400 ? 4.5 : this.n <= 3000 ? 3.4 : this.n <= 8000 ? 2.4 : 1.8;
    this.base = make('canvas', { tabindex: 0, role: 'img' });
    this.top = make('canvas', { 'aria-hidden': 'true' });
    box.append(this.base, this.top);
    this.current = -1;
    this.cells = new Map();
    this.again = drawn(box, (width) => this.draw(width));
    this.listen();
  }

  listen() {
    const at = (event) => {
      const box = this.base.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.base.addEventListener('pointermove', (event) => {
      if (this.from) this.frame(at(event));
      else this.hover(...at(event), event.clientX, event.clientY);
    });
    this.base.addEventListener('pointerdown', (event) => {
      this.hover(...at(event), event.clientX, event.clientY);
      if (event.pointerType === 'mouse' && event.button === 0) {
        this.from = at(event);
        this.base.setPointerCapture(event.pointerId);
      }
    });
    this.base.addEventListener('pointerup', (event) => this.release(at(event)));
    this.base.addEventListener('pointerleave', () => this.leave());
    this.base.addEventListener('blur', () => this.leave());
    this.base.addEventListener('dblclick', () => this.zoom(null));
    this.base.addEventListener('keydown', (event) => this.key(event));
  }

  // The whole, or the middle of it where outliers would hide it.
  firstView() {
    const x = this.choices[this.x];
    const y = this.choices[this.y];
    const view = { x: middle(x), y: middle(y) };
    const whole = [...extent(x), ...extent(y)];
    return [...view.x, ...view.y].every((value, i) => value === whole[i]) ? null : view;
  }

  zoom(view) {
    this.view = view;
    this.again();
  }

  // Tells the button how many rows are outside the view.
  told() {
    if (this.onzoom) this.onzoom(this.view !== null, this.px ? this.px.filter(Number.isNaN).length : 0);
  }

  draw(width) {
    const height = Math.round(Math.max(300, Math.min(0.62 * width, 560)));
    const x = this.choices[this.x];
    const y = this.choices[this.y];
    const lacks = (axis) => axis.values !== null && axis.values.includes(null);
    this.gutter = [lacks(x) ? GUTTER : 0, lacks(y) ? GUTTER : 0];
    const longest = y.levels === null ? 0 : Math.max(...y.levels.map((level) => Math.min(level.length, 16)));
    const named = Math.max(62, Math.min(140, 30 + 7 * longest));
    this.area = { left: named, right: width - 10, top: 10, bottom: height - 46 };
    const [xLow, xHigh] = this.view ? this.view.x : extent(x);
    const [yLow, yHigh] = this.view ? this.view.y : extent(y);
    const { left, right, top, bottom } = this.area;
    const start = left + this.gutter[0];
    const floor = bottom - this.gutter[1];
    this.toX = (value) => (value === null ? left + GUTTER / 2 : start + ((value - xLow) / (xHigh - xLow)) * (right - start));
    this.toY = (value) => (value === null ? bottom - GUTTER / 2 : floor - ((value - yLow) / (yHigh - yLow)) * (floor - top));
    this.fromPixel = (px, py) => [
      xLow + ((px - start) / (right - start)) * (xHigh - xLow),
      yLow + ((floor - py) / (floor - top)) * (yHigh - yLow),
    ];
    const context = sized(this.base, width, height);
    this.over = sized(this.top, width, height);
    this.frameAxes(context, x, y, [xLow, xHigh], [yLow, yHigh]);
    this.place(x, y);
    this.marks(context);
    this.told();
    this.base.setAttribute('aria-label', `Scatter of ${counted(this.n, 'row')}: ${y.name} against ${x.name}. Arrow keys go from row to row; the table below lists the same rows.`);
  }

  frameAxes(context, x, y, [xLow, xHigh], [yLow, yHigh]) {
    const { left, right, top, bottom } = this.area;
    context.font = '12px system-ui, sans-serif';
    context.strokeStyle = theme('--grid');
    context.fillStyle = theme('--soft');
    context.textAlign = 'center';
    const room = Math.max(3, Math.floor((right - left) / 90));
    for (const [value, name] of this.ticksOf(x, xLow, xHigh, room)) {
      const px = Math.round(this.toX(value)) + 0.5;
      context.beginPath();
      context.moveTo(px, top);
      context.lineTo(px, bottom);
      context.stroke();
      context.fillText(shorten(name, 13), px, bottom + 16);
    }
    context.textAlign = 'right';
    for (const [value, name] of this.ticksOf(y, yLow, yHigh, 6)) {
      const py = Math.round(this.toY(value)) + 0.5;
      context.beginPath();
      context.moveTo(left, py);
      context.lineTo(right, py);
      context.stroke();
      context.fillText(shorten(name, 16), left - 6, py + 4);
    }
    context.strokeStyle = theme('--line');
    context.strokeRect(left + 0.5, top + 0.5, right - left - 1, bottom - top - 1);
    context.fillStyle = theme('--ink');
    context.textAlign = 'center';
    context.fillText(shorten(x.title || x.name, Math.floor((right - left) / 7)), (left + right) / 2, bottom + 36);
    context.save();
    context.translate(13, (top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(shorten(y.values === null ? '' : y.title || y.name, Math.floor((bottom - top) / 7)), 0, 0);
    context.restore();
    this.gutters(context);
  }

  gutters(context) {
    const { left, right, top, bottom } = this.area;
    context.fillStyle = theme('--card');
    if (this.gutter[0]) context.fillRect(left + 1, top + 1, GUTTER, bottom - top - 2);
    if (this.gutter[1]) context.fillRect(left + 1, bottom - GUTTER, right - left - 2, GUTTER - 1);
    context.fillStyle = theme('--soft');
    context.font = 'italic 11px system-ui, sans-serif';
    if (this.gutter[0]) context.fillText('missing', left + GUTTER / 2, bottom + 15);
    if (this.gutter[1]) {
      context.textAlign = 'right';
      context.fillText('missing', left - 6, bottom - GUTTER / 2 + 4);
    }
  }

  ticksOf(axis, low, high, room) {
    if (axis.values === null) return [];
    const inWords = axis.dates ? dayText : shortNumber;
    if (axis.levels === null) return ticks(low, high, room).map((value) => [value, inWords(value)]);
    const every = Math.ceil(axis.levels.length / Math.max(room * 1.5, 1));
    return axis.levels.map((level, code) => [code, level]).filter(([code]) => code % every === 0 && code >= low && code <= high);
  }

  // Where each row is drawn, and a grid of the rows by place, for the pointer.
  place(x, y) {
    this.px = new Float32Array(this.n);
    this.py = new Float32Array(this.n);
    this.cells = new Map();
    const { left, right, top, bottom } = this.area;
    for (let i = 0; i < this.n; i += 1) {
      const valueX = position(x, i);
      const valueY = position(y, i);
      const px = valueX === null ? left + GUTTER * (0.5 + 0.6 * jitter(i)) : this.toX(valueX);
      const py = valueY === null ? bottom - GUTTER * (0.5 + 0.6 * jitter(i + 0.7)) : this.toY(valueY);
      const inside = px >= left && px <= right && py >= top && py <= bottom;
      this.px[i] = inside ? px : NaN;
      this.py[i] = py;
      if (!inside || !this.shows(i)) continue;
      const key = Math.floor(px / CELL) * 10000 + Math.floor(py / CELL);
      if (this.cells.has(key)) this.cells.get(key).push(i);
      else this.cells.set(key, [i]);
    }
  }

  // What gives the row its colour and shape: its cluster, or the group of that.
  look(i) {
    const k = this.table.cluster[i];
    return this.colour === 'group' ? grouping.of[k] : k;
  }

  shows(i) {
    return this.only.size === 0 || this.only.has(this.table.cluster[i]);
  }

  marks(context) {
    const stamps = new Map();
    const { p, sure } = this.table;
    const pale = [];
    const strong = [];
    for (let i = 0; i < this.n; i += 1) {
      if (Number.isNaN(this.px[i])) continue;
      (this.shows(i) ? strong : pale).push(i);
    }
    context.globalAlpha = 0.5;
    context.fillStyle = theme('--pale');
    for (const i of pale) context.fillRect(this.px[i] - 1, this.py[i] - 1, 2, 2);
    context.globalAlpha = 1;
    for (const i of strong) {
      const open = p[i] < sure;
      const shade = this.colour === 'sure' ? Math.min(9, Math.floor(10 * p[i])) : -1;
      const look = this.look(i);
      const key = `${look}/${open}/${shade}`;
      if (!stamps.has(key)) stamps.set(key, this.stamp(look, open, shade));
      const stamp = stamps.get(key);
      context.drawImage(stamp.canvas, this.px[i] - stamp.half, this.py[i] - stamp.half, 2 * stamp.half, 2 * stamp.half);
    }
  }

  stamp(k, open, shade) {
    const half = Math.ceil(this.radius * 1.3 + 2);
    const canvas = document.createElement('canvas');
    const context = sized(canvas, 2 * half, 2 * half);
    context.globalAlpha = this.n > 8000 ? 0.6 : 0.85;
    const colour = shade < 0 ? colourOf(k) : heatColour((shade + 0.5) / 10, true);
    tracePath(context, k, half, half, this.radius);
    if (open && shade < 0) {
      context.fillStyle = theme('--paper');
      context.fill();
      context.strokeStyle = colour;
      context.lineWidth = this.radius > 3 ? 1.6 : 1;
      context.stroke();
    } else {
      context.fillStyle = colour;
      context.fill();
    }
    return { canvas, half };
  }

  nearest(px, py) {
    let best = -1;
    let least = 18 * 18;
    const column = Math.floor(px / CELL);
    const row = Math.floor(py / CELL);
    for (let a = column - 2; a <= column + 2; a += 1) {
      for (let b = row - 2; b <= row + 2; b += 1) {
        for (const i of this.cells.get(a * 10000 + b) || []) {
          const d = (this.px[i] - px) ** 2 + (this.py[i] - py) ** 2;
          if (d < least) [best, least] = [i, d];
        }
      }
    }
    return best;
  }

  hover(px, py, clientX, clientY) {
    const i = this.nearest(px, py);
    if (i < 0) this.leave();
    else this.point(i, clientX, clientY);
  }

  point(i, clientX, clientY) {
    const { left, top, right, bottom } = this.area;
    this.over.clearRect(0, 0, right + 20, bottom + 60);
    this.over.strokeStyle = theme('--ink');
    this.over.lineWidth = 2;
    tracePath(this.over, this.look(i), this.px[i], this.py[i], this.radius + 3);
    this.over.stroke();
    if (i !== this.current) tip.dataset.row = String(this.table.number[i]);
    this.current = i;
    showTip(clientX, clientY, ...aboutRow(this.table, i));
    return [left, top];
  }

  leave() {
    this.current = -1;
    this.from = null;
    if (this.over) this.over.clearRect(0, 0, this.area.right + 20, this.area.bottom + 60);
    hideTip();
  }

  frame([px, py]) {
    hideTip();
    const [x, y] = this.from;
    this.over.clearRect(0, 0, this.area.right + 20, this.area.bottom + 60);
    this.over.strokeStyle = theme('--accent');
    this.over.lineWidth = 1.5;
    this.over.strokeRect(Math.min(x, px), Math.min(y, py), Math.abs(x - px), Math.abs(y - py));
  }

  release([px, py]) {
    const from = this.from;
    this.from = null;
    if (!from || Math.abs(from[0] - px) < 8 || Math.abs(from[1] - py) < 8) return;
    const [x1, y1] = this.fromPixel(...from);
    const [x2, y2] = this.fromPixel(px, py);
    this.zoom({ x: [Math.min(x1, x2), Math.max(x1, x2)], y: [Math.min(y1, y2), Math.max(y1, y2)] });
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape') this.leave();
    if (!step) return;
    event.preventDefault();
    const order = [...this.px.keys()].filter((i) => !Number.isNaN(this.px[i]) && this.shows(i)).sort((a, b) => this.px[a] - this.px[b]);
    if (order.length === 0) return;
    const at = order.indexOf(this.current);
    const i = order[(at + step + order.length) % order.length];
    const box = this.base.getBoundingClientRect();
    this.point(i, box.left + this.px[i], box.top + this.py[i]);
  }
}

function axisSelect(label, choices, chosen, change) {
  const select = make('select', { onchange: (event) => change(Number(event.target.value)) });
  choices.forEach((axis, i) => select.append(make('option', { value: i, selected: i === chosen }, shorten(axis.name, 60))));
  return make('label', null, label, select);
}

widgets.scatter = (node, { table: name }) => {
  const table = page.shared[name];
  const box = make('div', { class: 'plot scatter', id: once('scatter') });
  const scatter = new Scatter(box, table);
  const whole = make('button', { type: 'button', hidden: true, onclick: () => scatter.zoom(null) }, 'Show all rows');
  scatter.onzoom = (zoomed, outside) => {
    whole.hidden = !zoomed;
    whole.textContent = `Show all rows (${grouped(outside)} outside the view)`;
  };
  const turn = (key) => (i) => {
    scatter[key] = i;
    scatter.zoom(scatter.firstView());
  };
  const colour = make('select', { onchange: (event) => { scatter.colour = event.target.value; scatter.again(); } });
  const colours = [['cluster', 'cluster'], ...(grouping.of ? [['group', 'group of clusters']] : []), ['sure', 'probability (darker: more certain)']];
  colour.append(...colours.map(([value, words]) => make('option', { value }, words)));
  grouping.listeners.push(() => {
    scatter.colour = 'group';
    colour.value = 'group';
    scatter.again();
  });
  const bar = make(
    'div', { class: 'bar' },
    axisSelect('Across', scatter.choices, scatter.x, turn('x')),
    axisSelect('Up', scatter.choices, scatter.y, turn('y')),
    make('label', null, 'Colour', colour),
    whole,
  );
  node.append(bar, box, legend(scatter));
};

function legend(scatter) {
  const list = make('ul', { class: 'legend', 'aria-label': 'Show only some clusters' });
  scatter.table.sizes.forEach((size, label) => {
    const button = make('button', { type: 'button', 'aria-pressed': 'false' }, mark(label), `${clusterName(label)}: ${grouped(size)}`);
    button.addEventListener('click', () => {
      const on = !scatter.only.delete(label);
      if (on) scatter.only.add(label);
      button.setAttribute('aria-pressed', String(on));
      scatter.again();
    });
    list.append(make('li', null, button));
  });
  return list;
}
