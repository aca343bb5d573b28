import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import type { CopyHeader } from '../../copies/header.js';
import { heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';
import { turn } from '../../../spec-support/scripted-ledger.js';
import { runOf, tubeContext } from '../../../spec-support/tube-context.js';
import { VirtualClock } from 'nest-handlers/testing';
import { deathOf, type Completion } from '../run/outcome.js';
import type { TubeContext } from '../tube-context.js';
import type { Run } from '../run/run.js';
import { RunCompletion } from './run-completion.js';

describe('RunCompletion', () => {
  const { lane } = recordingLane();
  const run = (id: string, header: Partial<CopyHeader> & { copyId?: string } = {}) =>
    runOf(heldDelivery(lane, { id, ...header }));

  it('reports the completions of a turn in one call, each with its run and the copies that may exist', async () => {
    const clock = new VirtualClock();
    await clock.advance(1_000.25);
    const context = tubeContext(clock);
    const { ledger } = context;
    const taken: string[] = [];
    const completion = new RunCompletion(context);
    const tell = (told: Run, what: Completion) =>
      void completion.complete(told, what).then((answer) => taken.push(`${told.id} ${answer}`));
    const error = new Error('no');
    const death = deathOf('discarded', error);
    const siblings = [
      { index: 1, location: 'n1#i:5' },
      { index: 2, location: 'n2#i:?' },
    ];
    const next = { generation: 9, due: 5_000, announced: 7, owed: { mask: 3, unknown: false }, places: [] };
    tell(run('a'), { kind: 'done' });
    tell(run('b', { generation: 3, born: 2 }), { kind: 'retry', delay: 500, error });
    tell(run('c', { siblings, copyId: '7' }), { kind: 'dead', death, error });
    tell(run('d', { siblings, copyId: '8' }), { kind: 'back' });
    tell(run('backup', { index: 1 }), { kind: 'back' });
    tell(run('e'), { kind: 'again', next });
    expect(ledger.completions).toEqual([]);
    await turn();
    const common = { generation: 0, born: 0, due: 900, fence: 11, attempt: 2, lastOk: 950 };
    const owed = { mask: 1, unknown: false };
    const places = [
      { index: 0, location: 'node#instance:7' },
      { index: 1, location: 'n1#i:5' },
    ];
    const all = [{ index: 0, location: 'node#instance:8' }, ...siblings];
    expect(ledger.completions.map(({ requests }) => requests)).toEqual([
      [
        { ...common, id: 'a', owed, outcome: { kind: 'done' } },
        { ...common, id: 'b', generation: 3, born: 2, owed, outcome: { kind: 'retry', due: 1_501 } },
        { ...common, id: 'c', owed: { mask: 7, unknown: true }, outcome: { kind: 'dead', death, places } },
        // The record of a plain job that waits on learns the places, also of a put without an answer.
        { ...common, id: 'd', owed: { mask: 7, unknown: true }, outcome: { kind: 'back' }, places: all },
        { ...common, id: 'backup', owed: { mask: 7, unknown: false }, outcome: { kind: 'back' } },
        { ...common, id: 'e', owed, outcome: { kind: 'again', ...next } },
      ],
    ]);
    await ledger.completions[0]!.answer('ok', 'ok', 'ok', 'refused', 'refused', 'over');
    expect(taken).toEqual(['a ok', 'b ok', 'c ok', 'd refused', 'backup refused', 'e over']);
  });

  it('reports what failed, for people, unless that is off or its handler never saw the job', async () => {
    const clock = new VirtualClock();
    await clock.advance(2_000.4);
    const error = new TypeError('no card');
    const failureOf = async (keepErrors: boolean, seen: boolean) => {
      const context = tubeContext(clock, { keepErrors });
      const failed = run('a');
      failed.startedAt = clock.now() - 1_500.3;
      failed.endedAt = failed.startedAt + 1_200.3;
      if (seen) failed.job = {} as NonNullable<Run['job']>;
      void new RunCompletion(context).complete(failed, { kind: 'retry', delay: 500, error });
      await turn();
      const { outcome } = context.ledger.completions[0]!.requests[0]!;
      return outcome.kind === 'retry' ? outcome.failure : outcome;
    };
    const startedAt = Math.round(tubeContext(clock).ledger.now() - 1_500.3);
    expect(await failureOf(true, true)).toEqual({
      attempt: 2,
      startedAt,
      took: 1_200,
      process: `${hostname()}:${process.pid}`,
      name: 'TypeError',
      message: 'no card',
    });
    expect(await failureOf(false, true)).toBeUndefined();
    expect(await failureOf(true, false)).toBeUndefined();
  });

  it('reports a job that is done for people only with `keepDone`, and if its handler saw it', async () => {
    const clock = new VirtualClock();
    const outcomeOf = async (given: Partial<TubeContext>, seen = true, more: Partial<Run> = {}) => {
      const context = tubeContext(clock, given);
      const done = Object.assign(run('a'), more);
      done.startedAt = clock.now() - 31.4;
      done.endedAt = clock.now();
      done.result = { paid: true };
      if (seen) done.job = {} as NonNullable<Run['job']>;
      void new RunCompletion(context).complete(done, { kind: 'done' });
      await turn();
      return context.ledger.completions[0]!.requests[0]!.outcome;
    };
    const keepDone = { period: 60_000, max: 5, result: true };
    expect(await outcomeOf({})).toEqual({ kind: 'done' });
    expect(await outcomeOf({ keepDone }, false)).toEqual({ kind: 'done' });
    const process = expect.stringMatching(/:\d+$/);
    expect(await outcomeOf({ keepDone })).toEqual({
      kind: 'done',
      kept: { run: { took: 31, attempt: 2, process, result: '{"paid":true}' }, period: 60_000, max: 5 },
    });
    const progress = { fraction: 1, note: '30 pages', at: 5 };
    expect(await outcomeOf({}, true, { progress })).toEqual({ kind: 'done' });
    expect(await outcomeOf({ keepDone }, true, { progress })).toMatchObject({ kept: { run: { progress } } });
    expect(await outcomeOf({ keepDone: { ...keepDone, result: false } })).toMatchObject({
      kept: { run: { took: 31, attempt: 2, process } },
    });
    const seal = { settings: { encrypt: true } };
    const cluster = { settings: { seal } } as unknown as TubeContext['cluster'];
    const { kept } = (await outcomeOf({ keepDone, cluster })) as { kept: { run: object } };
    expect(kept.run).toEqual({ took: 31, attempt: 2, process });
  });

  it('repeats the same time of a retry, and the last OK as it is by then', async () => {
    const clock = new VirtualClock();
    const context = tubeContext(clock);
    const { ledger } = context;
    ledger.away = true;
    const completion = new RunCompletion(context);
    const failed = run('a');
    void completion.complete(failed, { kind: 'retry', delay: 100, error: new Error('no') });
    await turn();
    await ledger.completions[0]!.fail();
    failed.lastOk = 7_000;
    await clock.advance(500);
    const [first] = ledger.completions[0]!.requests;
    expect(ledger.completions[1]!.requests).toEqual([{ ...first!, lastOk: 7_000 }]);
  });
});
