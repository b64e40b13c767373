// Bars of the number of clusters, and lines of each chain.

function barsView() {
  if (page.counts === null) return;
  const box = make('div', { class: 'plot', id: 'bars' });
  const most = page.counts.reduce((best, bar) => (bar[1] > best[1] ? bar : best));
  const inWords = page.counts.map(([k, share]) => `${k}: ${percent(share)}`).join(', ');
  section(
    'how-many', 'How many clusters?', 'How many',
    make(
      'div', { class: 'side' },
      make('figure', { role: 'img', 'aria-label': `Posterior of the number of clusters: ${inWords}` }, box),
      make('p', { class: 'lead' }, 'How probable each number of clusters is: its share of the draws. The number that the rest of this page shows, that of the consensus of all draws, is in colour.'),
    ),
  );
  drawn(box, (width) => {
    const low = Math.min(page.counts[0][0], page.nClusters);
    const high = Math.max(page.counts[page.counts.length - 1][0], page.nClusters);
    const n = high - low + 1;
    const height = 220;
    const slot = Math.min(width / n, 90);
    const labelEvery = Math.ceil(26 / slot);
    const picture = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    const shares = new Map(page.counts);
    for (let k = low; k <= high; k += 1) {
      const share = shares.get(k) || 0;
      const x = (k - low) * slot;
      const tall = (150 * share) / most[1];
      const own = k === page.nClusters;
      const fill = own ? page.colours[0] : theme('--pale');
      picture.append(svg('rect', { x: x + slot * 0.1, y: 180 - tall, width: slot * 0.8, height: Math.max(tall, share > 0 ? 1 : 0), fill, rx: 2 }));
      if (own || (k - low) % labelEvery === 0) {
        picture.append(svg('text', { x: x + slot / 2, y: 197, 'text-anchor': 'middle', class: own ? 'strong' : '' }, String(k)));
      }
      if (share > 0 && slot >= 34) {
        picture.append(svg('text', { x: x + slot / 2, y: 174 - tall, 'text-anchor': 'middle', class: own ? 'strong' : '' }, percent(share)));
      }
    }
    picture.append(svg('line', { x1: 0, x2: n * slot, y1: 180.5, y2: 180.5, stroke: theme('--line') }));
    picture.append(svg('text', { x: Math.max((n * slot) / 2, 62), y: 216, 'text-anchor': 'middle' }, 'number of clusters'));
    box.replaceChildren(picture);
  });
}

function tracesView() {
  if (page.traces.length === 0) return;
  const sampled = page.kind === 'sampled';
  const node = section(
    'chains', sampled ? 'Do the chains agree?' : 'The way to the optimum', sampled ? 'Chains' : 'Optimum',
    make('p', { class: 'lead' }, sampled
      ? 'Each line is one chain, started independently. Lines that overlap and wander around the same level are a good sign; lines on separate levels mean that the chains found different answers.'
      : 'What the optimiser raised, step by step; it stops where the line is flat.'),
  );
  const shown = page.traces[0].chains.length;
  if (page.traces[0].nChains > shown) node.append(make('p', { class: 'small' }, `The first ${shown} of ${page.traces[0].nChains} chains are drawn.`));
  const grid = make('div', { class: 'charts' });
  node.append(grid);
  for (const trace of page.traces) {
    const box = make('div', { class: 'plot' });
    grid.append(make('figure', { role: 'img', 'aria-label': `Trace of the ${trace.name}` }, make('figcaption', null, trace.name), box));
    drawn(box, (width) => box.replaceChildren(traceOf(trace, width)));
  }
  if (page.agreement.length > 0) node.append(agreementTable());
}

// R-hat and effective draws, for those who know them.
function agreementTable() {
  const shown = (value) => (value === null ? '' : grouped(value));
  const head = ['quantity', 'R-hat', 'effective draws', 'in the tails'].map((name, i) => make('th', { scope: 'col', class: i ? 'number' : '' }, name));
  const rows = page.agreement.map(({ name, rhat, bulk, tail }) => make(
    'tr', null, make('td', { class: 'wrap' }, name),
    make('td', { class: 'number' }, rhat === null ? '' : rhat.toFixed(3)),
    make('td', { class: 'number' }, shown(bulk)),
    make('td', { class: 'number' }, shown(tail)),
  ));
  return make(
    'details', null,
    make('summary', null, 'In figures'),
    make('p', { class: 'small' }, 'R-hat compares chains with each other: 1 is agreement, more than 1.1 is not. Effective draws say how many independent draws these are worth.'),
    make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Agreement of the chains' }, make('table', null, make('thead', null, make('tr', null, ...head)), make('tbody', null, ...rows))),
  );
}

function traceOf(trace, width) {
  const height = 190;
  const [left, right, top, bottom] = [62, 8, 8, 36];
  const all = trace.chains.flat().filter((value) => value !== null);
  let low = Math.min(...all);
  let high = Math.max(...all);
  const margin = 0.06 * (high - low) || 0.5;
  low -= margin;
  high += margin;
  const first = trace.at[0];
  const last = Math.max(trace.at[trace.at.length - 1], first + 1);
  const x = (at) => left + ((at - first) / (last - first)) * (width - left - right);
  const y = (value) => top + (1 - (value - low) / (high - low)) * (height - top - bottom);
  const picture = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
  const whole = all.every(Number.isInteger);
  for (const tick of ticks(low, high, 4).filter((value) => !whole || Number.isInteger(value))) {
    picture.append(svg('line', { x1: left, x2: width - right, y1: y(tick), y2: y(tick), stroke: theme('--grid') }));
    picture.append(svg('text', { x: left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, shortNumber(tick)));
  }
  for (const tick of ticks(first, last, width / 110).filter(Number.isInteger)) {
    picture.append(svg('text', { x: x(tick), y: height - bottom + 16, 'text-anchor': 'middle' }, grouped(tick)));
  }
  picture.append(svg('text', { x: (left + width - right) / 2, y: height - 3, 'text-anchor': 'middle' }, trace.unit));
  trace.chains.forEach((chain, c) => {
    const points = chain.map((value, i) => (value === null ? '' : `${x(trace.at[i]).toFixed(1)},${y(value).toFixed(1)}`)).join(' ');
    picture.append(svg('polyline', { points, fill: 'none', stroke: colourOf(c), 'stroke-width': 1.2, 'stroke-opacity': 0.85, 'stroke-linejoin': 'round' }));
  });
  return picture;
}
