import { beforeEach, describe, expect, it } from '@jest/globals';
import type { CopyHeader } from '../../copies/header.js';
import type { AnnouncedGeneration } from '../../ledger/requests.js';
import { heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';
import { ScriptedLedger, turn } from '../../../spec-support/scripted-ledger.js';
import { VirtualClock } from '../../test-kit/virtual-clock.js';
import { Finishes } from './finishes.js';
import { deathOf } from '../run/outcome.js';
import { Run } from '../run/run.js';

describe('Finishes', () => {
  let clock: VirtualClock;
  let ledger: ScriptedLedger;
  let finishes: Finishes;
  /** `id verdict answer due` of each outcome that the ledger took. */
  let taken: string[];
  const { lane } = recordingLane();

  beforeEach(() => {
    clock = new VirtualClock();
    ledger = new ScriptedLedger(clock);
    taken = [];
    finishes = new Finishes(ledger, clock, {
      answered: ({ run, ending, due }, answer) => taken.push(`${run.id} ${ending.kind} ${answer} ${due}`),
      trouble: ({ run }, error) => taken.push(`trouble ${run.id} ${error.message}`),
    });
  });

  function runOf(id: string, header: Partial<CopyHeader> & { copyId?: string } = {}): Run {
    const delivery = heldDelivery(lane, { id, ...header });
    return new Run(delivery, { kind: 'run', fence: 11, attempt: 2, due: 900 }, 950);
  }

  it('sends all outcomes of a turn in one call, each with its run and what may be owed', async () => {
    await clock.advance(1_000.25);
    const error = new Error('no');
    const death = deathOf('discarded', error);
    const siblings = [
      { index: 1, location: 'n1#i:5' },
      { index: 2, location: 'n2#i:?' },
    ];
    finishes.tell(runOf('a'), { kind: 'done' });
    finishes.tell(runOf('b', { generation: 3, born: 2 }), { kind: 'retry', delay: 500, error });
    finishes.tell(runOf('c', { siblings, copyId: '7' }), { kind: 'dead', death, error });
    finishes.tell(runOf('d'), { kind: 'back' });
    const next = { generation: 9, due: 5_000, announced: 7, owed: { mask: 3, unknown: false }, places: [] };
    finishes.tell(runOf('e'), { kind: 'again', next: { ...next, copies: 2 } as AnnouncedGeneration });
    expect(ledger.finishes).toEqual([]);
    await turn();
    expect(ledger.finishes).toHaveLength(1);
    const common = { generation: 0, born: 0, due: 900, fence: 11, attempt: 2, lastOk: 950 };
    const owed = { mask: 1, unknown: false };
    expect(ledger.finishes[0]!.requests).toEqual([
      { ...common, id: 'a', owed, outcome: { kind: 'done' } },
      { ...common, id: 'b', generation: 3, born: 2, owed, outcome: { kind: 'retry', due: 1_501 } },
      {
        ...common,
        id: 'c',
        owed: { mask: 7, unknown: true },
        outcome: {
          kind: 'dead',
          death,
          places: [
            { index: 0, location: 'node#instance:7' },
            { index: 1, location: 'n1#i:5' },
          ],
        },
      },
      { ...common, id: 'd', owed, outcome: { kind: 'back' } },
      { ...common, id: 'e', owed, outcome: { kind: 'again', ...next } },
    ]);
    await ledger.finishes[0]!.answer('ok', 'ok', 'ok', 'refused', 'over');
    expect(taken).toEqual([
      'a done ok 0',
      'b retry ok 1501',
      'c dead ok 0',
      'd back refused 0',
      'e again over 0',
    ]);
    expect(finishes.size).toBe(0);
  });

  it('sends again, with the same fence and due, until there is an answer', async () => {
    ledger.away = true;
    finishes.tell(runOf('a'), { kind: 'retry', delay: 100, error: new Error('no') });
    await turn();
    for (let i = 0; i < 3; i++) {
      await ledger.finishes[i]!.fail();
      expect(finishes.size).toBe(1);
      await clock.advance(499);
      expect(ledger.finishes).toHaveLength(i + 1);
      await clock.advance(1);
      expect(ledger.finishes).toHaveLength(i + 2);
      expect(ledger.finishes[i + 1]!.requests).toEqual(ledger.finishes[0]!.requests);
    }
    await ledger.finishes[3]!.answer('ok');
    expect(taken).toEqual(['a retry ok 100']);
    expect(finishes.size).toBe(0);
    await clock.advance(10_000);
    expect(ledger.finishes).toHaveLength(4);
  });

  it('carries the last OK of when it is sent', async () => {
    const run = runOf('a');
    finishes.tell(run, { kind: 'done' });
    await turn();
    run.lastOk = 7_000;
    ledger.away = true;
    await ledger.finishes[0]!.fail();
    finishes.flush();
    expect(ledger.finishes[1]!.requests[0]!.lastOk).toBe(7_000);
  });
});
