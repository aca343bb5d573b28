import type { Level } from './entries.js';

/** Colour and mark: who doesn't see the colour sees the mark. */
const LOOKS: Readonly<Record<Level | 'well' | 'unknown', readonly [colour: string, mark: string]>> = {
  well: ['#17713a', '<path d="M4.5 8.5l2.5 2.5 4.5-5.5" fill="none" stroke="#fff" stroke-width="2"/>'],
  note: ['#17713a', ''],
  unknown: ['#6b7280', ''],
  warning: ['#b26a00', '<path d="M7 3.5h2v6H7zM7 11h2v2H7z" fill="#fff"/>'],
  failure: ['#c5221f', '<path d="M5 5l6 6M11 5l-6 6" stroke="#fff" stroke-width="2.2"/>'],
};

/** The icon of the tab, as an address. */
export function iconOf(level: Level | 'well' | 'unknown'): string {
  const [colour, mark] = LOOKS[level];
  const shape =
    level === 'warning'
      ? `<path d="M8 0l8 16H0z" fill="${colour}"/>`
      : level === 'failure'
        ? `<rect width="16" height="16" rx="3" fill="${colour}"/>`
        : `<circle cx="8" cy="8" r="8" fill="${colour}"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">${shape}${mark}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
