// What distinguishes each cluster, in words and as a mark on a line.

const FIRST_CARDS = 12;

widgets.profiles = (node, { n_rows: nRows, clusters }) => {
  const cards = make('div', { class: 'cards' });
  node.append(cards);
  const show = (list) => cards.append(...list.map((each) => card(each, nRows)));
  show(clusters.slice(0, FIRST_CARDS));
  const rest = clusters.slice(FIRST_CARDS);
  if (rest.length === 0) return;
  const more = make('button', { type: 'button' }, `Show the other ${counted(rest.length, 'cluster')}`);
  more.addEventListener('click', () => {
    show(rest);
    more.remove();
  });
  node.append(more);
};

function card({ label, size, low, high, p, names, traits }, nRows) {
  const share = `${counted(size, 'row')} (${percent(size / nRows)})`;
  const between = low < high ? `, 95% of the draws: ${grouped(low)} to ${grouped(high)}` : '';
  const list = make('ul');
  for (const trait of traits) list.append(make('li', null, trait.text, trait.bar === null ? null : lineOf(trait.bar, label)));
  return make(
    'article', { class: 'card' },
    make('h3', null, mark(label), `Cluster ${label}`),
    make('div', { class: 'small' }, `${share}${between}; mean probability of its rows ${percent(p)}`),
    names ? make('div', { class: 'small' }, names) : null,
    list,
  );
}

// Numbers on the scale 0 to 100 of a stretched picture: strokes keep their width.
function lineOf(bar, k) {
  const picture = svg('svg', { class: 'line', viewBox: '0 0 100 18', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  const stroke = (x1, x2, y1, y2, colour, width) => picture.append(svg('line', { x1, x2, y1, y2, stroke: colour, 'stroke-width': width, 'vector-effect': 'non-scaling-stroke', 'stroke-linecap': 'butt' }));
  if (bar.kind === 'share') {
    stroke(0, 100, 9, 9, 'var(--grid)', 10);
    stroke(0, 100 * bar.own, 9, 9, colourOf(k), 10);
    stroke(100 * bar.others, 100 * bar.others, 2, 16, 'var(--ink)', 2);
    return picture;
  }
  const [low, high] = bar.ends;
  const at = (value) => (high > low ? Math.max(1, Math.min(99, (100 * (value - low)) / (high - low))) : 50);
  stroke(0, 100, 9, 9, 'var(--line)', 1);
  stroke(at(bar.others[0]), at(bar.others[1]), 9, 9, 'var(--pale)', 10);
  stroke(at(bar.own[0]), at(bar.own[1]), 9, 9, colourOf(k), 4);
  // A stroke of no length with round ends is a dot that stretching does not make an ellipse.
  const dot = (colour, width) => picture.append(svg('line', { x1: at(bar.own[2]), x2: at(bar.own[2]), y1: 9, y2: 9, stroke: colour, 'stroke-width': width, 'vector-effect': 'non-scaling-stroke', 'stroke-linecap': 'round' }));
  dot('var(--paper)', 15);
  dot(colourOf(k), 11);
  return picture;
}
