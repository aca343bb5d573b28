import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Handled } from '../../spec-support/handled.js';
import { Discard } from '../api/outcome.js';
import type { KqMessage } from '../api/received.js';
import { KqError } from '../errors.js';
import { replayDeadLetters } from './replay.js';

let handled: Handled;
beforeEach(() => {
  handled = new Handled();
});
afterEach(() => handled.close());

const replay = (store = handled.store) => replayDeadLetters(handled.driver, { topic: 'dead', store });

/** Handles what it handled once already, and lets the rest die. */
async function dieOnce(): Promise<void> {
  const seen = new Set<number>();
  await handled.consume(
    (value: number, message: KqMessage) => {
      handled.tell(`${value} runs, of ${message.key}`);
      if (seen.has(value)) return;
      seen.add(value);
      throw Discard.because('gone');
    },
    { deadLetter: 'dead' },
  );
}

describe('replayDeadLetters', () => {
  it('brings letters back as they were, in their order and once', async () => {
    await dieOnce();
    await handled.push('1', '2');
    await handled.untilCommitted(2n);
    expect(await replay()).toEqual({ replayed: 2, foreign: 0 });
    await handled.untilCommitted(4n);
    expect(handled.told.slice(-2)).toEqual(['1 runs, of k', '2 runs, of k']);
    expect(await replay()).toEqual({ replayed: 0, foreign: 0 });
    await handled.push('3');
    await handled.untilCommitted(5n);
    expect(await replay()).toEqual({ replayed: 1, foreign: 0 });
    await handled.untilCommitted(6n);
  });

  it('gives back only the headers that the message had', async () => {
    await dieOnce();
    await handled.store('t', { key: null, value: Buffer.from('1'), headers: { tenant: Buffer.from('a') } });
    await handled.untilCommitted(1n);
    const stored: unknown[] = [];
    await replay(async (topic, message) => void stored.push([topic, message]));
    const message = { key: null, value: Buffer.from('1'), headers: { tenant: Buffer.from('a') } };
    expect(stored).toEqual([['t', message]]);
  });

  it('passes over what is no letter, and leaves what comes meanwhile to the next replay', async () => {
    const letter = () =>
      handled.store('dead', { key: null, value: null, headers: { 'kq-topic': Buffer.from('t') } });
    await handled.store('dead', { key: null, value: Buffer.from('x') });
    await letter();
    const { admin } = handled.driver;
    const ends = admin.ends.bind(admin);
    admin.ends = async (topic) => {
      const known = await ends(topic);
      await letter(); // before any is read
      return known;
    };
    expect(await replay(letter)).toEqual({ replayed: 1, foreign: 1 });
    admin.ends = ends;
    expect(await replay()).toEqual({ replayed: 2, foreign: 0 });
  });

  it('stops at a letter that cannot be stored, and goes on with it', async () => {
    for (const value of ['1', '2', '3'])
      await handled.store('dead', {
        key: null,
        value: Buffer.from(value),
        headers: { 'kq-topic': Buffer.from('t') },
      });
    const error = new KqError('KQ_UNKNOWN_TOPIC', 'there is no topic t');
    const failing = replay(async (_, { value }) => {
      if (String(value) === '2') throw error;
    });
    await expect(failing).rejects.toBe(error);
    expect(await replay()).toEqual({ replayed: 2, foreign: 0 });
  });

  it('tells that there is no such topic', async () => {
    const missing = replayDeadLetters(handled.driver, { topic: 'a b', store: handled.store });
    await expect(missing).rejects.toThrow("KQ_BAD_TOPIC: the topic is 'a b'");
  });
});
