'use strict';

const tip = document.createElement('div');
tip.className = 'tip';
tip.hidden = true;
tip.setAttribute('aria-hidden', 'true');  // a mark's label is read out anyway
document.body.append(tip);

function showTip(mark) {
  tip.textContent = mark.getAttribute('aria-label');
  tip.hidden = false;
  const place = mark.getBoundingClientRect();
  const left = place.left + place.width / 2 - tip.offsetWidth / 2;
  const above = place.top - tip.offsetHeight - 6;
  tip.style.left = Math.max(4, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 4)) + 'px';
  tip.style.top = (above < 4 ? place.bottom + 6 : above) + 'px';
}

function hideTip() {
  tip.hidden = true;
}

function markOf(event) {
  return event.target.closest ? event.target.closest('.mark') : null;
}

const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// The nearest mark in a direction; a step aside counts double, so that rows and columns are followed.
function neighbour(mark, [dx, dy]) {
  const center = (element) => {
    const box = element.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const [x, y] = center(mark);
  let best = null;
  let least = Infinity;
  for (const other of mark.closest('svg').querySelectorAll('.mark')) {
    const [ox, oy] = center(other);
    const ahead = (ox - x) * dx + (oy - y) * dy;
    const aside = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
    if (ahead > 1 && ahead + 2 * aside < least) {
      best = other;
      least = ahead + 2 * aside;
    }
  }
  return best;
}

// One stop of the Tab key per panel; arrows move inside it.
for (const panel of document.querySelectorAll('svg.panel')) {
  panel.querySelectorAll('.mark').forEach((mark, i) => mark.setAttribute('tabindex', i === 0 ? '0' : '-1'));
}

document.addEventListener('pointerover', (event) => (markOf(event) ? showTip(markOf(event)) : hideTip()));
document.addEventListener('focusin', (event) => (markOf(event) ? showTip(markOf(event)) : hideTip()));
document.addEventListener('focusout', hideTip);
document.addEventListener('scroll', hideTip, { passive: true });
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') hideTip();
  const mark = markOf(event);
  if (!mark || !directions[event.key]) return;
  event.preventDefault();
  const next = neighbour(mark, directions[event.key]);
  if (!next) return;
  mark.setAttribute('tabindex', '-1');
  next.setAttribute('tabindex', '0');
  next.focus({ preventScroll: true });
});

// Numbers before words, both in the direction asked for.
function compareCells(a, b, sign) {
  const [ka, kb] = [a.dataset.key, b.dataset.key];
  if (ka && kb) return sign * (Number(ka) - Number(kb));
  if (ka || kb) return ka ? -1 : 1;
  return sign * a.textContent.localeCompare(b.textContent, 'en', { numeric: true });
}

// Rows stay in the group that a rule parts from the next: means stand below what they are the means of.
function sortBy(header) {
  const table = header.closest('table');
  const column = header.cellIndex;
  const numeric = header.classList.contains('number');
  const order = header.getAttribute('aria-sort');
  const descending = order ? order === 'ascending' : numeric;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
  header.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
  for (const body of table.tBodies) {
    const rows = [...body.rows];
    rows.sort((a, b) => compareCells(a.cells[column], b.cells[column], descending ? -1 : 1));
    body.append(...rows);
  }
}

for (const header of document.querySelectorAll('thead th')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = header.textContent;
  button.addEventListener('click', () => sortBy(header));
  header.replaceChildren(button);
}
