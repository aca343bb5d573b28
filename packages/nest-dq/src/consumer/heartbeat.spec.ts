import { beforeEach, describe, expect, it } from '@jest/globals';
import { heldDelivery, recordingLane } from '../../spec-support/recording-lane.js';
import { ScriptedLedger } from '../../spec-support/scripted-ledger.js';
import { VirtualClock } from '../test-kit/virtual-clock.js';
import { Heartbeat } from './heartbeat.js';
import { Run } from './run/run.js';

describe('Heartbeat', () => {
  let clock: VirtualClock;
  let ledger: ScriptedLedger;
  let heartbeat: Heartbeat;
  let runs: Run[];
  let lost: string[];
  let revoked: string[];
  let troubles: string[];
  let touches: number[];
  let stoodStill: number[];
  const { lane } = recordingLane();

  beforeEach(() => {
    clock = new VirtualClock();
    ledger = new ScriptedLedger(clock);
    runs = [];
    lost = [];
    revoked = [];
    troubles = [];
    touches = [];
    stoodStill = [];
    heartbeat = make(12_000);
  });

  function make(lease: number): Heartbeat {
    return new Heartbeat(ledger, clock, lease, () => runs, {
      lost: (run) => lost.push(run.id),
      revoked: (run) => revoked.push(run.id),
      trouble: (run, error) => troubles.push(`${run.id} ${error.message}`),
      stoodStill: (ms) => stoodStill.push(ms),
      touch: () => touches.push(clock.now()),
    });
  }

  function running(id: string): Run {
    const run = new Run(heldDelivery(lane, { id }), { kind: 'run', fence: 9, attempt: 2, due: 900 }, 0);
    runs.push(run);
    return run;
  }

  it('extends all runs every third of a lease, with all that makes a lost record anew', async () => {
    running('a');
    heartbeat.start();
    heartbeat.start();
    await clock.advance(3_999);
    expect(ledger.extends).toHaveLength(0);
    await clock.advance(1);
    expect(ledger.extends).toHaveLength(1);
    expect(ledger.extends[0]!.requests).toEqual([
      { id: 'a', generation: 0, born: 0, due: 900, fence: 9, attempt: 2, lastOk: 0 },
    ]);
    running('b');
    await clock.advance(4_000);
    expect(ledger.extends[1]!.requests.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('notes when an OK was asked for, not when it came', async () => {
    const run = running('a');
    heartbeat.start();
    await clock.advance(4_000);
    await clock.advance(700);
    await ledger.extends[0]!.answer('ok');
    expect(run.lastOk).toBe(4_000);
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
    ledger.away = true;
    heartbeat.start();
    for (let i = 0; i < 5; i++) {
      await clock.advance(4_000);
      await ledger.extends[i]!.fail();
    }
    expect([...lost, ...troubles]).toEqual([]);
    expect(run.lastOk).toBe(0);
    expect(ledger.extends).toHaveLength(5);
  });

  it.each([15_000, 60_000])(
    'asks often enough to hear of a revoke within 5 s, with a lease of %i ms',
    async (lease) => {
      running('a');
      heartbeat = make(lease);
      heartbeat.start();
      await clock.advance(4_500);
      expect(ledger.extends).toHaveLength(1);
      await clock.advance(4_500);
      expect(ledger.extends).toHaveLength(2);
    },
  );

  it('tells which handlers a revoke asks to stop; their leases go on', async () => {
    const [first, second] = [running('a'), running('b')];
    await clock.advance(700);
    heartbeat.beat();
    await ledger.extends[0]!.answer('ok', 'abort');
    expect(revoked).toEqual(['b']);
    expect(lost).toEqual([]);
    expect([first.lastOk, second.lastOk]).toEqual([700, 700]);
  });

  it('extends the others where the ledger fails at one run, which it tells', async () => {
    for (const id of ['a', 'bad', 'c', 'd']) running(id);
    heartbeat.beat();
    for (let i = 0; i < ledger.extends.length; i++) {
      const call = ledger.extends[i]!;
      if (call.requests.some(({ id }) => id === 'bad')) await call.fail();
      else await call.answer(...call.requests.map(() => 'ok' as const));
    }
    await clock.advance(0);
    const asked = ledger.extends.map(({ requests }) => requests.map(({ id }) => id).join());
    expect(asked).toEqual(['a,bad,c,d', 'a,bad', 'c,d', 'a', 'bad']);
    expect(troubles).toEqual(['bad no answer']);
    expect(lost).toEqual([]);
  });

  it('extends a run whose handler ended until its outcome is taken, but neither a refusal nor a revoke is then told', async () => {
    const run = running('a');
    run.handling = false;
    heartbeat.beat();
    await ledger.extends[0]!.answer('refused');
    heartbeat.beat();
    await ledger.extends[1]!.answer('abort');
    expect([...lost, ...revoked]).toEqual([]);
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

  it('tells that the event loop stood still for more than a third of a lease while jobs ran', async () => {
    running('a');
    heartbeat.start();
    await clock.advance(1_000);
    clock.stall(3_000 + 4_000);
    await clock.advance(0);
    expect(stoodStill).toEqual([]);
    clock.stall(4_000 + 4_001);
    await clock.advance(0);
    expect(stoodStill).toEqual([4_001]);
    expect(ledger.extends).toHaveLength(2);
  });

  it('tells nothing of it while no job runs', async () => {
    heartbeat.start();
    clock.stall(60_000);
    await clock.advance(0);
    expect(stoodStill).toEqual([]);
  });
});
