// Matrices in shades: any matrix with names, and which rows share a cluster.

function heatColour(share, visible) {
  const from = theme('--heat-0').split(',').map(Number);
  const to = theme('--heat-1').split(',').map(Number);
  const at = visible ? 0.2 + 0.8 * share : share;
  return `rgb(${from.map((value, i) => Math.round(value + at * (to[i] - value))).join(',')})`;
}

// A picture with one pixel for each cell; share(i, j) is between 0 and 1, or null for a blank.
function heatPicture(height, width, share) {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d');
  const image = context.createImageData(width, height);
  const from = theme('--heat-0').split(',').map(Number);
  const to = theme('--heat-1').split(',').map(Number);
  for (let i = 0; i < height; i += 1) {
    for (let j = 0; j < width; j += 1) {
      const at = share(i, j);
      const place = 4 * (i * width + j);
      for (let c = 0; c < 3; c += 1) image.data[place + c] = from[c] + at * (to[c] - from[c]);
      image.data[place + 3] = at === null ? 0 : 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// The tooltip of the cell below the pointer; frame() gives left, top, width and height of the matrix in the canvas.
function heatTip(canvas, height, width, frame, about) {
  canvas.addEventListener('pointermove', (event) => {
    const at = canvas.getBoundingClientRect();
    const box = frame();
    const j = Math.floor(((event.clientX - at.left - box.left) / box.width) * width);
    const i = Math.floor(((event.clientY - at.top - box.top) / box.height) * height);
    if (i < 0 || j < 0 || i >= height || j >= width) hideTip();
    else showTip(event.clientX, event.clientY, ...about(i, j));
  });
  canvas.addEventListener('pointerleave', hideTip);
}

function heatKey(low, high) {
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
  return make('div', { class: 'key small' }, low, canvas, high);
}

// --- any matrix with names of its rows and columns --------------------------------------------------------------

const LEAST_CELL = 13;

// A stroke through each missing cell, which could be taken for the lightest shade.
function strikeBlanks(context, values, { left, top, width, height }) {
  values.forEach((row, i) => row.forEach((value, j) => {
    if (value !== null) return;
    context.beginPath();
    context.moveTo(left + (j / row.length) * width, top + ((i + 1) / values.length) * height);
    context.lineTo(left + ((j + 1) / row.length) * width, top + (i / values.length) * height);
    context.stroke();
  }));
}

widgets.heatmap = (node, { values, rows, columns, label, ends }, head) => {
  const [low, high] = ends;
  const share = (i, j) => (values[i][j] === null ? null : high > low ? Math.max(0, Math.min(1, (values[i][j] - low) / (high - low))) : 0.5);
  const box = make('div', { class: 'plot heat' });
  const canvas = make('canvas', { role: 'img', 'aria-label': `${label || 'Matrix'} of ${counted(rows.length, 'row')} and ${counted(columns.length, 'column')}` });
  box.append(canvas);
  const key = heatKey(shortNumber(low), shortNumber(high));
  node.append(make('div', { class: 'side' }, box, make('div', null, ...head, label ? make('p', { class: 'small' }, label) : null, key)));
  const longest = (names) => Math.min(14, Math.max(...names.map((name) => name.length)));
  const left = 12 + 7 * longest(rows);
  const top = 22;
  let frame = { left, top, width: 1, height: 1 };
  drawn(box, (whole) => {
    const wide = Math.min(whole, 600) - left;
    const tall = Math.max(60, Math.min(wide, 28 * rows.length));
    frame = { left, top, width: wide, height: tall };
    const context = sized(canvas, left + wide, top + tall + 2);
    context.imageSmoothingEnabled = false;
    context.drawImage(heatPicture(rows.length, columns.length, share), left, top, wide, tall);
    context.strokeStyle = theme('--line');
    strikeBlanks(context, values, frame);
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.fillStyle = theme('--ink');
    context.textAlign = 'right';
    const every = Math.ceil((LEAST_CELL * rows.length) / tall);
    rows.forEach((name, i) => { if (i % every === 0) context.fillText(shorten(name, 14), left - 6, top + ((i + 0.5) / rows.length) * tall); });
    context.textAlign = 'center';
    const across = Math.ceil(((10 + 7 * longest(columns)) * columns.length) / wide);
    columns.forEach((name, j) => { if (j % across === 0) context.fillText(shorten(name, 14), left + ((j + 0.5) / columns.length) * wide, 10); });
    context.strokeRect(left - 0.5, top - 0.5, wide + 1, tall + 1);
  });
  heatTip(canvas, rows.length, columns.length, () => frame, (i, j) => [
    make('strong', null, values[i][j] === null ? 'missing' : shortNumber(values[i][j])),
    make('div', null, `${rows[i]}, ${columns[j]}`),
  ]);
};

// --- which rows share a cluster ---------------------------------------------------------------------------------

// Runs of rows of one cluster: [cluster, first, last + 1].
function runsOf(clusters) {
  const runs = [];
  clusters.forEach((k, i) => {
    if (i === 0 || clusters[i - 1] !== k) runs.push([k, i, i + 1]);
    else runs[runs.length - 1][2] = i + 1;
  });
  return runs;
}

widgets.pairs = (node, { number, name, cluster, share: packed }, head) => {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const n = number.length;
  const share = (i, j) => (i === j ? 1 : bytes[(Math.max(i, j) * (Math.max(i, j) - 1)) / 2 + Math.min(i, j)] / 250);
  const box = make('div', { class: 'plot heat', id: once('heat') });
  const canvas = make('canvas', { role: 'img', 'aria-label': `Probability that two rows share a cluster, for ${n} rows ordered by cluster: dark squares along the diagonal are the clusters.` });
  box.append(canvas);
  node.append(make('div', { class: 'side' }, box, make('div', null, ...head, heatKey('never together', 'always together'))));
  let side = 0;
  const edge = 30;
  drawn(box, (width) => {
    side = Math.min(width, 600) - edge;
    const context = sized(canvas, side + edge, side + edge);
    context.imageSmoothingEnabled = false;
    context.drawImage(heatPicture(n, n, share), edge, edge, side, side);
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const [k, first, last] of runsOf(cluster)) {
      const from = edge + (first / n) * side;
      const long = ((last - first) / n) * side;
      context.fillStyle = colourOf(k);
      context.fillRect(from, edge - 9, Math.max(long - 1, 1), 7);
      context.fillRect(edge - 9, from, 7, Math.max(long - 1, 1));
      context.fillStyle = theme('--ink');
      if (long < LEAST_CELL) continue;
      context.textAlign = 'center';
      context.fillText(String(k), from + long / 2, edge - 17);
      context.textAlign = 'right';
      context.fillText(String(k), edge - 12, from + long / 2);
    }
    context.strokeStyle = theme('--line');
    context.strokeRect(edge - 0.5, edge - 0.5, side + 1, side + 1);
  });
  const row = (at) => make('div', null, mark(cluster[at]), ` ${name ? shorten(name[at], 60) : `row ${grouped(number[at])}`} (${clusterName(cluster[at])})`);
  const frame = () => ({ left: edge, top: edge, width: side, height: side });
  heatTip(canvas, n, n, frame, (i, j) => (i === j
    ? [row(i)]
    : [make('strong', null, `Together with probability ${percent(share(i, j))}`), row(i), row(j)]));
};
