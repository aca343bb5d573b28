import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Cluster } from '../../cluster/cluster.js';
import type { ClusterNode, DeleteResult } from '../../cluster/cluster-node.js';
import { JobEnvelope } from '../../copies/formats/dq1.js';
import type { CopyHeader } from '../../copies/header.js';
import type { Deletion, SettleQueue } from '../../ledger/settle-queue.js';
import { copyBody } from '../../../spec-support/copy-body.js';
import {
  heldDelivery,
  recordingLane,
  type RecordingConnection,
} from '../../../spec-support/recording-lane.js';
import { turn } from '../../../spec-support/scripted-ledger.js';
import { tubeContext } from '../../../spec-support/tube-context.js';
import { VirtualClock } from 'nest-handlers/testing';
import type { Lane } from '../reserve/lane.js';
import { CopyDeleter } from './copy-deleter.js';

type Answer = (result: DeleteResult, node?: ClusterNode) => void;

const SIBLINGS = [
  { index: 1, location: 'n1#i1:5' },
  { index: 2, location: 'n2#i2:?' },
];

describe('CopyDeleter', () => {
  let clock: VirtualClock;
  let asked: { location: string; isSame: (body: Buffer) => boolean; answer: Answer }[];
  let settled: Deletion[];
  let answered: number;
  let deleter: CopyDeleter;
  let lane: Lane;
  let connection: RecordingConnection;
  const elsewhere = { instance: 'i1' } as ClusterNode;

  beforeEach(() => {
    clock = new VirtualClock();
    asked = [];
    settled = [];
    answered = 0;
    ({ lane, connection } = recordingLane());
    const cluster = {
      settings: {},
      delete: (location: string, isSame: (body: Buffer) => boolean, answer: Answer) =>
        asked.push({ location, isSame, answer }),
    } as unknown as Cluster;
    deleter = deleterOn(cluster);
  });

  function deleterOn(cluster: Cluster): CopyDeleter {
    const settleQueue = { add: (deletion: Deletion) => settled.push(deletion) } as unknown as SettleQueue;
    const context = tubeContext(clock, { cluster, settleQueue });
    context.life.copyGone = () => void answered++;
    return new CopyDeleter(context);
  }

  const held = (header: Partial<CopyHeader> & { copyId?: string } = {}) =>
    heldDelivery(lane, { id: 'a', copyId: '7', siblings: SIBLINGS, ...header });

  it('deletes its own copy on its lane and the known siblings by their places, and settles what was DELETED', () => {
    const delivery = held();
    deleter.delete(delivery, true);
    expect(connection.said).toEqual(['delete 7']);
    expect(asked.map(({ location }) => location)).toEqual(['n1#i1:5']);
    connection.answer('DELETED');
    expect([deleter.size, answered, settled]).toEqual([1, 0, []]);
    asked[0]!.answer('deleted', elsewhere);
    expect([deleter.size, answered]).toEqual([0, 1]);
    expect(settled).toEqual([
      {
        tube: 'app.tube',
        id: 'a',
        generation: 0,
        unknown: true,
        copies: [
          { index: 0, instance: 'instance' },
          { index: 1, instance: 'i1' },
        ],
      },
    ]);
  });

  it('settles nothing that was not found, or whose node was away', () => {
    deleter.delete(held(), true);
    connection.answer('NOT_FOUND');
    asked[0]!.answer('missing', elsewhere);
    deleter.delete(held({ siblings: SIBLINGS.slice(0, 1) }), true);
    connection.answer('DELETED');
    asked[1]!.answer('away');
    expect(settled.map(({ copies }) => copies.map(({ index }) => index))).toEqual([[], [0]]);
    expect(settled.map(({ unknown }) => unknown)).toEqual([true, false]);
  });

  it('waits for its own copy where the nodes of all others are known to be away', () => {
    const cluster = {
      delete: (_location: string, _isSame: unknown, answer: Answer) => answer('away'),
    } as unknown as Cluster;
    deleter = deleterOn(cluster);
    deleter.delete(held(), true);
    expect([deleter.size, settled]).toEqual([1, []]);
    connection.answer('DELETED');
    expect([deleter.size, answered, settled.map(({ copies }) => copies.length)]).toEqual([0, 1, [1]]);
  });

  it('batches completions after the first turn for some milliseconds, and counts them as pending', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const remove = (...few: string[]) => {
      for (const copyId of few) deleter.delete(held({ id: copyId, copyId, siblings: [] }), true);
    };
    remove('a', 'b');
    expect(connection.said).toEqual(['delete a', 'delete b']);
    await clock.advance(0);
    remove('c');
    await clock.advance(9);
    remove('d');
    expect(connection.said).toHaveLength(2);
    await clock.advance(1);
    expect(connection.said).toEqual(['a', 'b', 'c', 'd'].map((id) => `delete ${id}`));
    remove('e');
    for (let i = 0; i < 4; i++) connection.answer('DELETED');
    expect([connection.said.length, deleter.size]).toEqual([4, 1]);
    await clock.advance(10);
    connection.answer('DELETED');
    expect([deleter.size, settled.map(({ id }) => id)]).toEqual([0, ids]);
    await clock.advance(10);
    remove('a');
    expect(connection.said).toHaveLength(6);
  });

  it('leaves the siblings of a job that was ended elsewhere to whoever ended it', () => {
    deleter.delete(held(), false);
    expect(asked).toEqual([]);
    connection.answer('DELETED');
    expect(settled).toHaveLength(1);
  });

  it('looks for a copy that was lost meanwhile at its place, and at nobody else’s', () => {
    const delivery = held({ siblings: [] });
    lane.forget();
    deleter.delete(delivery, true);
    expect(connection.said).toEqual([]);
    const [{ location, isSame }] = asked as [(typeof asked)[number]];
    expect(location).toBe('node#instance:7');
    const body = (id: string, index: number) =>
      copyBody(
        new JobEnvelope(
          { id, due: 1, generation: 0, copies: 3, priority: 1 },
          { type: 'void', bytes: Buffer.alloc(0) },
        ),
        index,
      );
    expect([body('a', 0), body('a', 1), body('b', 0)].map(isSame)).toEqual([true, false, false]);
  });

  it('deletes a generation that does not count by its places, and settles what was DELETED', async () => {
    deleter.deleteVoid({ id: 'a', generation: 9 }, SIBLINGS);
    expect(asked.map(({ location }) => location)).toEqual(['n1#i1:5']);
    expect([deleter.size, answered]).toEqual([1, 0]);
    asked[0]!.answer('deleted', elsewhere);
    await turn();
    expect([deleter.size, answered]).toEqual([0, 1]);
    const copies = [{ index: 1, instance: 'i1' }];
    expect(settled).toEqual([{ tube: 'app.tube', id: 'a', generation: 9, unknown: true, copies }]);
  });
});
