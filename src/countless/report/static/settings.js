// How the columns were read, and what reproduces the fit.

function settingsView() {
  const { python, shell, seeded, columns, choices, versions } = page.settings;
  const node = section('settings', 'How to find this again', 'Settings');
  node.append(make('h3', null, 'In Python'), make('pre', null, python));
  if (shell !== null) node.append(make('h3', null, 'On the command line'), make('pre', null, shell));
  if (!seeded) node.append(make('p', { class: 'note' }, 'The fit had no fixed seed (random_state): another run gives other draws.'));
  const list = make('dl', { class: 'facts2' });
  for (const [name, value] of choices) list.append(make('dt', null, name), make('dd', null, value));
  list.append(make('dt', null, 'versions'), make('dd', null, Object.entries(versions).map((pair) => pair.join(' ')).join(', ')));
  node.append(make('h3', null, 'Model'), list, make('h3', null, 'How the columns were read'), readTable(columns));
  if (columns.length < page.settings.nColumns) node.append(make('p', { class: 'small' }, `The first ${columns.length} of ${grouped(page.settings.nColumns)} columns.`));
}

function readTable(columns) {
  const head = ['column', 'modelled as', 'missing', 'holds', 'because'].map((name) => make('th', { scope: 'col', class: name === 'missing' ? 'number' : '' }, name));
  const rows = columns.map((column) => make(
    'tr', null,
    make('td', { class: 'wrap' }, column.name),
    make('td', null, column.family),
    make('td', { class: 'number' }, column.missing === null ? '' : column.missing === 0 ? '0' : `${grouped(column.missing)} (${percent(column.missing / page.nRows)})`),
    make('td', { class: 'wrap' }, holds(column)),
    make('td', { class: 'wrap' }, column.note),
  ));
  return make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Columns' }, make('table', null, make('thead', null, make('tr', null, ...head)), make('tbody', null, ...rows)));
}

function holds(column) {
  if (column.levels === null) return column.low === null ? '' : `${column.low} to ${column.high}`;
  const more = column.nLevels - column.levels.length;
  return `${column.levels.map((level) => shorten(level, 40)).join(', ')}${more > 0 ? ` and ${counted(more, 'more')}`.replace('mores', 'more') : ''}`;
}
