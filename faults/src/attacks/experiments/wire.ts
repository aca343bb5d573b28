import { Proxy } from 'test-servers';
import { atLeast } from '../../experiment.js';
import type { Attack, Attacked } from '../attack.js';
import { Liar, liesWith, type Foreign } from '../liar.js';
import type { AttackLab } from '../lab.js';
import { TUBES } from '../workload.js';

/** Milliseconds that a lie waits for an answer that it can change. */
const LONGEST_LIE = 5_000;
/** On a busy machine the work may be over before each lie had its answer. */
const MOST_UNTOLD = 4;

/**
 * All processes reach nodes through the attacker, who passes on what they say and changes what the nodes say, one lie after the other. It
 * can delete on a node, as everybody who reaches its port: so copies of others may be gone there, and there only.
 */
export const wire: Attack = {
  number: 8,
  name: 'wire',
  what: 'on the wire to one node: altered bodies, ids, numbers, node names, sizes; replies swapped, doubled, endless',
  passes: 'no unscheduled run; foreign copies are missing on that node only',
  jobs: 6_000,
  smallJobs: 480,
  async run(lab) {
    return lieOn(lab, 1, async () => {
      await lab.allRan();
      return {};
    });
  },
};

/** The same on the wires to all nodes at once. It can lose jobs, run them again, and hide that they are stored, but makes none run that nobody asked for. */
export const allWires: Attack = {
  number: 9,
  name: 'all-wires',
  what: 'the same on the wires to all nodes at once',
  passes: 'no unscheduled or early run, no secret is read; when the tampering ends, the application recovers',
  jobs: 6_000,
  smallJobs: 480,
  async run(lab) {
    return lieOn(lab, 3, async () => {
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

/** Lies in the name of the first nodes, while the application works. Then it tells the truth, and `after` is called. */
async function lieOn(lab: AttackLab, nodes: number, after: () => Promise<Attacked>): Promise<Attacked> {
  await lab.startServers();
  const [liar, proxies] = [new Liar(), [] as Proxy[]];
  for (const server of lab.beanstalkds.slice(0, nodes)) {
    proxies.push(await lab.owned(Proxy.to(server, liar.carry)));
  }
  const beanstalks = lab.beanstalkds.map(({ endpoint }, node) => proxies[node]?.endpoint ?? endpoint);
  await lab.startApplication({ beanstalks });
  const lies = liesWith(await foreignTo(lab));
  const { times } = lab;
  const each = (times.end - times.begin) / (lies.size + 1);
  await lab.until(times.begin);
  for (const [name, lie] of lies) {
    liar.lie = lie;
    proxies.forEach(reconnect);
    await lab.until(Date.now() + each);
    await lab.tries(`the alteration was used: ${name}`, () => liar.told.has(lie), LONGEST_LIE);
  }
  liar.lie = (text) => text;
  proxies.forEach(reconnect);
  const attacked = await after();
  const untold = [...lies].filter(([, lie]) => !liar.told.has(lie)).map(([name]) => name);
  const answers = Array.from(liar.told.values()).reduce((sum, count) => sum + count, 0);
  return {
    ...attacked,
    checks: [
      ...(attacked.checks ?? []),
      atLeast('alterations that were used', liar.told.size, lies.size - MOST_UNTOLD),
    ],
    notes: [
      `${liar.told.size} of ${lies.size} alterations were used, in ${answers} replies`,
      ...(untold.length > 0 ? [`not used: ${untold.join(', ')}`] : []),
    ],
    allows: { ...attacked.allows, copies: ({ node }) => node < nodes },
  };
}

/** Makes the processes greet the node again. */
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
