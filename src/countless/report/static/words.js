// Widgets without a drawing: paragraphs, facts, tables, images.

const paragraphs = (list, kind) => list.map((text) => make('p', { class: kind }, text));

widgets.words = (node, content) => node.append(...paragraphs(content));

widgets.facts = (node, { facts, notes, remarks }) => {
  const cards = facts.map(({ question, value, words, state }) => make(
    'div', { class: `fact ${state}` },
    make('h3', null, question), make('div', { class: 'value' }, value), make('p', null, ...withOptions(words)),
  ));
  node.append(make('div', { class: 'facts' }, ...cards), ...paragraphs(notes, 'note'), ...paragraphs(remarks, 'small'));
};

// Text in which an option of the command line is not broken into two lines.
function withOptions(text) {
  return text.split(/(--[a-z-]+)/).map((part) => (part.startsWith('--') ? make('span', { class: 'whole' }, part) : part));
}

widgets.image = (node, { source, alternative }) => {
  node.append(make('figure', { class: 'image' }, make('img', { src: source, alt: alternative })));
};

widgets.table = (node, content) => node.append(tableOf(content, 'Table, scrolls sideways'));

function scrolling(label, table) {
  return make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, table);
}

// The number that a cell begins with, as in "1,234 (5%)"; NaN for any other text.
function numberIn(cell) {
  if (typeof cell === 'number') return cell;
  const found = /^[<>]?(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)%?( \(.*\))?$/i.exec(cell);
  return found === null ? NaN : Number(found[1].replaceAll(',', ''));
}

function shownCell(cell) {
  if (cell === null) return '';
  if (typeof cell !== 'number') return String(cell);
  return Number.isInteger(cell) ? grouped(cell) : shortNumber(cell);
}

// Cells are text, numbers or null; missing ones come last, whichever way the others are sorted.
function tableOf({ header, rows, sortable, wide }, label) {
  const blank = (cell) => cell === null || cell === '';
  const numeric = header.map((_, j) => rows.every((row) => blank(row[j]) || !Number.isNaN(numberIn(row[j]))) && rows.some((row) => !blank(row[j])));
  const classes = header.map((_, j) => (numeric[j] ? 'number' : wide.includes(j) ? 'wrap' : null));
  const body = make('tbody');
  const show = (list) => body.replaceChildren(...list.map((row) => make('tr', null, ...row.map((cell, j) => make('td', { class: classes[j] }, shownCell(cell))))));
  const compare = (j, down) => (a, b) => {
    if (blank(a[j]) || blank(b[j])) return blank(a[j]) - blank(b[j]);
    const by = numeric[j] ? numberIn(a[j]) - numberIn(b[j]) : String(a[j]).localeCompare(String(b[j]), 'en', { numeric: true });
    return down ? -by : by;
  };
  const sorted = { at: -1, down: false };
  const heads = header.map((name, j) => {
    const button = sortable ? make('button', { type: 'button', title: `Sort by ${name}`, onclick: () => sortBy(j) }, name) : name;
    return make('th', { scope: 'col', class: numeric[j] ? 'number' : null, 'aria-sort': sortable ? 'none' : null }, button);
  });
  function sortBy(j) {
    sorted.down = sorted.at === j && !sorted.down;
    sorted.at = j;
    heads.forEach((head, i) => head.setAttribute('aria-sort', i !== j ? 'none' : sorted.down ? 'descending' : 'ascending'));
    show([...rows].sort(compare(j, sorted.down)));
  }
  show(rows);
  return scrolling(label, make('table', null, make('thead', null, make('tr', null, ...heads)), body));
}
