import { expect, it } from '@jest/globals';
import type { Ledger } from '../ledger/ledger.js';
import { VirtualClock } from '../test-kit/virtual-clock.js';
import { ScriptedLedger, turn } from '../../spec-support/scripted-ledger.js';
import { BatchedLedger } from './batched-ledger.js';
import { stored } from '../../spec-support/stored.js';

it('keeps nothing of a tube once all that was asked of it is answered', async () => {
  const clock = new VirtualClock();
  const tube = new ScriptedLedger(clock);
  const batched = new BatchedLedger({ tube: () => tube } as unknown as Ledger, clock);
  const first = batched.tube(stored('t'));
  const answers = [first.find('a'), first.find('b'), first.letter({ id: 'a', born: 0 })];
  await turn();
  await clock.advance(0);
  await tube.finds[0]!.answer(undefined, undefined);
  await turn();
  expect(batched.tube(stored('t'))).toBe(first);
  await tube.reads[0]!.answer(undefined);
  await Promise.all(answers);
  await turn();
  expect(batched.tube(stored('t'))).not.toBe(first);
});
