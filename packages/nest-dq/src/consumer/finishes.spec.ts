import { beforeEach, describe, expect, it } from '@jest/globals';
import type { CopyHeader } from '../envelope.js';
import { heldDelivery, recordingLane } from '../testing/recording-lane.js';
import { ScriptedLedger, turn } from '../testing/scripted-ledger.js';
import { VirtualClock } from '../testing/virtual-clock.js';
import { Finishes } from './finishes.js';
import { deathOf } from './outcome.js';
import { Run } from './run.js';

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
    finishes = new Finishes(ledger, clock, (run, verdict, answer, due) =>
      taken.push(`${run.id} ${verdict.kind} ${answer} ${due}`),
    );
  });

  function runOf(id: string, header: Partial<CopyHeader> = {}): Run {
    const delivery = heldDelivery(lane, { id, ...header });
    return new Run(delivery, { kind: 'run', fence: 11, attempt: 2, due: 900 }, 950);
  }

  it('sends all outcomes of a turn in one call, each with its run and what may be owed', async () => {
    await clock.advance(1_000.25);
    const error = new Error('no');
    const death = deathOf('discarded', error);
    finishes.add(runOf('a'), { kind: 'done' });
    finishes.add(runOf('b', { generation: 3 }), { kind: 'retry', delay: 500, error });
    finishes.add(runOf('c'), { kind: 'dead', death, error });
    finishes.add(runOf('d'), { kind: 'back' });
    expect(ledger.finishes).toEqual([]);
    await turn();
    expect(ledger.finishes).toHaveLength(1);
    const common = { generation: 0, due: 900, fence: 11, attempt: 2, lastOk: 950 };
    const owed = { mask: 1, unknown: false };
    expect(ledger.finishes[0]!.requests).toEqual([
      { ...common, id: 'a', owed, outcome: { kind: 'done' } },
      { ...common, id: 'b', generation: 3, owed, outcome: { kind: 'retry', due: 1_501 } },
      { ...common, id: 'c', owed, outcome: { kind: 'dead', death } },
      { ...common, id: 'd', owed, outcome: { kind: 'back' } },
    ]);
    await ledger.finishes[0]!.answer('ok', 'ok', 'revoked', 'refused');
    expect(taken).toEqual(['a done ok 0', 'b retry ok 1501', 'c dead revoked 0', 'd back refused 0']);
    expect(finishes.size).toBe(0);
  });

  it('sends no more than 1,000 in a call', async () => {
    for (let i = 0; i < 2_500; i++) finishes.add(runOf(`job-${i}`), { kind: 'done' });
    await turn();
    expect(ledger.finishes.map(({ requests }) => requests.length)).toEqual([1_000, 1_000, 500]);
    expect(finishes.size).toBe(2_500);
  });

  it('sends again, with the same fence and due, until there is an answer', async () => {
    finishes.add(runOf('a'), { kind: 'retry', delay: 100, error: new Error('no') });
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
    finishes.add(run, { kind: 'done' });
    await turn();
    run.lastOk = 7_000;
    await ledger.finishes[0]!.fail();
    finishes.flush();
    expect(ledger.finishes[1]!.requests[0]!.lastOk).toBe(7_000);
  });

  it('sends at once when it is flushed, and not once more', async () => {
    finishes.add(runOf('a'), { kind: 'done' });
    await turn();
    await ledger.finishes[0]!.fail();
    finishes.flush();
    expect(ledger.finishes).toHaveLength(2);
    await clock.advance(1_000);
    expect(ledger.finishes).toHaveLength(2);
  });

  it('sends nothing again once it is closed', async () => {
    finishes.add(runOf('a'), { kind: 'done' });
    await turn();
    finishes.close();
    await ledger.finishes[0]!.fail();
    await clock.advance(10_000);
    expect(ledger.finishes).toHaveLength(1);
  });
});
