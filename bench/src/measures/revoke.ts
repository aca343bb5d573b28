import { eventually } from 'test-servers';
import { apart } from '../apart.js';
import { copiesOn } from '../copies.js';
import { row } from '../figures.js';
import { inFlight } from '../in-flight.js';
import type { Measure, Target } from '../measure.js';
import { payloads, type Payload } from '../payload.js';
import { rate } from '../rate.js';
import { alternate, type Rounds } from '../rounds.js';
import { FAR } from '../schedule-round.js';
import type { Servers } from '../servers.js';
import type { ProductName } from '../systems/products.js';
import { withSystem, type System } from '../systems/system.js';
import { WARM_UP } from '../warm-up.js';

/** Milliseconds: much longer than any deletion waits. */
const LONGEST = 60_000;

/** Jobs a second. */
interface Rates {
  /** From the first call to the last answer. */
  readonly answers: number;
  /** From the first call until no copy of these jobs is left on any node. BullMQ has none: there it is the same. */
  readonly copies: number;
}

export const revoke: Measure = {
  name: 'revoke',
  title:
    'jobs that wait are cancelled one by one, 256 in flight, until the last answer, and until their last copy is gone; against job.remove()',
  run: async ({ rounds, pick }) => {
    const jobs = pick(20_000, 4_000);
    const round = (product: ProductName, keyed: boolean) => () => revokeRates(product, jobs, keyed);
    const { plain, peerPlain, keyed, peerKeyed } = await alternate(rounds(3), {
      plain: round('nest-dq', false),
      peerPlain: round('BullMQ', false),
      keyed: round('nest-dq', true),
      peerKeyed: round('BullMQ', true),
    });
    const rowOf = (
      what: string,
      of: keyof Rates,
      ours: Rounds<Rates>,
      peer: Rounds<Rates>,
      target?: Target,
    ) => {
      const values = (rates: Rounds<Rates>) => rates.map((each) => each[of]);
      return row({
        what,
        unit: 'jobs/s',
        ours: values(ours),
        beside: values(peer),
        ...(target && { target }),
      });
    };
    const wanted = { of: 'ratio', least: 0.9 } as const;
    return [
      rowOf('3 copies', 'answers', plain, peerPlain, wanted),
      rowOf('3 copies, until they are gone', 'copies', plain, peerPlain),
      rowOf('3 copies, keyed', 'answers', keyed, peerKeyed, wanted),
      rowOf('3 copies, keyed, until they are gone', 'copies', keyed, peerKeyed),
    ];
  },
};

export const revokeRates = apart(
  import.meta.url,
  'revokeRates',
  (product: ProductName, jobs: number, keyed: boolean): Promise<Rates> =>
    withSystem(product, async (system) => {
      await revokeAll(system, WARM_UP, keyed); // of this way, too
      return revokeAll(system, jobs, keyed);
    }),
);

async function revokeAll(
  { client, newQueue, servers }: System<Servers>,
  jobs: number,
  keyed: boolean,
): Promise<Rates> {
  const queue = newQueue();
  const before = await copiesOn(servers);
  const added: unknown[] = [];
  const add = async (payload: Payload) => {
    added.push(await client.delay(queue, payload, FAR, keyed ? `order-${payload.n}` : undefined));
  };
  await inFlight(payloads(jobs), add);
  let answers = 0;
  const copies = await rate(jobs, async () => {
    answers = await rate(jobs, () => inFlight(added, (each) => client.revoke(each)));
    await eventually('no copy is left', async () => (await copiesOn(servers)) === before, LONGEST);
  });
  return { answers, copies };
}
