// The answer, then the views from top to bottom.

function answerView() {
  const facts = make('div', { class: 'facts' });
  for (const { question, value, words, state } of page.answer.facts) {
    facts.append(make('div', { class: `fact ${state}` }, make('h3', null, question), make('div', { class: 'value' }, value), make('p', null, words)));
  }
  const main = document.getElementById('main');
  main.append(make('section', { id: 'answer', 'aria-label': 'The answer' }, facts, ...page.answer.notes.map((words) => make('p', { class: 'note' }, words))));
}

function redraw() {
  for (const draw of drawings) draw();
}

answerView();
scatterView();
profilesView();
barsView();
heatView();
tracesView();
tableView();
settingsView();
document.getElementById('footer').append(`Made by countless ${page.settings.versions.countless}. This page holds all it shows and loads nothing from anywhere.`);
window.addEventListener('scroll', hideTip, { passive: true });
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
// Paper is white, whatever the screen is.
window.addEventListener('beforeprint', () => { document.documentElement.classList.add('printing'); redraw(); });
window.addEventListener('afterprint', () => { document.documentElement.classList.remove('printing'); redraw(); });
// Two frames on, everything has been drawn once.
requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset.ready = 'yes'; }));
