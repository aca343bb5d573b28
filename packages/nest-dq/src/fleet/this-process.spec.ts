import { beforeEach, describe, expect, it } from '@jest/globals';
import { hostname } from 'node:os';
import { embedded } from '../../spec-support/producing.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import type { LimitChanges } from './limit-changes.js';
import { LocalPresence } from './local-presence.js';
import type { Member, Presence, TubeLoad } from './presence.js';
import { processesOf } from '../operate/processes.js';
import { ThisProcess, type ThisProcessParts } from './this-process.js';

const SETTINGS = {
  prefix: 'app.',
  consume: true,
  replicas: 3,
  minWritten: 2,
  lease: 15_000,
  doneTtl: 600_000,
  staleAfter: 604_800_000,
};
const ELECTED = { electedUntil: 0, drained: [], limits: new Map(), now: 0, otherSettings: [] };

describe('ThisProcess', () => {
  let world: Awaited<ReturnType<typeof embedded>>;
  let presence: LocalPresence;
  let warnings: string[];

  beforeEach(async () => {
    world = await embedded();
    presence = new LocalPresence(() => world.clock.wall());
    warnings = [];
  });

  const make = (over: Partial<ThisProcessParts> = {}): ThisProcess =>
    new ThisProcess({
      presence,
      cluster: world.cluster,
      clock: world.clock,
      settings: SETTINGS,
      load: () => [],
      counts: () => ({ lost: 0, unlisted: 0, toRepair: 0 }),
      warn: (message) => void warnings.push(message),
      ...over,
    });
  const started = (over?: Partial<ThisProcessParts>): ThisProcess => {
    const process = make(over);
    process.start();
    return process;
  };

  it('reports what it is and does, and since when', async () => {
    const long = [{ id: 'a', attempt: 2, runFor: 1_500 }];
    const tube = { tube: 't', concurrency: 10, running: 1, held: 0 };
    const begun = world.clock.wall();
    const process = started({ name: 'mails', load: () => [{ ...tube, long }] });
    await world.clock.advance(2_000);
    await world.cut(1);
    const { consume: consumes, ...settings } = SETTINGS;
    expect(
      await processesOf({ presence, ledger: world.memory, clock: world.clock, settings: SETTINGS }),
    ).toEqual([
      {
        id: process.id,
        host: hostname(),
        pid: globalThis.process.pid,
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        nodeVersion: globalThis.process.version,
        cluster: 'mails',
        since: new Date(begun),
        toldAt: new Date(begun + 2_000),
        elected: true,
        consumes,
        nodes: { 'n0:1': true, 'n1:1': false, 'n2:1': true },
        awaySince: { 'n1:1': new Date(begun + 2_000) },
        settings,
        tubes: [{ ...tube, longRuns: [{ id: 'a', attempt: 2, since: new Date(begun + 500) }] }],
      },
    ]);
  });

  it('reports how many jobs it found lost, and could not list, if there are any', () => {
    const counts = { lost: 2, unlisted: 3, toRepair: 4 };
    expect(make({ counts: () => counts }).describe()).toMatchObject(counts);
    expect(Object.keys(make().describe())).not.toEqual(
      expect.arrayContaining([expect.stringMatching('list|lost')]),
    );
  });

  it('reports at most a thousand tubes and a thousand long runs', () => {
    const long = Array.from({ length: 100 }, (_, i) => ({ id: `${i}`, attempt: 1, runFor: 1_000 }));
    const load: TubeLoad[] = Array.from({ length: 1_500 }, (_, i) => ({
      tube: `t${i}`,
      concurrency: 100,
      running: 100,
      held: 0,
      long,
    }));
    const { tubes } = make({ load: () => load }).describe();
    expect(tubes.map(({ tube }) => tube)).toEqual(load.slice(0, 1_000).map(({ tube }) => tube));
    expect(tubes.flatMap((tube) => tube.long)).toHaveLength(1_000);
  });

  it('is elected while no other process was there before it, until it ends', async () => {
    const [one, two] = [make(), make()];
    expect(one.elected).toBe(false);
    one.start();
    two.start();
    expect([one.elected, two.elected]).toEqual([true, false]);
    await one.close();
    expect([one.elected, two.elected]).toEqual([false, true]);
    one.start();
    expect([one.elected, two.elected]).toEqual([false, true]);
    await two.close();
    expect(await presence.all()).toEqual([]);
  });

  it('is no longer elected when its election has expired by its own clock, although it heard nothing', async () => {
    const process = started();
    process.learn({ ...ELECTED, electedUntil: world.clock.now() + 1_000 });
    await world.clock.advance(999);
    expect(process.elected).toBe(true);
    await world.clock.advance(1);
    expect(process.elected).toBe(false);
  });

  it('lets others be elected while it could not do its duty, or has not reached a node for 15 s', async () => {
    let hasGivenUp = false;
    const process = started({ hasGivenUp: () => hasGivenUp });
    expect(process.yields()).toBe(false);
    hasGivenUp = true;
    expect(process.yields()).toBe(true);
    hasGivenUp = false;
    expect(process.yields()).toBe(false);
    await world.cut(1);
    await world.clock.advance(15_000);
    expect(process.yields()).toBe(false);
    await world.clock.advance(1);
    expect(process.yields()).toBe(true);
    await world.restore();
    expect(process.yields()).toBe(false);
  });

  it('reports each time it was elected', async () => {
    let told = 0;
    const process = started({ wasElected: () => void told++ });
    expect([process.elected, told]).toEqual([true, 1]);
    await world.clock.advance(20_000);
    expect(told).toBe(1);
    process.learn(ELECTED);
    expect([process.elected, told]).toEqual([false, 1]);
    process.learn({ ...ELECTED, electedUntil: world.clock.now() + 1_000 });
    expect(told).toBe(2);
  });

  it('puts no copies on a drained node, and does so again when it is no longer drained', async () => {
    started();
    const places = async () => {
      await world.producer.delay('t', 1, '1h');
      return (await world.copies()).map(({ node }) => node);
    };
    expect(await presence.markDrained('n1:1', true)).toBe(true);
    expect(await presence.markDrained('n1:1', true)).toBe(false);
    expect(await places()).toEqual([0, 2]);
    expect(await presence.markDrained('n1:1', false)).toBe(true);
    expect(await presence.markDrained('n1:1', false)).toBe(false);
    expect((await places()).toSorted((a, b) => a - b)).toEqual([0, 0, 1, 2, 2]);
  });

  it('learns which nodes are drained while it watches, even after an answer that failed, and nobody sees it', async () => {
    let fails = false;
    const answering: Presence = {
      join: (member: Member) => presence.join(member),
      markDrained: (...mark) => presence.markDrained(...mark),
      changeLimits: (...change) => presence.changeLimits(...change),
      drainedNodes: () => (fails ? Promise.reject(new Error('away')) : presence.drainedNodes()),
      gone: () => presence.gone(),
      all: () => presence.all(),
    };
    const drained = () => world.cluster.nodes.filter((node) => node.drained).map((node) => node.endpoint);
    await presence.markDrained('n1:1', true);
    const process = make({ presence: answering });
    await process.watch();
    expect(drained()).toEqual(['n1:1']);
    expect(
      await processesOf({ presence, ledger: world.memory, clock: world.clock, settings: SETTINGS }),
    ).toEqual([]);
    fails = true;
    await world.clock.advance(2_000);
    expect(drained()).toEqual(['n1:1']);
    fails = false;
    await presence.markDrained('n1:1', false);
    await world.clock.advance(2_000);
    expect(drained()).toEqual([]);
    await process.close();
    await presence.markDrained('n1:1', true);
    await world.clock.advance(60_000);
    expect(drained()).toEqual([]);
  });

  it('learns the changed limits of tubes, and when they end', async () => {
    const told: string[] = [];
    const relimit = (changes: LimitChanges) => void told.push(JSON.stringify([...changes]));
    await presence.changeLimits('a', { concurrency: 3 });
    const process = started({ relimit });
    const until = world.clock.wall() + 5_000_000; // longer than one timer
    expect(await presence.changeLimits('b', { concurrency: 1, until })).toBeUndefined();
    const both = `[["a",{"concurrency":3}],["b",{"concurrency":1,"until":${until}}]]`;
    expect(told).toEqual(['[["a",{"concurrency":3}]]', both]);
    await world.clock.advance(4_999_999);
    expect(told.at(-1)).toBe(both);
    await world.clock.advance(1);
    expect(told.at(-1)).toBe('[["a",{"concurrency":3}]]');
    expect(await presence.changeLimits('b', undefined)).toBeUndefined();
    expect(await presence.changeLimits('a', undefined)).toEqual({ concurrency: 3 });
    expect(told.at(-1)).toBe('[]');
    await process.close();
    await presence.changeLimits('a', { concurrency: 4 });
    expect(told.at(-1)).toBe('[]');
  });

  it('warns once of each setting that differs elsewhere, and knows it until they are gone', async () => {
    const one = started();
    expect(one.unequalSettings).toEqual([]);
    const others = [60_000, 60_000, 30_000].map((lease) => started({ settings: { ...SETTINGS, lease } }));
    await world.clock.advance(0);
    const me = `${hostname()}:${globalThis.process.pid}`;
    const text = (there: string) =>
      `\`lease\` is 15000 ms in ${me} (this process), and ${there}: expected the same in all processes`;
    expect(one.unequalSettings).toEqual([text(`60000 ms in ${me} and ${me}`), text(`30000 ms in ${me}`)]);
    expect(warnings.filter((each) => each.startsWith('`lease` is 15000 ms'))).toHaveLength(2);
    await Promise.all(others.map((other) => other.close()));
    await world.clock.advance(0);
    expect(one.unequalSettings).toEqual([]);
  });

  it('names the nodes of processes that have others, in any order, and not all processes', async () => {
    const withNodes = (nodes: readonly ClusterNode[]) =>
      started({ cluster: Object.assign(Object.create(world.cluster), { nodes }) });
    withNodes(world.nodes);
    withNodes(world.nodes.toReversed());
    await world.clock.advance(0);
    expect(warnings).toEqual([]);
    for (let i = 0; i < 5; i++) withNodes(world.nodes.slice(0, 2));
    const one = started();
    await world.clock.advance(0);
    expect(one.unequalSettings).toEqual([
      expect.stringMatching(
        /^`beanstalks` is n0:1, n1:1, n2:1 in .* and n0:1, n1:1 in .*, .*, .* and 2 more:/,
      ),
    ]);
  });

  it('compares again with the next news if the others could not be asked', async () => {
    let fails = true;
    const failing: Presence = {
      join: (member: Member) => presence.join(member),
      markDrained: (...mark) => presence.markDrained(...mark),
      changeLimits: (...change) => presence.changeLimits(...change),
      drainedNodes: () => presence.drainedNodes(),
      gone: () => presence.gone(),
      all: async () => {
        if (fails) throw new Error('away');
        return presence.all();
      },
    };
    const one = started({ presence: failing });
    const other = started({ settings: { ...SETTINGS, staleAfter: 60_000 } });
    await world.clock.advance(0);
    expect(one.unequalSettings).toEqual([]);
    fails = false;
    one.learn({ ...ELECTED, otherSettings: [other.settings] });
    await world.clock.advance(0);
    expect(one.unequalSettings).toEqual([expect.stringContaining('`staleAfter` is 604800000 ms')]);
  });
});
