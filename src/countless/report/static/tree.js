// Which clusters overlap: a tree of joins, and a cut that the reader moves; the scatter plot and the table follow it.

const LEAST_OVERLAP = 1e-3;
const OVERLAPS = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002];
const BRANCH = 24;

// Group of each cluster at the cut, null on a page without a tree; functions that are called when the cut moves.
const grouping = { of: null, listeners: [] };

const groupName = (g) => `group ${g}`;

// Groups that are left when there are n of them, numbered by size.
function groupsAt({ joins, sizes }, n) {
  const inside = new Map(sizes.map((_, k) => [k, [k]]));
  joins.slice(0, sizes.length - n).forEach(([i, j], step) => {
    inside.set(sizes.length + step, [...inside.get(i), ...inside.get(j)]);
    inside.delete(i);
    inside.delete(j);
  });
  const size = (list) => list.reduce((sum, k) => sum + sizes[k], 0);
  const of = new Array(sizes.length);
  [...inside.values()].sort((a, b) => size(b) - size(a) || a[0] - b[0]).forEach((list, g) => list.forEach((k) => { of[k] = g; }));
  return of;
}

// Clusters from top to bottom, so that branches do not cross.
function leavesOf(joins, node, nClusters) {
  if (node < nClusters) return [node];
  return joins[node - nClusters].flatMap((child) => leavesOf(joins, child, nClusters));
}

function membersOf(of) {
  const members = [];
  of.forEach((g, k) => { (members[g] = members[g] || []).push(k); });
  return members;
}

if (page.shared.tree) grouping.of = groupsAt(page.shared.tree, page.shared.tree.n_groups);

widgets.tree = (node, { table: name }) => {
  const tree = page.shared[name];
  const nClusters = tree.sizes.length;
  const slider = make('input', { type: 'range', id: once('cut'), min: 1, max: nClusters, step: 1, value: tree.n_groups });
  const said = make('output', { role: 'status' });
  const list = make('ul', { class: 'legend still' });
  const box = make('div', { class: 'plot', id: once('tree') });
  const figure = make('figure', { role: 'img', 'aria-label': `Tree of ${counted(nClusters, 'cluster')} by their overlap; the list below has the groups.` }, box);
  node.append(make('div', { class: 'bar' }, make('label', null, 'Number of groups', slider), said), figure, list);
  const draw = drawn(box, (width) => box.replaceChildren(treeOf(tree, width, (n) => cut(n))));
  const tell = () => {
    const members = membersOf(grouping.of);
    said.textContent = counted(members.length, 'group');
    list.replaceChildren(...members.map((clusters, g) => {
      const rows = clusters.reduce((sum, k) => sum + tree.sizes[k], 0);
      return make('li', null, mark(g), ` ${groupName(g)}: ${clusters.length === 1 ? 'cluster' : 'clusters'} ${clusters.join(', ')} (${counted(rows, 'row')})`);
    }));
  };
  function cut(n) {
    slider.value = String(n);
    grouping.of = groupsAt(tree, n);
    tell();
    draw();
    for (const listener of grouping.listeners) listener();
  }
  slider.addEventListener('input', () => cut(Number(slider.value)));
  tell();
};

// The tree lies on its side: clusters at the left, joins further right the less the two overlap.
function treeOf({ joins, overlaps, sizes }, width, cut) {
  const nClusters = sizes.length;
  const [left, right, top, bottom] = [150, 14, 6, 44];
  const height = top + BRANCH * nClusters + bottom;
  const floor = height - bottom;
  const picture = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true', class: 'tree' });
  const x = (overlap) => left + (Math.log(Math.max(overlap, LEAST_OVERLAP)) / Math.log(LEAST_OVERLAP)) * (width - left - right);
  const line = (x1, y1, x2, y2, colour, more) => picture.append(svg('line', { x1, y1, x2, y2, stroke: colour, 'stroke-width': 1.8, ...more }));
  for (const tick of OVERLAPS.filter((_, i) => width > 560 || i % 3 === 0)) {
    line(x(tick), top, x(tick), floor, theme('--grid'), { 'stroke-width': 1 });
    picture.append(svg('text', { x: x(tick), y: floor + 17, 'text-anchor': 'middle' }, `${100 * tick}%`));
  }
  picture.append(svg('text', { x: width - right, y: floor + 17, 'text-anchor': 'end' }, 'less'));
  picture.append(svg('text', { x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle' }, 'overlap of the clusters that join'));
  const place = new Map(leavesOf(joins, nClusters + joins.length - 1, nClusters).map((k, at) => [k, top + BRANCH * (at + 0.5)]));
  const inside = new Map(sizes.map((_, k) => [k, grouping.of[k]]));
  const from = new Map(sizes.map((_, k) => [k, left]));
  for (const [k, y] of place) {
    const words = svg('text', { x: left - 8, y: y + 4, 'text-anchor': 'end' }, `${clusterName(k)}: ${grouped(sizes[k])}`);
    words.style.fill = colourOf(grouping.of[k]);
    picture.append(words);
  }
  // A step is never drawn left of those before it.
  let least = 1;
  const steps = [];
  joins.forEach(([i, j], step) => {
    least = Math.min(least, overlaps[step]);
    const at = x(least);
    const both = nClusters + step;
    inside.set(both, inside.get(i) === inside.get(j) ? inside.get(i) : null);
    const colour = (child) => (inside.get(child) === null ? theme('--soft') : colourOf(inside.get(child)));
    for (const child of [i, j]) line(from.get(child), place.get(child), at, place.get(child), colour(child));
    line(at, place.get(i), at, place.get(j), colour(both), { 'stroke-linecap': 'square' });
    place.set(both, (place.get(i) + place.get(j)) / 2);
    from.set(both, at);
    steps.push(at);
  });
  const n = membersOf(grouping.of).length;
  const edges = [left, ...steps, width - right];
  const at = (edges[nClusters - n] + edges[nClusters - n + 1]) / 2;
  line(at, top, at, floor, theme('--ink'), { 'stroke-dasharray': '5 4', 'stroke-width': 1.2 });
  picture.addEventListener('click', (event) => {
    const pixel = event.clientX - picture.getBoundingClientRect().left;
    cut(nClusters - steps.filter((step) => step <= pixel).length);
  });
  return picture;
}
