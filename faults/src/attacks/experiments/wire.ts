import { Proxy } from 'test-servers';
import type { Attack } from '../attack.js';
import { Liar, liesWith } from '../liar.js';
import { TUBES, type AttackLab } from '../lab.js';

/** The node on whose wire the attacker is. */
const NODE = 0;

/**
 * All processes reach one node through the attacker, who passes on what they say and changes what the node says, one lie after the other. It
 * can delete on that node, as everybody who reaches its port: so copies of others may be gone there, and there only.
 */
export const wire: Attack = {
  number: 8,
  name: 'wire',
  what: 'on the wire to one node: other bodies, ids, numbers, names of nodes, sizes; answers swapped, doubled, without an end',
  passes: 'no run that was not scheduled; copies of others are gone on that node only',
  jobs: 6_000,
  smallJobs: 480,
  async run(lab) {
    await lab.startServers();
    const liar = new Liar();
    const proxy = await lab.owned(Proxy.to(lab.beanstalkds[NODE]!, liar.carry));
    const beanstalks = lab.beanstalkds.map(({ endpoint }, node) =>
      node === NODE ? proxy.endpoint : endpoint,
    );
    await lab.startApplication({ beanstalks });
    const lies = liesWith(await foreignTo(lab));
    const { times } = lab;
    let told = 0;
    for (const lie of lies.values()) {
      liar.lie = lie;
      reconnect(proxy);
      await lab.until(times.at(++told / (lies.size + 1)));
    }
    liar.lie = (text) => text;
    reconnect(proxy);
    await lab.allRan();
    return {
      allows: { copies: ({ node }) => node === NODE },
      notes: [`${lies.size} lies, each for ${Math.round((times.end - times.begin) / (lies.size + 1))} ms`],
    };
  },
};

/** The processes greet the node anew. */
function reconnect(proxy: Proxy): void {
  proxy.cut();
  proxy.restore();
}

async function foreignTo(lab: AttackLab) {
  const victim = lab.victimsIn(TUBES[1]).find(({ node }) => node === NODE)!;
  const other = lab.victims.find(({ node }) => node !== NODE)!;
  const [, instance] = /#(\w+):/.exec(await lab.attacker.placeOf(other))!;
  return { id: victim.id, instance: instance! };
}
