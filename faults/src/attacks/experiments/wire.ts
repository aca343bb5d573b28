import { Proxy } from 'test-servers';
import { atLeast } from '../../experiment.js';
import type { Attack, Attacked } from '../attack.js';
import type { AttackLab } from '../lab.js';
import { alterationsWith, Tamperer, type Foreign } from '../tamperer.js';
import { TUBES } from '../workload.js';

/** Maximum wait of an alteration for a reply that it can change, in ms. */
const MAX_WAIT_MS = 5_000;
/** On a busy machine the work may be over before each alteration had a reply to change. */
const MAX_UNUSED = 4;

/**
 * All processes reach nodes through the attacker, who passes on what they send and alters what the nodes send, one alteration after the
 * other. They can delete on a node, like everybody who reaches its port: so copies of others may be missing there, and only there.
 */
export const wire: Attack = {
  number: 8,
  name: 'wire',
  what: 'on the wire to one node: altered bodies, ids, numbers, node names, sizes; replies swapped, doubled, endless',
  passes: 'no unscheduled run; foreign copies are missing on that node only',
  jobs: 6_000,
  smallJobs: 480,
  async run(lab) {
    return tamperOn(lab, 1, async () => {
      await lab.allRan();
      return {};
    });
  },
};

/** The same on the wires to all nodes at once. It can lose jobs, rerun them and hide that they are stored, but makes no unscheduled job run. */
export const allWires: Attack = {
  number: 9,
  name: 'all-wires',
  what: 'the same on the wires to all nodes at once',
  passes: 'no unscheduled or early run, no secret is read; when the tampering ends, the application recovers',
  jobs: 6_000,
  smallJobs: 480,
  async run(lab) {
    return tamperOn(lab, 3, async () => {
      await lab.load;
      const jobs = new Set(Array.from(lab.history.all(), ({ job }) => job));
      const { answer } = await lab
        .side(TUBES[0])
        .add({ due: Date.now(), secret: `${lab.secret} at the end` });
      return {
        allows: { jobs },
        checks: [answer === 'stored' ? '' : `an add after the tampering returned ${answer}`],
      };
    });
  },
};

/** Alters what the first nodes send while the application works. Then it stops, and `after` is called. */
async function tamperOn(lab: AttackLab, nodes: number, after: () => Promise<Attacked>): Promise<Attacked> {
  await lab.startServers();
  const [tamperer, proxies] = [new Tamperer(), [] as Proxy[]];
  for (const server of lab.beanstalkds.slice(0, nodes)) {
    proxies.push(await lab.owned(Proxy.to(server, tamperer.carry)));
  }
  const beanstalks = lab.beanstalkds.map(({ endpoint }, node) => proxies[node]?.endpoint ?? endpoint);
  await lab.startApplication({ beanstalks });
  const alterations = alterationsWith(await foreignTo(lab));
  const { times } = lab;
  const each = (times.end - times.begin) / (alterations.size + 1);
  await lab.until(times.begin);
  for (const [name, alter] of alterations) {
    tamperer.alter = alter;
    proxies.forEach(reconnect);
    await lab.until(Date.now() + each);
    await lab.tries(`the alteration was used: ${name}`, () => tamperer.used.has(alter), MAX_WAIT_MS);
  }
  tamperer.alter = (text) => text;
  proxies.forEach(reconnect);
  const attacked = await after();
  const unused = [...alterations].filter(([, alter]) => !tamperer.used.has(alter)).map(([name]) => name);
  const replies = Array.from(tamperer.used.values()).reduce((sum, count) => sum + count, 0);
  return {
    ...attacked,
    checks: [
      ...(attacked.checks ?? []),
      atLeast('alterations that were used', tamperer.used.size, alterations.size - MAX_UNUSED),
    ],
    notes: [
      `${tamperer.used.size} of ${alterations.size} alterations were used, in ${replies} replies`,
      ...(unused.length > 0 ? [`not used: ${unused.join(', ')}`] : []),
    ],
    allows: { ...attacked.allows, copies: ({ node }) => node < nodes },
  };
}

/** Makes the processes reconnect to the node. */
function reconnect(proxy: Proxy): void {
  proxy.cut();
  proxy.restore();
}

async function foreignTo(lab: AttackLab): Promise<Foreign> {
  const victim = lab.victimsIn(TUBES[1]).find(({ node }) => node === 0)!;
  const other = lab.victims.find(({ node }) => node !== 0)!;
  const [, instance] = /#(\w+):/.exec(await lab.attacker.placeOf(other))!;
  return { id: victim.id, instance: instance! };
}
