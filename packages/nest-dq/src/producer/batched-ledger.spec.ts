import { expect, it } from '@jest/globals';
import type { Ledger } from '../ledger/ledger.js';
import { VirtualClock } from 'nest-handlers/testing';
import { ScriptedLedger, turn } from '../../spec-support/scripted-ledger.js';
import { BatchedLedger } from './batched-ledger.js';
import { stored } from '../../spec-support/stored.js';

it('keeps nothing of a tube and a verb once all that was asked is answered', async () => {
  const clock = new VirtualClock();
  const ledger = new ScriptedLedger(clock);
  const made: string[] = [];
  const tube = (name: string) => {
    made.push(name);
    return ledger;
  };
  const batched = new BatchedLedger({ tube } as unknown as Ledger, clock);
  const find = (id: string) => batched.ask(stored('t'), 'find', id);
  const answers = [find('a'), find('b')];
  await turn();
  await clock.advance(0);
  const late = find('c');
  expect(made).toEqual(['t']);
  await ledger.finds[0]!.answer(undefined, undefined);
  await Promise.all(answers);
  await clock.advance(0);
  await ledger.finds[1]!.answer(undefined);
  await late;
  void find('d');
  expect(made).toEqual(['t', 't']);
});
