import { expect, it } from '@jest/globals';
import type { Ledger } from '../ledger/ledger.js';
import { VirtualClock } from 'nest-handlers/testing';
import { ScriptedLedger } from '../../spec-support/scripted-ledger.js';
import { DueTimes } from './due.js';
import { stored } from '../../spec-support/stored.js';

it('asks for the time of a tube once, and remembers at most a thousand tubes', async () => {
  const clock = new VirtualClock();
  const tube = new ScriptedLedger(clock);
  const times = new DueTimes({ tube: () => tube } as unknown as Ledger, clock);
  const asks = async (name: string) => {
    const learning = times.ready(stored(name));
    await learning;
    return learning !== undefined;
  };
  expect([await asks('first'), await asks('first')]).toEqual([true, false]);
  for (let i = 0; i < 999; i++) await asks(`t${i}`);
  expect(await asks('first')).toBe(false);
  await asks('one more');
  expect([await asks('first'), await asks('one more')]).toEqual([true, false]);
});
