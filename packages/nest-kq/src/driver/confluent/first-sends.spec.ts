import { expect, it } from '@jest/globals';
import { KqError } from '../../errors.js';
import type { Sent } from '../driver.js';
import { FirstSends } from './first-sends.js';

const STORED: Sent = { partition: 0, offset: 0n };

/** Sends by name, of which each is answered when the test says so. */
function setUp() {
  const firsts = new FirstSends();
  const handed: string[] = [];
  const answers = new Map<string, (sent: Sent) => void>();
  const send = (name: string, place = 'orders/0') =>
    firsts.send(place, () => {
      handed.push(name);
      return new Promise((resolve) => answers.set(name, resolve));
    });
  return { handed, send, answer: (name: string, sent: Sent) => answers.get(name)!(sent) };
}

it('hands over nothing more of a partition until its first message is stored, and then all in their order', async () => {
  const { handed, send, answer } = setUp();
  const first = send('a');
  void send('b');
  void send('c');
  void send('other', 'orders/1');
  expect(handed).toEqual(['a', 'other']);
  answer('a', STORED);
  await expect(first).resolves.toBe(STORED);
  expect(handed).toEqual(['a', 'other', 'b', 'c']);
  void send('d');
  expect(handed.at(-1)).toBe('d');
});

it('treats the next one as the first if the first is refused', async () => {
  const { handed, send, answer } = setUp();
  const refused = new KqError('KQ_TOO_LARGE', 'too large');
  const first = send('a');
  const second = send('b');
  void send('c');
  answer('a', refused);
  await expect(first).resolves.toBe(refused);
  expect(handed).toEqual(['a', 'b']);
  answer('b', STORED);
  await second;
  expect(handed).toEqual(['a', 'b', 'c']);
});

it('releases waiting sends after one that found no broker, and starts over', async () => {
  const { handed, send, answer } = setUp();
  const first = send('a');
  void send('b');
  void send('c');
  answer('a', new KqError('KQ_AWAY', 'no broker'));
  await first;
  expect(handed).toEqual(['a', 'b', 'c']);
  void send('d');
  void send('e');
  expect(handed).toEqual(['a', 'b', 'c', 'd']);
});
