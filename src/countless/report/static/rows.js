// All rows of a shared table: sorted by any column, filtered by words and by cluster, page by page.

const PAGE_SIZES = [25, 50, 100, 250];

function tableColumns(table) {
  const { number, name, cluster, p, second, p2, sure } = table;
  const share = (values) => (i) => (values[i] > 0 ? percent(values[i]) : '');
  return [
    { name: 'row', numeric: true, value: (i) => number[i], text: (i) => String(number[i]) },
    ...(name ? [{ name: 'name', numeric: false, data: true, value: (i) => name[i], text: (i) => name[i] }] : []),
    { name: 'cluster', numeric: true, value: (i) => cluster[i], text: (i) => String(cluster[i]), mark: (i) => cluster[i] },
    ...(grouping.of ? [{ name: 'group', numeric: true, value: (i) => grouping.of[cluster[i]], text: (i) => String(grouping.of[cluster[i]]), mark: (i) => grouping.of[cluster[i]] }] : []),
    { name: 'probability', numeric: true, value: (i) => p[i], text: share(p), unsure: (i) => p[i] < sure },
    { name: 'runner-up', numeric: true, value: (i) => (second[i] < 0 ? null : second[i]), text: (i) => (second[i] < 0 ? '' : String(second[i])), mark: (i) => second[i] },
    { name: 'its probability', numeric: true, value: (i) => (second[i] < 0 ? null : p2[i]), text: share(p2) },
    ...table.columns.map((column) => ({
      name: column.name,
      numeric: column.levels === null,
      data: true,
      value: column.levels === null ? (i) => column.cells[i] : (i) => cellText(column, column.cells[i]),
      text: (i) => cellText(column, column.cells[i]),
    })),
  ];
}

// Words are matched from their beginning: "male" does not match "female".
function beginning(word) {
  return new RegExp(`(^|[^\\p{L}\\p{N}])${word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`, 'iu');
}

class RowTable {
  constructor(table) {
    this.table = table;
    this.columns = tableColumns(table);
    this.order = table.number.map((_, i) => i);
    this.sorted = { at: 0, down: false };
    this.words = '';
    this.cluster = -1;
    this.unsure = false;
    this.size = PAGE_SIZES[0];
    this.page = 0;
    this.head = make('tr');
    this.body = make('tbody');
    this.status = make('span', { role: 'status' });
    this.headers();
    this.select();
  }

  headers() {
    this.columns.forEach((column, at) => {
      const button = make('button', { type: 'button', title: `Sort by ${column.name}`, onclick: () => this.sortBy(at) }, column.name);
      column.header = make('th', { scope: 'col', class: column.numeric ? 'number' : '', 'aria-sort': at === 0 ? 'ascending' : 'none' }, button);
      this.head.append(column.header);
    });
  }

  sortBy(at) {
    this.sorted = { at, down: this.sorted.at === at ? !this.sorted.down : false };
    this.columns.forEach((column, j) => column.header.setAttribute('aria-sort', j !== at ? 'none' : this.sorted.down ? 'descending' : 'ascending'));
    this.select();
  }

  // Missing cells come last, whichever way the others are sorted.
  compare(a, b, column) {
    const [x, y] = [column.value(a), column.value(b)];
    if (x === null || y === null) return (x === null) - (y === null) || a - b;
    const by = column.numeric ? x - y : String(x).localeCompare(String(y), 'en', { numeric: true });
    return (this.sorted.down ? -by : by) || a - b;
  }

  select() {
    const words = this.words.split(/\s+/).filter(Boolean).map(beginning);
    const { number, cluster, p, sure } = this.table;
    const texts = this.columns.filter((column) => column.data || column.name === 'row');
    const holds = (i) => {
      const all = texts.map((column) => (column.text(i) === null ? 'missing' : column.text(i))).join('\n');
      return words.every((word) => word.test(all));
    };
    this.order = [];
    for (let i = 0; i < number.length; i += 1) {
      if (this.cluster >= 0 && cluster[i] !== this.cluster) continue;
      if (this.unsure && p[i] >= sure) continue;
      if (words.length === 0 || holds(i)) this.order.push(i);
    }
    const column = this.columns[this.sorted.at];
    this.order.sort((a, b) => this.compare(a, b, column));
    this.page = 0;
    this.show();
  }

  show() {
    const last = Math.max(0, Math.ceil(this.order.length / this.size) - 1);
    this.page = Math.max(0, Math.min(this.page, last));
    const from = this.page * this.size;
    const rows = this.order.slice(from, from + this.size);
    this.body.replaceChildren(...rows.map((i) => make('tr', null, ...this.columns.map((column) => this.cell(column, i)))));
    this.status.textContent = rows.length === 0
      ? 'no row matches'
      : `rows ${grouped(from + 1)} to ${grouped(from + rows.length)} of ${grouped(this.order.length)}`;
    if (this.back) {
      this.back.disabled = this.page === 0;
      this.next.disabled = this.page === last;
    }
  }

  cell(column, i) {
    const text = column.text(i);
    const kind = column.numeric ? 'number' : 'text';
    if (text === null) return make('td', { class: kind }, make('span', { class: 'missing' }, 'missing'));
    const classes = column.unsure && column.unsure(i) ? `${kind} unsure` : kind;
    const node = make('td', { class: classes, title: text.length > 30 ? text : null });
    if (column.mark && column.mark(i) >= 0) node.append(mark(column.mark(i)), ' ');
    node.append(text);
    return node;
  }
}

widgets.rows = (node, { table: name }) => {
  const shared = page.shared[name];
  const table = new RowTable(shared);
  grouping.listeners.push(() => table.select());
  const turn = (by) => () => { table.page += by; table.show(); };
  table.back = make('button', { type: 'button', onclick: turn(-1) }, 'Previous');
  table.next = make('button', { type: 'button', onclick: turn(1) }, 'Next');
  const search = make('input', { type: 'search', id: once('search'), placeholder: 'words in any cell', oninput: (event) => { table.words = event.target.value; table.select(); } });
  const clusters = make('select', { id: once('only'), onchange: (event) => { table.cluster = Number(event.target.value); table.select(); } });
  clusters.append(make('option', { value: -1 }, 'all'), ...shared.sizes.map((_, label) => make('option', { value: label }, String(label))));
  const unsure = make('input', { type: 'checkbox', id: once('unsure'), onchange: (event) => { table.unsure = event.target.checked; table.select(); } });
  const sizes = make('select', { onchange: (event) => { table.size = Number(event.target.value); table.show(); } });
  sizes.append(...PAGE_SIZES.map((size) => make('option', { value: size }, String(size))));
  node.append(
    make(
      'div', { class: 'bar' },
      make('label', null, 'Find', search),
      make('label', null, 'Cluster', clusters),
      make('label', { class: 'check' }, unsure, `less than ${percent(shared.sure)} sure`),
      make('label', null, 'Rows per page', sizes),
    ),
    scrolling('Rows, scrolls sideways', make('table', { id: once('row-table') }, make('thead', null, table.head), table.body)),
    make('div', { class: 'bar' }, table.back, table.next, table.status),
  );
  table.show();
};
