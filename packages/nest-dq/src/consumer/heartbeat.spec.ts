import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DqError } from '../errors.js';
import { heldDelivery, recordingLane } from '../../spec-support/recording-lane.js';
import { runOf, tubeContext } from '../../spec-support/tube-context.js';
import { VirtualClock } from 'nest-handlers/testing';
import { Heartbeat } from './heartbeat.js';
import type { Run } from './run/run.js';

describe('Heartbeat', () => {
  let clock: VirtualClock;
  let context: ReturnType<typeof tubeContext>;
  let heartbeat: Heartbeat;
  let touches: number[];
  const { lane } = recordingLane();

  beforeEach(() => {
    clock = new VirtualClock();
    touches = [];
    heartbeat = make(12_000);
  });

  function make(lease: number): Heartbeat {
    context = tubeContext(clock, { lease });
    return new Heartbeat(context, { touchAll: () => void touches.push(clock.now()) });
  }

  function running(id: string, attempt = 2): Run {
    const run = runOf(heldDelivery(lane, { id }), { attempt });
    context.runs.set(id, run);
    return run;
  }

  const codeOf = ({ signal }: Run) => (signal.reason as DqError | undefined)?.code;

  it('extends all runs every third of a lease, with all it takes to recreate a lost record', async () => {
    running('a');
    heartbeat.start();
    heartbeat.start();
    await clock.advance(3_999);
    expect(context.ledger.extends).toHaveLength(0);
    await clock.advance(1);
    expect(context.ledger.extends).toHaveLength(1);
    expect(context.ledger.extends[0]!.requests).toEqual([
      { id: 'a', generation: 0, born: 0, due: 900, fence: 11, attempt: 2, lastOk: 950 },
    ]);
    running('b');
    await clock.advance(4_000);
    expect(context.ledger.extends[1]!.requests.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('notes when an OK was asked for, not when it came', async () => {
    const run = running('a');
    heartbeat.start();
    await clock.advance(4_000);
    await clock.advance(700);
    await context.ledger.extends[0]!.answer('ok');
    expect(run.lastOk).toBe(4_000);
    expect(context.reports).toEqual([]);
  });

  it('reports which runs were refused, and only those', async () => {
    const [first, second] = [running('a', 1), running('b', 2)];
    for (const call of [0, 1]) {
      heartbeat.beat();
      await context.ledger.extends[call]!.answer('ok', 'refused');
    }
    expect([codeOf(first), codeOf(second), second.lost]).toEqual([undefined, 'DQ_LEASE_LOST', true]);
    expect(context.reports).toEqual(['lease lost 2']);
  });

  it('ignores silence, and asks again in its time', async () => {
    const run = running('a');
    context.ledger.away = true;
    heartbeat.start();
    for (let i = 0; i < 5; i++) {
      await clock.advance(4_000);
      await context.ledger.extends[i]!.fail();
    }
    expect([context.reports, run.lost, run.lastOk]).toEqual([[], false, 950]);
    expect(context.ledger.extends).toHaveLength(5);
  });

  it.each([15_000, 60_000])(
    'asks often enough to hear of a revoke within 5 s, with a lease of %i ms',
    async (lease) => {
      heartbeat = make(lease);
      running('a');
      heartbeat.start();
      await clock.advance(4_500);
      expect(context.ledger.extends).toHaveLength(1);
      await clock.advance(4_500);
      expect(context.ledger.extends).toHaveLength(2);
    },
  );

  it('reports which handlers a revoke asks to stop; their leases are still renewed, and may be lost later', async () => {
    const [first, second] = [running('a', 1), running('b', 2)];
    await clock.advance(700);
    for (const [call, answer] of (['abort', 'abort', 'refused'] as const).entries()) {
      heartbeat.beat();
      await context.ledger.extends[call]!.answer('ok', answer);
    }
    expect([codeOf(first), codeOf(second)]).toEqual([undefined, 'DQ_REVOKED']);
    expect([first.lastOk, second.lastOk]).toEqual([700, 700]);
    expect(context.reports).toEqual(['revoked 2', 'lease lost 2']);
  });

  it('extends the other runs where the ledger fails at one, and reports that', async () => {
    for (const id of ['a', 'bad', 'c', 'd']) running(id);
    heartbeat.beat();
    for (let i = 0; i < context.ledger.extends.length; i++) {
      const call = context.ledger.extends[i]!;
      if (call.requests.some(({ id }) => id === 'bad')) await call.fail();
      else await call.answer(...call.requests.map(() => 'ok' as const));
    }
    await clock.advance(0);
    const asked = context.ledger.extends.map(({ requests }) => requests.map(({ id }) => id).join());
    expect(asked).toEqual(['a,bad,c,d', 'a,bad', 'c,d', 'a', 'bad']);
    expect(context.reports).toEqual(['ledger trouble bad no answer']);
  });

  it('extends a run whose handler ended until its outcome is taken, but then reports neither a refusal nor a revoke', async () => {
    const run = running('a');
    run.handling = false;
    heartbeat.beat();
    await context.ledger.extends[0]!.answer('refused');
    heartbeat.beat();
    await context.ledger.extends[1]!.answer('abort');
    expect(context.reports).toEqual([]);
  });

  it('asks about at most 1,000 in a call, and about nothing where nothing runs', async () => {
    heartbeat.beat();
    expect(context.ledger.extends).toHaveLength(0);
    for (let i = 0; i < 2_100; i++) running(`job-${i}`);
    heartbeat.beat();
    expect(context.ledger.extends.map(({ requests }) => requests.length)).toEqual([1_000, 1_000, 100]);
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
    expect(context.ledger.extends).toEqual([]);
    expect(touches).toEqual([]);
  });

  it('reports that the event loop stood still for more than a third of a lease while jobs ran', async () => {
    running('a');
    heartbeat.start();
    await clock.advance(1_000);
    clock.stall(3_000 + 4_000);
    await clock.advance(0);
    expect(context.reports).toEqual([]);
    clock.stall(4_000 + 4_001);
    await clock.advance(0);
    expect(context.reports).toEqual(['stood still 4001']);
    expect(context.ledger.extends).toHaveLength(2);
  });

  it('reports no standstill while no job runs', async () => {
    heartbeat.start();
    clock.stall(60_000);
    await clock.advance(0);
    expect(context.reports).toEqual([]);
  });
});
