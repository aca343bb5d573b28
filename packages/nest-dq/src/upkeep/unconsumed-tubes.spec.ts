import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { UnconsumedTubes } from './unconsumed-tubes.js';

describe('UnconsumedTubes', () => {
  let clock: VirtualClock;
  let warnings: string[];
  let found: string[];
  let elected: boolean;
  let tubes: UnconsumedTubes;

  beforeEach(() => {
    clock = new VirtualClock();
    warnings = [];
    found = [];
    elected = true;
    tubes = new UnconsumedTubes({
      clock,
      elected: () => elected,
      look: async () => found,
      warn: (message) => void warnings.push(message),
    });
    tubes.start();
  });

  it('warns once of a tube that two looks found', async () => {
    found = ['mial'];
    await clock.advance(60_000);
    expect(warnings).toEqual([]);
    await clock.advance(60_000);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^jobs of mial are due, but no process consumes it.* whose class is in the `providers`/,
      ),
    ]);
    await clock.advance(600_000);
    expect(warnings).toHaveLength(1);
  });

  it('says nothing of one that is consumed again by the second look, nor where another process is elected', async () => {
    found = ['mail'];
    await clock.advance(60_000);
    found = [];
    await clock.advance(60_000);
    elected = false;
    found = ['mail'];
    await clock.advance(180_000);
    expect(warnings).toEqual([]);
  });

  it('stops looking once it is closed', async () => {
    found = ['mial'];
    await clock.advance(60_000);
    tubes.close();
    await clock.advance(600_000);
    expect(warnings).toEqual([]);
  });
});
