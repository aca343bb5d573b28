// Dead letters that are discarded and revived while consumers still bury copies of their jobs.
import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { Discard } from 'nest-dq/src/api/outcome.js';
import { storedTube } from 'nest-dq/src/api/tube.js';
import { ask, eventually } from 'test-servers';
import { startProgram } from '../support/program.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

const JOBS = 1_000;
const LIMIT = 60_000;
const OPTIONS = { advanced: { lease: 3_000, backupDelay: '1s' } } as const;
const ACT = { patience: '60s' } as const;

const suite = clusterSuite();

/** The jobs that have a copy on a node, in whatever state: looks at each place that the nodes have given so far. */
async function jobsWithCopies(nodes: readonly { readonly endpoint: string }[]): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const { endpoint } of nodes) {
    const [host, port] = endpoint.split(':') as [string, string];
    const stats = await ask({ host, port: Number(port) }, 'stats');
    const places = Number(/^total-jobs: (\d+)$/m.exec(stats)![1]);
    const socket = connect({ host, port: Number(port) });
    socket.write(Array.from({ length: places }, (_, i) => `peek ${i + 1}\r\n`).join('') + 'quit\r\n');
    let answer = '';
    for await (const bytes of socket) answer += String(bytes);
    for (const [, id] of answer.matchAll(/^dq1 \{"id":"([\w-]+)"/gm)) ids.add(id!);
  }
  return ids;
}

describe('dead letters that go while copies of their jobs are buried', () => {
  it('leave no copy behind, and what was revived runs once, although Redis and a consumer are killed', async () => {
    const [discarded, revived] = ['letters-discarded', 'letters-revived'];
    const one = suite.start(OPTIONS);
    const { producer, consumer, control, ledger, nodes } = one;
    // By itself Redis keeps what it has answered in its memory while its disk is synced, and a kill takes that with it.
    await expect(ask(suite.servers.redis, 'CONFIG SET appendfsync always')).resolves.toBe('+OK');
    const died = new Set<string>();
    const ran: string[] = [];
    let isReady = false;
    const options = { ...optionsOf(suite.servers), ...OPTIONS };
    const child = startProgram(
      'support/dying-process.mjs',
      JSON.stringify({ tubes: [discarded, revived], options }),
      (line) => (line === 'ready' ? (isReady = true) : died.add(line)),
    );
    await eventually('the child consumes', () => isReady, LIMIT);
    await eventually('all nodes are up', () => nodes.every(({ up }) => up));
    for (const tube of [discarded, revived])
      await consumer.consume(
        tube,
        (payload, { id, dueAt }) => {
          const { due } = payload as { due: number };
          if (dueAt.getTime() === due) {
            died.add(id);
            return Discard.because('it has to die');
          }
          ran.push(id);
        },
        { concurrency: 50 },
      );
    const add = async (tube: string): Promise<string[]> => {
      const first = Date.now() + 500;
      const jobs = Array.from({ length: JOBS }, (_, i) => first + 4 * i);
      const receipts = await producer.addMany(
        tube,
        jobs.map((due) => ({ payload: { due }, at: new Date(due) })),
      );
      return receipts.map(({ id }) => id);
    };
    const [toDiscard, toRevive] = await Promise.all([add(discarded), add(revived)]);

    let acting = true;
    const discards = async () => {
      while (acting) for await (const _ of control.discardMany(discarded, {}, ACT)) if (!acting) break;
    };
    const revivals = async () => {
      while (acting) for await (const _ of control.reviveMany(revived, {}, ACT)) if (!acting) break;
    };
    const acts = Promise.all([discards(), revivals()]);
    await eventually('some have died', () => died.size > JOBS / 4, LIMIT);
    await suite.servers.redis.kill();
    await suite.servers.redis.restart();
    const before = died.size;
    await eventually('others die after the restart', () => died.size > before + JOBS / 4, LIMIT);
    acting = false;
    await acts;
    child.child.kill('SIGKILL');
    await child.ended;
    // A copy that a process is about to bury as it dies may stay, if its letter is removed in that moment, too.
    const letterIsGone = async (tube: string, ids: readonly string[]) => {
      const found = await ledger.tube(storedTube(tube, '')).find(ids);
      return ids.filter((_, i) => found[i] !== undefined && found[i].state !== 'dead');
    };
    const excused = new Set([
      ...(await letterIsGone(discarded, toDiscard)),
      ...(await letterIsGone(revived, toRevive)),
    ]);
    const copied = await jobsWithCopies(nodes);
    for (const id of excused) if (!copied.has(id)) excused.delete(id);
    acting = true;
    const more = Promise.all([discards(), revivals()]);
    const isOver = async () => {
      const found = await ledger.tube(storedTube(discarded, '')).find(toDiscard);
      return ran.length >= JOBS && found.every((schedule) => schedule?.state === 'revoked');
    };
    await eventually('all were discarded or ran', isOver, LIMIT);
    acting = false;
    await more;
    const areGone = async () => {
      const left = await jobsWithCopies(nodes);
      return [...left].every((id) => excused.has(id));
    };
    await eventually('no copy is left', areGone, LIMIT);
    expect(ran.toSorted()).toEqual(toRevive.toSorted());
    expect(died.size).toBe(2 * JOBS);
  }, 180_000);
});
