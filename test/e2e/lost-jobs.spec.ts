import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { LostJobs } from 'nest-dq/src/upkeep/lost-jobs.js';
import { parseRef } from 'nest-dq/src/copies/job-ref.js';
import { EventHub } from 'nest-dq/src/events/event-hub.js';
import type { LostJob } from 'nest-dq/src/events/events.js';
import { realEnvironment } from 'nest-dq/src/nest/environment.js';
import { DqRuntime } from 'nest-dq/src/nest/runtime.js';
import { stored } from 'nest-dq/spec-support/stored.js';
import { textReport } from 'nest-dq/spec-support/tube-context.js';
import { eventually } from 'test-servers';
import { optionsOf, startServers, type Servers } from '../support/system.js';

const TUBE = 'later';
const HOUR = 3_600_000;
let servers: Servers;

beforeAll(async () => {
  servers = await startServers(2);
}, 120_000);

afterAll(() => servers.stop());

/** A process, and its search for lost jobs. It takes what is due within two hours for long overdue. */
function start() {
  const logger = { log: () => undefined, warn: () => undefined, error: () => undefined };
  const given = realEnvironment.resolve({ ...optionsOf(servers), repair: false }, logger, undefined);
  const settings = { ...given, mostIndexed: 1_000 };
  const { clock } = realEnvironment;
  const backend = realEnvironment.backend(settings, undefined);
  const runtime = new DqRuntime(settings, clock, backend);
  runtime.start();
  const { cluster, ledger, waiting } = backend;
  const reported: LostJob[] = [];
  const events = new EventHub({ lateAfter: HOUR, listenerFailed: () => undefined });
  events.on('lost').subscribe((job) => reported.push(job));
  let rounds = 0;
  const counted: typeof waiting = Object.assign(Object.create(waiting) as typeof waiting, {
    page: (...page: Parameters<typeof waiting.page>) => {
      rounds++;
      return waiting.page(...page);
    },
  });
  const parts = { cluster, ledger, clock, events, report: textReport([]) };
  const times = { firstAfter: 100, every: 100, overdue: -2 * HOUR };
  const lost = new LostJobs('', parts, counted, () => [TUBE], times);
  lost.start();
  return {
    producer: runtime.producer,
    ledger: ledger.tube(stored(TUBE)),
    reported,
    nodesAreUp: () => eventually('all nodes are up', () => cluster.nodes.every(({ up }) => up)),
    twoRounds: async () => {
      const before = rounds;
      await eventually('two rounds begin and one ends', () => rounds >= before + 2);
    },
    close: async () => {
      await lost.close();
      await runtime.close();
    },
  };
}

it('jobs are reported as lost when both of their nodes have lost their data, and not before', async () => {
  const world = start();
  const { producer, ledger, reported, nodesAreUp, twoRounds } = world;
  const [one, other] = servers.beanstalkds;
  try {
    await nodesAreUp();
    const receipts = await Promise.all(['a', 'b', 'c'].map((name) => producer.delay(TUBE, name, '1h')));
    await ledger.ask(
      'index',
      receipts.map((receipt) => parseRef(receipt, '')),
    );
    await twoRounds();
    await one!.kill();
    await one!.wipe();
    await one!.restart();
    await other!.restart(); // with its data
    await nodesAreUp();
    await twoRounds();
    expect(reported).toEqual([]);
    expect(await producer.revoke(receipts[0]!)).toBe('revoked');

    await other!.kill();
    await twoRounds();
    expect(reported).toEqual([]);
    await other!.wipe();
    await other!.restart();
    await nodesAreUp();
    await eventually('both are reported', () => reported.length === 2);
    await twoRounds();
    const ids = receipts.slice(1).map(({ id }) => id);
    expect(reported.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(reported[0]).toMatchObject({ tube: TUBE, attempt: 0, copies: 2 });
  } finally {
    await world.close();
  }
}, 120_000);
