// What all widgets share: the data, elements made from text (never from markup), colours, numbers in words, the tooltip.

// Functions that draw a section, by name: (section element, content, the paragraphs under its heading).
const widgets = {};

const page = JSON.parse(document.getElementById('data').textContent);

function make(tag, settings, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(settings || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') node.className = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function svg(tag, settings, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(settings || {})) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

// An id that is in the page once; null for the second widget of a kind.
const once = (id) => (document.getElementById(id) === null ? id : null);

// --- numbers and words -------------------------------------------------------------------------------------

const grouped = (n) => n.toLocaleString('en-US');
const counted = (n, noun) => `${grouped(n)} ${noun}${n === 1 ? '' : 's'}`;

// A probability in percent; only certainty is written as 0% or 100%.
function percent(share) {
  if (share > 0 && share < 0.01) return '<1%';
  if (share > 0.99 && share < 1) return '>99%';
  return `${Math.round(100 * share)}%`;
}

function shortNumber(value) {
  if (value === null) return '';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return String(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(2);
  return String(Number(value.toPrecision(5)));
}

// A cell in words; null where it is missing.
function cellText(column, cell) {
  if (cell === null) return null;
  if (column.dates) return dayText(cell);
  return column.levels === null ? String(cell) : column.levels[cell];
}

// Days since 1970 as a date, with the time of day where there is one.
function dayText(days) {
  const moment = new Date(Math.round(days * 1440) * 60000);
  if (Number.isNaN(moment.getTime())) return String(days);
  const text = moment.toISOString();
  return text.slice(11, 16) === '00:00' ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 16)}`;
}

const clusterName = (k) => `cluster ${k}`;

function shorten(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1)}\u2026`;
}

// --- colours and marks: beyond seven clusters the shape changes too -------------------------------------------

const colourOf = (k) => page.colours[k % page.colours.length];
const SHAPES = 7;

function theme(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Corner points of the mark of cluster k around the origin, for a radius; null for a circle.
function corners(k, r) {
  const shape = Math.floor(k / page.colours.length) % SHAPES;
  const star = (list) => list.map(([x, y]) => [x * r, y * r]);
  if (shape === 0) return null;
  if (shape === 1) return star([[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]]);
  if (shape === 2) return star([[0, -1.1], [1, 0.75], [-1, 0.75]]);
  if (shape === 3) return star([[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]]);
  if (shape === 4) return star([[0, 1.1], [1, -0.75], [-1, -0.75]]);
  const plus = [
    [-0.4, -1.1], [0.4, -1.1], [0.4, -0.4], [1.1, -0.4], [1.1, 0.4], [0.4, 0.4],
    [0.4, 1.1], [-0.4, 1.1], [-0.4, 0.4], [-1.1, 0.4], [-1.1, -0.4], [-0.4, -0.4],
  ];
  if (shape === 5) return star(plus);
  const turned = Math.SQRT1_2;
  return star(plus.map(([x, y]) => [(x - y) * turned, (x + y) * turned]));
}

function tracePath(context, k, x, y, r) {
  const points = corners(k, r);
  context.beginPath();
  if (points === null) context.arc(x, y, r, 0, 2 * Math.PI);
  else {
    points.forEach(([dx, dy], i) => (i ? context.lineTo(x + dx, y + dy) : context.moveTo(x + dx, y + dy)));
    context.closePath();
  }
}

// The mark of a cluster as a small picture beside its name.
function mark(k) {
  const points = corners(k, 5.5);
  const shape = points === null
    ? svg('circle', { cx: 0, cy: 0, r: 5.5, fill: colourOf(k) })
    : svg('polygon', { points: points.map((point) => point.join(',')).join(' '), fill: colourOf(k) });
  return svg('svg', { class: 'mark', viewBox: '-7 -7 14 14', 'aria-hidden': 'true' }, shape);
}

// --- canvases and the tooltip --------------------------------------------------------------------------------

function sized(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

// Drawings are repeated when their width, the colours or the medium change.
const drawings = [];

function drawn(container, draw) {
  let width = 0;
  const again = () => { if (container.clientWidth > 0) draw(container.clientWidth); };
  drawings.push(again);
  new ResizeObserver(() => {
    // A canvas that is drawn while the paper is laid out comes out empty: there, pictures are scaled.
    if (container.clientWidth !== width && !document.documentElement.classList.contains('printing')) {
      width = container.clientWidth;
      again();
    }
  }).observe(container);
  return again;
}

const tip = document.getElementById('tip');

function showTip(x, y, ...children) {
  tip.replaceChildren(...children);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 16 + box.width > window.innerWidth ? x - 16 - box.width : x + 16;
  const top = y + 16 + box.height > window.innerHeight ? y - 12 - box.height : y + 16;
  tip.style.left = `${Math.max(4, Math.min(left, window.innerWidth - box.width - 4))}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

function hideTip() {
  tip.hidden = true;
}

const MOST_IN_TIP = 12;

// Row i of a shared table, for the tooltip.
function aboutRow(table, i) {
  const { number, name, cluster, p, second, p2 } = table;
  const called = name ? `${shorten(name[i], 60)} (row ${grouped(number[i])})` : `Row ${grouped(number[i])}`;
  const lines = [make('strong', null, mark(cluster[i]), ` ${called}: ${clusterName(cluster[i])}`)];
  lines.push(make('span', null, `${percent(p[i])} sure`));
  if (grouping.of) lines.push(make('span', null, `; ${groupName(grouping.of[cluster[i]])}`));
  if (second[i] >= 0) lines.push(make('span', null, `; runner-up ${clusterName(second[i])} (${percent(p2[i])})`));
  const list = make('dl');
  for (const column of table.columns.slice(0, MOST_IN_TIP)) {
    const text = cellText(column, column.cells[i]);
    list.append(make('dt', null, column.name), make('dd', null, text === null ? 'missing' : shorten(text, 60)));
  }
  lines.push(list);
  const more = table.n_columns - Math.min(table.columns.length, MOST_IN_TIP);
  if (more > 0) lines.push(make('span', { class: 'small' }, `and ${counted(more, 'more column')}`));
  return lines;
}

// Round numbers between two ends, for an axis.
function ticks(low, high, about) {
  const raw = (high - low) / Math.max(about, 1);
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) found.push(Number((i * step).toPrecision(12)));
  return found;
}
