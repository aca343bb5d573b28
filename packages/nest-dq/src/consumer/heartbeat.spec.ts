import { beforeEach, describe, expect, it } from '@jest/globals';
import { heldDelivery, recordingLane } from '../testing/recording-lane.js';
import { ScriptedLedger } from '../testing/scripted-ledger.js';
import { VirtualClock } from '../testing/virtual-clock.js';
import { Heartbeat } from './heartbeat.js';
import { Run } from './run.js';

describe('Heartbeat', () => {
  let clock: VirtualClock;
  let ledger: ScriptedLedger;
  let heartbeat: Heartbeat;
  let runs: Run[];
  let lost: string[];
  let touches: number[];
  const { lane } = recordingLane();

  beforeEach(() => {
    clock = new VirtualClock();
    ledger = new ScriptedLedger(clock);
    runs = [];
    lost = [];
    touches = [];
    heartbeat = new Heartbeat(ledger, clock, 15_000, () => runs, {
      lost: (run) => lost.push(run.id),
      touch: () => touches.push(clock.now()),
    });
  });

  function running(id: string): Run {
    const run = new Run(heldDelivery(lane, { id }), { kind: 'run', fence: 9, attempt: 2, due: 900 }, 0);
    runs.push(run);
    return run;
  }

  it('extends all runs every third of the lease, with all that makes a lost record anew', async () => {
    running('a');
    heartbeat.start();
    heartbeat.start();
    await clock.advance(4_999);
    expect(ledger.extends).toHaveLength(0);
    await clock.advance(1);
    expect(ledger.extends).toHaveLength(1);
    expect(ledger.extends[0]!.requests).toEqual([
      { id: 'a', generation: 0, due: 900, fence: 9, attempt: 2, lastOk: 0 },
    ]);
    running('b');
    await clock.advance(5_000);
    expect(ledger.extends[1]!.requests.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('notes when an OK was asked for, not when it came', async () => {
    const run = running('a');
    heartbeat.start();
    await clock.advance(5_000);
    await clock.advance(700);
    await ledger.extends[0]!.answer('ok');
    expect(run.lastOk).toBe(5_000);
    expect(lost).toEqual([]);
  });

  it('tells which runs were refused, and only those', async () => {
    for (const id of ['a', 'b', 'c']) running(id);
    heartbeat.beat();
    await ledger.extends[0]!.answer('ok', 'refused', 'ok');
    expect(lost).toEqual(['b']);
  });

  it('takes silence for nothing, and asks again in its time', async () => {
    const run = running('a');
    heartbeat.start();
    for (let i = 0; i < 5; i++) {
      await clock.advance(5_000);
      await ledger.extends[i]!.fail();
    }
    expect(lost).toEqual([]);
    expect(run.lastOk).toBe(0);
  });

  it('extends a run whose handler ended until its outcome is taken, but a refusal is then no loss', async () => {
    const run = running('a');
    run.handling = false;
    heartbeat.beat();
    await ledger.extends[0]!.answer('refused');
    expect(lost).toEqual([]);
  });

  it('asks about no more than 1,000 in a call, and about nothing where nothing runs', async () => {
    heartbeat.beat();
    expect(ledger.extends).toHaveLength(0);
    for (let i = 0; i < 2_100; i++) running(`job-${i}`);
    heartbeat.beat();
    expect(ledger.extends.map(({ requests }) => requests.length)).toEqual([1_000, 1_000, 100]);
  });

  it('touches the copies every 20 s, a third of their time to run', async () => {
    heartbeat.start();
    await clock.advance(61_000);
    expect(touches).toEqual([20_000, 40_000, 60_000]);
  });

  it('does nothing more once it is stopped, once or twice', async () => {
    running('a');
    heartbeat.start();
    heartbeat.stop();
    heartbeat.stop();
    await clock.advance(60_000);
    expect(ledger.extends).toEqual([]);
    expect(touches).toEqual([]);
  });
});
