// Which rows belong together: a square of rows by rows in the order of the consensus.

function heatColour(share, visible) {
  const from = theme('--heat-0').split(',').map(Number);
  const to = theme('--heat-1').split(',').map(Number);
  const at = visible ? 0.2 + 0.8 * share : share;
  return `rgb(${from.map((value, i) => Math.round(value + at * (to[i] - value))).join(',')})`;
}

function unpackPairs() {
  const bytes = Uint8Array.from(atob(page.pairs.share), (letter) => letter.charCodeAt(0));
  const n = page.pairs.number.length;
  return { n, share: (i, j) => (i === j ? 1 : bytes[(Math.max(i, j) * (Math.max(i, j) - 1)) / 2 + Math.min(i, j)] / 250) };
}

function heatPicture(pairs) {
  const canvas = document.createElement('canvas');
  canvas.width = pairs.n;
  canvas.height = pairs.n;
  const context = canvas.getContext('2d');
  const image = context.createImageData(pairs.n, pairs.n);
  const from = theme('--heat-0').split(',').map(Number);
  const to = theme('--heat-1').split(',').map(Number);
  for (let i = 0; i < pairs.n; i += 1) {
    for (let j = 0; j < pairs.n; j += 1) {
      const share = pairs.share(i, j);
      for (let c = 0; c < 3; c += 1) image.data[4 * (i * pairs.n + j) + c] = from[c] + share * (to[c] - from[c]);
      image.data[4 * (i * pairs.n + j) + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// Runs of rows of one cluster: [cluster, first, last + 1].
function runsOf(clusters) {
  const runs = [];
  clusters.forEach((k, i) => {
    if (i === 0 || clusters[i - 1] !== k) runs.push([k, i, i + 1]);
    else runs[runs.length - 1][2] = i + 1;
  });
  return runs;
}

function heatView() {
  if (page.pairs === null) return;
  const pairs = unpackPairs();
  const box = make('div', { class: 'plot', id: 'heat' });
  const canvas = make('canvas', { role: 'img', 'aria-label': `Probability that two rows share a cluster, for ${pairs.n} rows ordered by cluster: dark squares along the diagonal are the clusters.` });
  box.append(canvas);
  const approximate = page.kind === 'variational' ? ' Here by the variational approximation.' : '';
  const words = `Each row and column of the square is a row of the table, ordered by cluster; the darker, the more often the two are in one cluster. Clear dark blocks are clear clusters; shades between two blocks are rows that could belong to either.${approximate}`;
  const some = page.pairs.all ? null : make('p', { class: 'small' }, `${pairs.n} of ${grouped(page.nRows)} rows, at least a few of each cluster.`);
  section('pairs', 'Which rows belong together?', 'Pairs', make('div', { class: 'side' }, box, make('div', null, make('p', { class: 'lead' }, words), some, heatKey())));
  let side = 0;
  const edge = 30;
  drawn(box, (width) => {
    side = Math.min(width, 600) - edge;
    const context = sized(canvas, side + edge, side + edge);
    context.imageSmoothingEnabled = false;
    context.drawImage(heatPicture(pairs), edge, edge, side, side);
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const [k, first, last] of runsOf(page.pairs.cluster)) {
      const from = edge + (first / pairs.n) * side;
      const long = ((last - first) / pairs.n) * side;
      context.fillStyle = colourOf(k);
      context.fillRect(from, edge - 9, Math.max(long - 1, 1), 7);
      context.fillRect(edge - 9, from, 7, Math.max(long - 1, 1));
      context.fillStyle = theme('--ink');
      if (long < 13) continue;
      context.textAlign = 'center';
      context.fillText(String(k), from + long / 2, edge - 17);
      context.textAlign = 'right';
      context.fillText(String(k), edge - 12, from + long / 2);
    }
    context.strokeStyle = theme('--line');
    context.strokeRect(edge - 0.5, edge - 0.5, side + 1, side + 1);
  });
  canvas.addEventListener('pointermove', (event) => {
    const at = canvas.getBoundingClientRect();
    const j = Math.floor(((event.clientX - at.left - edge) / side) * pairs.n);
    const i = Math.floor(((event.clientY - at.top - edge) / side) * pairs.n);
    if (i < 0 || j < 0 || i >= pairs.n || j >= pairs.n) hideTip();
    else showTip(event.clientX, event.clientY, ...aboutPair(pairs, i, j));
  });
  canvas.addEventListener('pointerleave', hideTip);
}

function aboutPair(pairs, i, j) {
  const { number, cluster } = page.pairs;
  const row = (at) => make('div', null, mark(cluster[at]), ` row ${grouped(number[at])} (${clusterName(cluster[at])})`);
  if (i === j) return [row(i)];
  return [make('strong', null, `Together with probability ${percent(pairs.share(i, j))}`), row(i), row(j)];
}

function heatKey() {
  const canvas = make('canvas', { 'aria-hidden': 'true' });
  const draw = () => {
    const context = sized(canvas, 160, 12);
    for (let x = 0; x < 160; x += 1) {
      context.fillStyle = heatColour(x / 159, false);
      context.fillRect(x, 0, 1, 12);
    }
  };
  draw();
  drawings.push(draw);
  return make('div', { class: 'key small' }, 'never together', canvas, 'always together');
}
