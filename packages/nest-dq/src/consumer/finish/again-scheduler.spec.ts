import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Cluster, JobToPut, StoreResult } from '../../cluster/cluster.js';
import type { JobGeneration } from '../../copies/deletion.js';
import { unwrap } from '../../../spec-support/unwrap.js';
import type { Envelope } from '../../copies/header.js';
import { DqError } from '../../errors.js';
import type { OpenAnswer, AnnouncedGeneration } from '../../ledger/requests.js';
import type { Place } from '../../copies/location.js';
import { heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';
import { type ScriptedLedger, turn } from '../../../spec-support/scripted-ledger.js';
import { runOf, tubeContext } from '../../../spec-support/tube-context.js';
import { VirtualClock } from 'nest-handlers/testing';
import type { Run } from '../run/run.js';
import { AgainScheduler } from './again-scheduler.js';
import type { CopyDeleter } from './copy-deleter.js';

const AFTER_5_S = { kind: 'again', delay: 5_000, at: 0 } as const;
const ONE: readonly Place[] = [{ index: 1, location: 'n1#i:1' }];
const THREE: readonly Place[] = [...ONE, { index: 2, location: 'n2#i:2' }, { index: 0, location: 'n0#i:3' }];

describe('AgainScheduler', () => {
  let clock: VirtualClock;
  let ledger: ScriptedLedger;
  let context: ReturnType<typeof tubeContext>;
  let puts: { readonly copies: JobToPut; readonly done: (result: StoreResult) => void }[];
  let maxJobSize: number;
  let nodes: { writable: boolean }[];
  let deleted: { readonly job: JobGeneration; readonly places: readonly Place[] }[];
  /** Outcomes of runs: `stored a`, `failed a DQ_…`. */
  let told: string[];
  let stored: AnnouncedGeneration[];
  let again: AgainScheduler;
  const { lane } = recordingLane();

  beforeEach(async () => {
    clock = new VirtualClock();
    await clock.advance(1_000);
    puts = [];
    maxJobSize = 65_535;
    nodes = [1, 2, 3].map(() => ({ writable: true }));
    deleted = [];
    told = [];
    stored = [];
    const cluster = {
      settings: { replicas: 3, minWritten: 2 },
      get nodes() {
        return nodes.map((node) => ({ ...node, endpoint: 'n:1', maxJobSize }));
      },
      longestLocation: 40,
      get maxJobSize() {
        return maxJobSize;
      },
      put: (copies: JobToPut, done: (result: StoreResult) => void) => puts.push({ copies, done }),
    } as unknown as Cluster;
    const deleter = {
      deleteVoid: (job: JobGeneration, places: readonly Place[]) => deleted.push({ job, places }),
    } as unknown as CopyDeleter;
    context = tubeContext(clock, { cluster });
    ({ ledger } = context);
    again = new AgainScheduler(context, deleter);
  });

  function begin(of: Run, outcome: Parameters<AgainScheduler['schedule']>[1]): void {
    void again.schedule(of, outcome).then((next) => {
      told.push(`${next.kind} ${of.id}${next.kind === 'failed' ? ` ${(next.error as DqError).code}` : ''}`);
      if ('next' in next) stored.push(next.next);
    });
  }

  const run = (id: string, header = {}) =>
    runOf(heldDelivery(lane, { id, generation: 4, born: 2, ...header }));

  async function opened(of: Run, answer: OpenAnswer = { kind: 'opened', generation: 70 }): Promise<void> {
    begin(of, AFTER_5_S);
    await turn();
    await ledger.opens.at(-1)!.answer(answer);
  }

  async function storedAt(places: readonly Place[], doubtful: readonly Place[] = []): Promise<void> {
    puts.at(-1)!.done({ planned: 3, stored: places, doubtful, reasons: { n0: 'gone' } });
    await turn();
  }

  it('opens a generation for all runs of a turn in one call, due by ledger time', async () => {
    begin(run('a'), { kind: 'again', delay: 5_000.5, at: 0 });
    begin(run('b'), { kind: 'again', delay: 0, at: 9_000 });
    begin(run('c'), { kind: 'again', delay: 0, at: 10 });
    await turn();
    const ref = { generation: 4, born: 2, due: 900, fence: 11, attempt: 2, lastOk: 950 };
    const common = { announced: 7 };
    expect(ledger.opens.map(({ requests }) => requests)).toEqual([
      [
        { ...common, id: 'a', due: 6_001, opening: { by: 'again', run: { ...ref, id: 'a' } } },
        { ...common, id: 'b', due: 9_000, opening: { by: 'again', run: { ...ref, id: 'b' } } },
        { ...common, id: 'c', due: 1_900, opening: { by: 'again', run: { ...ref, id: 'c' } } },
      ],
    ]);
  });

  it('stores the same job as the new generation, and hands that to the completion', async () => {
    const backoff = { type: 'fixed', delay: 9, max: 9, jitter: 0 } as const;
    const texts = { key: 'user 5', headers: { tenant: 'x' }, group: 'user-17' };
    const same = { born: 2, priority: 0, attempts: 6, backoff, ...texts };
    await opened(run('a', same));
    const { copies } = puts[0]!;
    expect(copies.tube).toBe('app.tube');
    const body = Buffer.concat(
      copies.envelope
        .with(3)
        .body(0, ONE)
        .map((part) => Buffer.from(part)),
    );
    const envelope = unwrap(body) as Envelope;
    expect(envelope.header).toEqual({
      ...same,
      id: 'a',
      due: 6_000,
      generation: 70,
      copies: 3,
      index: 0,
      siblings: ONE,
    });
    const untilDue = envelope.header.due - copies.ledger.now();
    const delay = (index: number) => copies.envelope.delay(index, untilDue, copies.backupDelay);
    expect([delay(0), delay(1)]).toEqual([4, 7]);
    await storedAt(THREE);
    expect(told).toEqual(['again a']);
    expect(stored[0]).toMatchObject({
      generation: 70,
      due: 6_000,
      announced: 7,
      owed: { mask: 7, unknown: false },
      places: THREE,
    });
  });

  it.each([
    ['revoked', 'back a'],
    ['changed', 'back a'],
    ['lost', 'lost a'],
    ['unknown', 'lost a'],
  ] as const)('stores nothing where the opening is refused as %s: %s', async (why, what) => {
    await opened(run('a'), { kind: 'refused', why });
    expect(puts).toEqual([]);
    expect(told).toEqual([what]);
  });

  it('keeps the job waiting unchanged where too few nodes stored it: the run went well', async () => {
    await opened(run('a'));
    const unknown = { index: 0, location: 'n0#i:?' };
    await storedAt(ONE, [unknown]);
    expect(told).toEqual(['later a']);
    expect(context.reports).toEqual(['not stored stored on 1 of 3 nodes, need 2: n0: gone']);
    expect(stored[0]).toMatchObject({
      generation: 70,
      due: 6_000,
      announced: 7,
      owed: { mask: 3, unknown: true },
      places: [...ONE, unknown],
    });
  });

  it('asks neither the ledger nor the nodes where too few of these can store', async () => {
    nodes[0]!.writable = nodes[2]!.writable = false;
    begin(run('a'), AFTER_5_S);
    await turn();
    expect(told).toEqual(['later a']);
    expect(context.reports).toEqual(['not stored 1 of 3 nodes accept jobs, need 2']);
    expect(stored).toEqual([
      { generation: -1, due: 6_000, announced: 0, owed: { mask: 0, unknown: false }, places: [] },
    ]);
    expect([ledger.opens, puts]).toEqual([[], []]);
  });

  it('nor where the nodes take less than the job with its new header needs', async () => {
    maxJobSize = 260;
    const headers = { tenant: 'x'.repeat(70) };
    begin(run('a', { headers }), AFTER_5_S);
    begin(run('b'), AFTER_5_S);
    await turn();
    expect(told).toEqual(['later a']);
    expect(context.reports).toEqual([
      expect.stringMatching(/^not stored .*the payload with its header may take \d+ bytes/),
    ]);
    expect(ledger.opens.map(({ requests }) => requests.map(({ id }) => id))).toEqual([['b']]);
  });

  it('waits for nodes no longer than a shutdown does, and then deletes what they stored', async () => {
    await opened(run('a'));
    await opened(run('b'));
    puts[0]!.done({ planned: 3, stored: THREE, doubtful: [], reasons: {} });
    await turn();
    again.stopStoring();
    again.stopStoring();
    await turn();
    expect(told).toEqual(['again a', 'later b']);
    expect(context.reports).toEqual([]);
    expect(stored[1]).toEqual({
      generation: 70,
      due: 6_000,
      announced: 7,
      owed: { mask: 7, unknown: false },
      places: [],
    });
    await storedAt(THREE);
    expect(told).toHaveLength(2);
    expect(deleted).toEqual([{ job: { id: 'b', generation: 70 }, places: THREE }]);
  });

  it('fails an instant that beanstalkd cannot count to, without asking', async () => {
    begin(run('a'), { kind: 'again', delay: 0, at: 8e15 });
    await turn();
    expect(told).toEqual(['failed a DQ_TOO_FAR']);
    expect(ledger.opens).toEqual([]);
  });
});
