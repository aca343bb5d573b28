import { expect, it } from '@jest/globals';
import { firstChoice, nextOption, type Option, pagesLike, tubesLike } from './options.js';

const option = (group: Option['group'], label: string): Option => ({ id: label, group, label, href: '#/' });

it('finds tubes by any part of their name, those that begin with it first', () => {
  expect(tubesLike(['mail.order', 'order.cancel', 'stock'], 'Order')).toEqual(['order.cancel', 'mail.order']);
  expect(tubesLike(['a', 'b'], '')).toEqual(['a', 'b']);
});

it('finds pages by their title and their address', () => {
  const pages = [
    { path: 'dead', title: 'Dead letters' },
    { path: 'tubes', title: 'Tubes' },
  ];
  expect(pagesLike(pages, 'letters')).toEqual([pages[0]]);
  expect(pagesLike(pages, 'tubes')).toEqual([pages[1]]);
});

it('takes an exact match, the first page or tube, or the search', () => {
  const search = option('search', 'Search all tubes');
  const tube = option('tubes', 'order.cancel');
  const job = option('jobs', 'order-42');
  expect(firstChoice([tube, job, search], 'order')).toBe(tube);
  expect(firstChoice([tube, job, search], 'order-42')).toBe(job);
  expect(firstChoice([job, search], 'order')).toBe(search);
  expect(firstChoice([], 'order')).toBeUndefined();
});

it('goes round', () => {
  const options = [option('pages', 'a'), option('pages', 'b')];
  expect(nextOption(options, options[1], 1)).toBe(options[0]);
  expect(nextOption(options, options[0], -1)).toBe(options[1]);
  expect(nextOption([], undefined, 1)).toBeUndefined();
});
