// Bars of a discrete distribution, and lines of each chain.

// Whole numbers from the first to the last; names in their order.
function barSlots(bars, chosen) {
  if (!bars.every(([key]) => Number.isInteger(key))) return bars.map(([key]) => key);
  const keys = bars.map(([key]) => key).concat(chosen === null ? [] : [chosen]);
  const low = Math.min(...keys);
  return Array.from({ length: Math.max(...keys) - low + 1 }, (_, i) => low + i);
}

widgets.bars = (node, { bars, label, chosen }, head) => {
  const box = make('div', { class: 'plot', id: once('bars') });
  const inWords = bars.map(([key, share]) => `${key}: ${percent(share)}`).join(', ');
  const figure = make('figure', { role: 'img', 'aria-label': `Probabilities of the ${label || 'values'}: ${inWords}` }, box);
  node.append(make('div', { class: 'side' }, figure, make('div', null, ...head)));
  const slots = barSlots(bars, chosen);
  const shares = new Map(bars);
  const largest = Math.max(...shares.values());
  drawn(box, (width) => {
    const height = 220;
    const slot = Math.min(width / slots.length, 90);
    const labelEvery = Math.ceil(26 / slot);
    const picture = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    slots.forEach((key, i) => {
      const share = shares.get(key) || 0;
      const x = i * slot;
      const tall = largest > 0 ? (150 * share) / largest : 0;
      const own = key === chosen;
      const fill = own ? page.colours[0] : theme('--pale');
      if (share > 0) picture.append(svg('rect', { x: x + slot * 0.1, y: 180 - tall, width: slot * 0.8, height: Math.max(tall, 1), fill, rx: 2 }));
      const beside = slots.includes(chosen) && Math.abs(i - slots.indexOf(chosen)) < labelEvery;
      if (own || (i % labelEvery === 0 && !beside)) {
        picture.append(svg('text', { x: Math.max(x + slot / 2, 9), y: 197, 'text-anchor': 'middle', class: own ? 'strong' : '' }, shorten(String(key), Math.max(4, Math.floor((labelEvery * slot) / 7)))));
      }
      if (share > 0 && slot >= 34) {
        picture.append(svg('text', { x: x + slot / 2, y: 174 - tall, 'text-anchor': 'middle', class: own ? 'strong' : '' }, percent(share)));
      }
    });
    picture.append(svg('line', { x1: 0, x2: slots.length * slot, y1: 180.5, y2: 180.5, stroke: theme('--line') }));
    picture.append(svg('text', { x: Math.max((slots.length * slot) / 2, 62), y: 216, 'text-anchor': 'middle' }, label));
    box.replaceChildren(picture);
  });
};

widgets.lines = (node, { lines, details }) => {
  const grid = make('div', { class: 'charts' });
  node.append(grid);
  for (const line of lines) {
    const box = make('div', { class: 'plot' });
    grid.append(make('figure', { role: 'img', 'aria-label': `Trace of the ${line.name}` }, make('figcaption', null, line.name), box));
    drawn(box, (width) => box.replaceChildren(traceOf(line, width)));
  }
  if (details === null) return;
  node.append(make('details', null, make('summary', null, 'In numbers'), make('p', { class: 'small' }, details.words), tableOf(details, 'Table of these quantities')));
};

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
    const anchor = x(tick) > width - right - 20 ? 'end' : 'middle';
    picture.append(svg('text', { x: x(tick), y: height - bottom + 16, 'text-anchor': anchor }, grouped(tick)));
  }
  picture.append(svg('text', { x: (left + width - right) / 2, y: height - 3, 'text-anchor': 'middle' }, trace.unit));
  trace.chains.forEach((chain, c) => {
    const points = chain.map((value, i) => (value === null ? '' : `${x(trace.at[i]).toFixed(1)},${y(value).toFixed(1)}`)).join(' ');
    picture.append(svg('polyline', { points, fill: 'none', stroke: colourOf(c), 'stroke-width': 1.2, 'stroke-opacity': 0.85, 'stroke-linejoin': 'round' }));
  });
  return picture;
}
