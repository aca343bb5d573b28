import { connect, type Socket } from 'node:net';
import { percentile } from 'test-servers';
import type { Attack } from '../attack.js';
import { PROOF_BYTES, SEAL_BYTES } from '../copy.js';
import type { AttackLab } from '../lab.js';
import { atMost } from '../../experiment.js';
import { atPace } from '../../waiting.js';
import { TUBES } from '../workload.js';

const TUBE = TUBES[0];
/** Bytes: the largest job of a beanstalkd with its defaults. */
const LARGEST = 65_535;
/** The part of the window that has no flood. */
const QUIET = 0.45;

/** Many bad copies at the head of a tube, the largest that a node takes, thousands of tubes, thousands of connections. */
export const flood: Attack = {
  number: 6,
  name: 'flood',
  what: 'many bad copies, as many of maximum size, thousands of tubes, thousands of connections',
  passes: 'other tubes keep running: their p95 lateness grows by at most 2 s (small: 5 s)',
  jobs: 4_000,
  smallJobs: 300,
  async run(lab) {
    await lab.startApplication();
    const { times, attacker, signal } = lab;
    const [bad, giants, tubes, connections] = lab.pick(
      [1_500, 60, 300, 300],
      [15_000, 1_000, 5_000, 3_000],
    ) as [number, number, number, number];
    await lab.until(times.at(QUIET));
    const begun = Date.now();
    await openMany(lab, connections);
    const steady = { from: begun, to: times.end, signal };
    const parts = 30;
    await atPace(parts, steady, async (part) => {
      const id = (i: number) => `flood-${part}-${i}`;
      const headers = Array.from({ length: bad / parts }, (_, i) => `"id":"${id(i)}","due":1,"n":1`);
      await attacker.store(
        TUBE,
        headers.map((header) => sealed(header, 0)),
      );
      await attacker.store(
        TUBE,
        headers.slice(0, giants / parts).map((header) => giant(header)),
      );
      const each = Math.ceil(tubes / parts);
      for (let i = 0; i < each; i++) {
        await attacker.store(`flood-${part}-${i}`, ['x'], { node: i % attacker.nodeCount });
      }
      attacker.staying += each;
    });
    await lab.allRan();
    const [before, during] = [lab.latenessBeside(TUBE, 0, begun), lab.latenessBeside(TUBE, begun)].map(
      (late) => percentile(late, 0.95),
    ) as [number, number];
    const allowed = lab.pick(5_000, 2_000);
    return {
      checks: [atMost('p95 lateness of the other tubes', during, before + allowed, ' ms')],
      notes: [`p95 lateness of the other tubes: ${before} ms before the flood, ${during} ms during it`],
    };
  },
};

/** As large as a node takes it. */
function giant(header: string): string {
  return sealed(header, LARGEST - sealed(header, 10_000).length + 10_000);
}

/** Returns a body with a false seal and `bytes` bytes that are not encrypted. */
function sealed(header: string, bytes: number): string {
  return `dqs a ${bytes} {${header}\n,"i":0\n${'x'.repeat(PROOF_BYTES + SEAL_BYTES + bytes)}`;
}

/** Connections that do nothing, to all nodes. They end with the experiment. */
async function openMany(lab: AttackLab, count: number): Promise<void> {
  const sockets: Socket[] = [];
  await lab.owned({ stop: () => sockets.forEach((socket) => socket.destroy()) });
  for (let i = 0; i < count; i++) {
    const { host, port } = lab.beanstalkds[i % lab.beanstalkds.length]!;
    const socket = connect({ host, port });
    socket.on('error', () => undefined); // a node that takes no more is what the attacker wants
    sockets.push(socket);
  }
  await lab.eventually('the connections are there', () => sockets.every(({ connecting }) => !connecting));
}
