// The sections from top to bottom: each gets its heading and its place in the navigation, and is drawn by its widget.

function sectionOf({ name, title, widget, content, note, remarks, link }) {
  const heading = title ? make('h2', { id: `${name}-title` }, title) : null;
  const labels = title ? { 'aria-labelledby': `${name}-title` } : { 'aria-label': link || name };
  const head = [...paragraphs(note ? [note] : [], 'lead'), ...paragraphs(remarks, 'small')];
  const node = make('section', { id: name, ...labels }, heading, ...head);
  document.getElementById('main').append(node);
  if (title) document.getElementById('sections').append(make('a', { href: `#${name}` }, link || title));
  if (Object.hasOwn(widgets, widget)) widgets[widget](node, content, head);
  else node.append(make('p', { class: 'note' }, `This page cannot draw a section of the kind "${widget}".`));
}

function redraw() {
  for (const draw of drawings) draw();
}

page.sections.forEach(sectionOf);
document.getElementById('footer').append(`Made by countless ${page.version}. This page holds all it shows and loads nothing from anywhere.`);
window.addEventListener('scroll', hideTip, { passive: true });
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
// Paper is white, whatever the screen is.
window.addEventListener('beforeprint', () => { document.documentElement.classList.add('printing'); redraw(); });
window.addEventListener('afterprint', () => { document.documentElement.classList.remove('printing'); redraw(); });
// Two frames later everything has been drawn once.
requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset.ready = 'yes'; }));
