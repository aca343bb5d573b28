import { ScriptedNode } from './scripted-node.js';
import { VirtualClock } from 'nest-handlers/testing';
import { Cluster, type StoreResult, type WrittenCopies } from '../src/cluster/cluster.js';
import { ClusterNode } from '../src/cluster/cluster-node.js';
import type { Place } from '../src/copies/location.js';

interface Put {
  readonly node: number;
  readonly index: number;
  /** Each as `index at location`, in the order of the indexes. */
  readonly siblings: readonly string[];
  readonly line: string;
  readonly at: number;
}

interface Options {
  readonly replicas?: number;
  readonly minWritten?: number;
}

export async function setup(
  count: number,
  { replicas = 3, minWritten = 2 }: Options = {},
  prepare: (servers: readonly ScriptedNode[]) => void = () => undefined,
) {
  const clock = new VirtualClock();
  const servers = Array.from({ length: count }, (_, i) => {
    const server = new ScriptedNode(clock);
    server.instance = `instance${i}`;
    return server;
  });
  prepare(servers);
  const nodes = servers.map((server, i) => new ClusterNode(`n${i}:1`, server.dial, clock));
  const cluster = new Cluster(nodes, { replicas, minWritten });
  cluster.start();
  await clock.advance(0);
  /** Stores a job. The body of each copy has its index and its siblings. */
  const start = (): Promise<StoreResult> =>
    new Promise((resolve) => {
      const envelope: WrittenCopies = {
        job: { due: 10_000 },
        with: () => envelope,
        body: (index, siblings) => [JSON.stringify({ index, siblings })],
        delay: (index) => 10 + index,
        priority: (index) => 100 + index,
      };
      cluster.put({ tube: 't', envelope, backupDelay: 1_000, ledger: { now: () => 0 } }, resolve);
    });
  const put = async (): Promise<StoreResult> => {
    const result = start();
    await clock.advance(3_000);
    return result;
  };
  const puts = (): Put[] =>
    servers
      .flatMap((server, node) =>
        server.arrived
          .filter(({ line }) => line.startsWith('put '))
          .map(({ line, body, at }) => {
            const { index, siblings } = JSON.parse(body.toString()) as Pick<Put, 'index'> & {
              siblings: Place[];
            };
            const places = siblings.map(({ index: of, location }) => `${of} at ${location}`).sort();
            return { node, index, siblings: places, line, at };
          }),
      )
      .sort((a, b) => a.at - b.at || b.index - a.index);
  /** Makes the cluster begin with this node. */
  const beginWith = (node: number) => Object.assign(cluster, { turn: node });
  return { clock, servers, nodes, cluster, start, put, puts, beginWith };
}

export const where = (copies: readonly Place[]): string[] =>
  copies.map(({ index, location }) => `${index} at ${location}`).sort();
