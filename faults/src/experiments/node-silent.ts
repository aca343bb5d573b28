import { allStored, atMost, none, type Experiment } from '../experiment.js';
import type { Lab } from '../lab.js';
import { percentile, Proxy } from 'test-servers';
import type { ProducerSide } from '../producer-side.js';
import { atPace } from '../waiting.js';

/** Limits and delays in ms. */
const ADDS_P99 = 600;
const NOBODY_WAITS_LONGER = 1_500;
const DUE_AFTER = 2_000;
const REVOKED_AFTER = 1_000;

/**
 * Connections that stay open while nothing answers. First the process of one node is frozen. Later a proxy drops all bytes
 * to and from another node. Both times adds continue at a steady rate from the fault on, and every tenth job is revoked while
 * one of its copies may be out of reach.
 */
export const nodeSilent: Experiment = {
  number: 8,
  name: 'node-silent',
  what: 'a node frozen (SIGSTOP), then half-open connections (a proxy that drops all bytes)',
  passes: 'p99 of adds at most 600 ms, none fails; no add or revoke takes longer than 1.5 s; duplicates 0',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    await lab.startServers();
    const [frozen, halfOpen, healthy] = lab.beanstalkds;
    const proxy = await lab.owned(Proxy.to(halfOpen!));
    const options = { beanstalks: [frozen!, proxy, healthy!].map(({ endpoint }) => endpoint) };
    const [producer] = await Promise.all([
      lab.startProducer(options),
      ...[1, 2, 3].map(() => lab.startConsumer(options)),
    ]);
    const silence = lab.pick(3_000, 20_000);
    const half = Math.ceil(lab.jobs / 2);
    await addAndRevoke(lab, producer, 10, Date.now(), 100); // opens all connections

    frozen!.freeze();
    const first = await addAndRevoke(lab, producer, half, Date.now(), silence);
    frozen!.thaw();
    await lab.eventually('all nodes have no copies left', async () => (await lab.copiesLeft()) === 0);
    proxy.swallow();
    const second = await addAndRevoke(lab, producer, half, Date.now(), silence);
    proxy.restore();

    const found = await lab.settle();
    const adds = [...first.adds, ...second.adds];
    const revokes = [...first.revokes, ...second.revokes];
    const addsTook = adds.map(({ askedAt, at }) => at - askedAt);
    const revokesTook = revokes.map(({ askedAt, at }) => at - askedAt);
    const p99 = percentile(addsTook, 0.99);
    return {
      found,
      checks: [
        none('duplicates', found.duplicates),
        allStored('adds that failed although a quorum was healthy', adds),
        none(
          'revokes without an answer',
          revokes.filter(({ answer }) => answer === 'none'),
        ),
        atMost("adds' p99", p99, ADDS_P99, ' ms'),
        atMost('the slowest add', Math.max(...addsTook), NOBODY_WAITS_LONGER, ' ms'),
        atMost('the slowest revoke', Math.max(...revokesTook), NOBODY_WAITS_LONGER, ' ms'),
      ],
      notes: [
        `adds while a node was silent: p50 ${percentile(addsTook, 0.5)} ms, p99 ${p99} ms, worst ${Math.max(...addsTook)} ms; ` +
          `the slowest revoke ${Math.max(...revokesTook)} ms`,
      ],
    };
  },
};

/** Adds at a steady rate, and revokes every tenth job a second after its add. */
async function addAndRevoke(lab: Lab, producer: ProducerSide, count: number, from: number, took: number) {
  const pace = { from, to: from + took, signal: lab.signal };
  const revokes: ReturnType<ProducerSide['revoke']>[] = [];
  const adds = await atPace(count, pace, async (i) => {
    const added = await producer.add({ due: Date.now() + DUE_AFTER });
    if (i % 10 === 0 && added.answer === 'stored') {
      await lab.until(added.askedAt + REVOKED_AFTER);
      revokes.push(producer.revoke(added.job));
    }
    return added;
  });
  return { adds, revokes: await Promise.all(revokes) };
}
