// What reproduces the fit, and how the columns were read.

widgets.settings = (node, { python, shell, note, choices, versions, columns, remark }) => {
  node.append(make('h3', null, 'In Python'), make('pre', null, python));
  if (shell !== null) node.append(make('h3', null, 'On the command line'), make('pre', null, shell));
  if (note) node.append(make('p', { class: 'note' }, note));
  const list = make('dl', { class: 'facts2' });
  for (const [name, value] of choices) list.append(make('dt', null, name), make('dd', null, value));
  list.append(make('dt', null, 'versions'), make('dd', null, Object.entries(versions).map((pair) => pair.join(' ')).join(', ')));
  node.append(make('h3', null, 'Model'), list);
  if (columns === null) return;
  node.append(make('h3', null, 'How the columns were read'), tableOf(columns, 'Columns'));
  if (remark) node.append(make('p', { class: 'small' }, remark));
};
